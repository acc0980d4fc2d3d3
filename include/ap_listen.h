/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_LISTEN_H
#define AP_LISTEN_H

/** @file ap_listen.h  Listening sockets. Main thread of the supervisor, unless a line says otherwise. */
#include "apr_network_io.h"
#include "httpd.h"
#include "http_config.h"
#include "apr_optional.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A supervisor below the supervisor; there are none here. */
typedef struct ap_slave_t ap_slave_t;
/** A listening socket, see below. */
typedef struct ap_listen_rec ap_listen_rec;
/** Accepts a connection into *csd, in @a ptrans. */
typedef apr_status_t (*accept_function)(void **csd, ap_listen_rec *lr, apr_pool_t *ptrans);

/** One listening socket. */
struct ap_listen_rec {
    ap_listen_rec *next;
    apr_socket_t *sd;
    apr_sockaddr_t *bind_addr;
    accept_function accept_func;
    int active; /**< bound and listening */
    const char *protocol;
    ap_slave_t *slave;
};

/** The first listening socket. */
AP_DECLARE_DATA extern ap_listen_rec *ap_listeners;
/** How many sets of sockets there are. */
AP_DECLARE_DATA extern int ap_num_listen_buckets;
/** 1 if the kernel lets several sockets have one address. */
AP_DECLARE_DATA extern int ap_have_so_reuseport;

/** Before the configuration is read: forget earlier Listen lines. */
AP_DECLARE(void) ap_listen_pre_config(void);
/** Open them all. The number of sockets, 0 after reporting an error. */
AP_DECLARE(int) ap_setup_listeners(server_rec *s);
/** More sockets for the same addresses, one set per bucket. */
AP_DECLARE(apr_status_t)
ap_duplicate_listeners(apr_pool_t *p, server_rec *s, ap_listen_rec ***buckets, int *num_buckets);
/* In a server process too. */
AP_DECLARE_NONSTD(void) ap_close_listeners(void);
/** Close those from @a listeners on. */
AP_DECLARE_NONSTD(void) ap_close_listeners_ex(ap_listen_rec *listeners);
/** Close those of one supervisor below. Number of them. */
AP_DECLARE_NONSTD(int) ap_close_selected_listeners(ap_slave_t *slave);

/* Directives. */
AP_DECLARE_NONSTD(const char *) ap_set_listenbacklog(cmd_parms *cmd, void *dummy, const char *arg);
/** ListenTCPDeferAccept. */
AP_DECLARE_NONSTD(const char *)
ap_set_listentcpdeferaccept(cmd_parms *cmd, void *dummy, const char *arg);
/** ListenCoresBucketsRatio. */
AP_DECLARE_NONSTD(const char *) ap_set_listencbratio(cmd_parms *cmd, void *dummy, const char *arg);
/** Listen. */
AP_DECLARE_NONSTD(const char *)
ap_set_listener(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);
/** SendBufferSize. */
AP_DECLARE_NONSTD(const char *)
ap_set_send_buffer_size(cmd_parms *cmd, void *dummy, const char *arg);
/** ReceiveBufferSize. */
AP_DECLARE_NONSTD(const char *)
ap_set_receive_buffer_size(cmd_parms *cmd, void *dummy, const char *arg);

#ifdef HAVE_SYSTEMD
/** The descriptor that systemd gave for a port. */
APR_DECLARE_OPTIONAL_FN(int, ap_find_systemd_socket, (process_rec *, apr_port_t));
/** How many descriptors systemd gave. */
APR_DECLARE_OPTIONAL_FN(int, ap_systemd_listen_fds, (int));
#endif

/** Entries for the command table of an MPM. */
#define LISTEN_COMMANDS \
    AP_INIT_TAKE_ARGV("Listen", ap_set_listener, NULL, RSRC_CONF, \
                      "[address:]port and, if wanted, the protocol"), \
    AP_INIT_TAKE1("ListenBacklog", ap_set_listenbacklog, NULL, RSRC_CONF, \
                  "Number of connections that may wait to be accepted"), \
    AP_INIT_TAKE1("ListenCoresBucketsRatio", ap_set_listencbratio, NULL, RSRC_CONF, \
                  "Number of processor cores for each set of listening sockets"), \
    AP_INIT_TAKE1("ListenTCPDeferAccept", ap_set_listentcpdeferaccept, NULL, RSRC_CONF, \
                  "Value of the socket option TCP_DEFER_ACCEPT"), \
    AP_INIT_TAKE1("SendBufferSize", ap_set_send_buffer_size, NULL, RSRC_CONF, \
                  "Bytes that the kernel buffers for sending"), \
    AP_INIT_TAKE1("ReceiveBufferSize", ap_set_receive_buffer_size, NULL, RSRC_CONF, \
                  "Bytes that the kernel buffers for receiving")

#ifdef __cplusplus
}
#endif
#endif
