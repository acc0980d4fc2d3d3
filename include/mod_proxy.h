/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_PROXY_H
#define MOD_PROXY_H

/**
 * @file mod_proxy.h The proxy framework: workers (a backend and its connections), balancers (groups
 * of workers), and hooks for schemes. The offers of a loaded proxy module to modules that build on
 * it. Functions that return int give OK, DECLINED or an HTTP status where nothing else is said.
 */
#include "apr_hooks.h"
#include "apr_optional.h"
#include "apr.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_buckets.h"
#include "apr_md5.h"
#include "apr_network_io.h"
#include "apr_pools.h"
#include "apr_uri.h"
#include "apr_date.h"
#include "apr_strmatch.h"
#include "apr_fnmatch.h"
#include "apr_reslist.h"
#define APR_WANT_STRFUNC
#include "apr_want.h"
#include "apr_uuid.h"
#include "util_mutex.h"
#include "apr_global_mutex.h"
#include "apr_thread_mutex.h"

#include "httpd.h"
#include "http_config.h"
#include "ap_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_vhost.h"
#include "http_main.h"
#include "http_log.h"
#include "http_connection.h"
#include "http_ssl.h"
#include "util_filter.h"
#include "util_ebcdic.h"
#include "ap_provider.h"
#include "ap_slotmem.h"

#include <netinet/in.h>
#include <arpa/inet.h>

#include "brigade/proxy_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Hooks --------------------------------------------------------------------------------------------- */

APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, section_post_config,
                          (apr_pool_t * p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s,
                           ap_conf_vector_t *section_config))
/** Forward a request. First that does not decline. */
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, scheme_handler,
                          (request_rec * r, proxy_worker *worker, proxy_server_conf *conf, char *url,
                           const char *proxyhost, apr_port_t proxyport))
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, check_trans, (request_rec * r, const char *url))
/** Bring a URL of one's scheme to its canonical form. */
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, canon_handler, (request_rec * r, char *url))
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, create_req, (request_rec * r, request_rec *pr))
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, fixups, (request_rec * r))
/** Choose the worker. */
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, pre_request,
                          (proxy_worker * *worker, proxy_balancer **balancer, request_rec *r,
                           proxy_server_conf *conf, char **url))
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, post_request,
                          (proxy_worker * worker, proxy_balancer *balancer, request_rec *r,
                           proxy_server_conf *conf))
APR_DECLARE_EXTERNAL_HOOK(proxy, PROXY, int, request_status, (int *status, request_rec *r))

/* ---- Strings and URLs ---------------------------------------------------------------------------------- */

/** APR_EGENERAL if it was cut. */
PROXY_DECLARE(apr_status_t) ap_proxy_strncpy(char *dst, const char *src, apr_size_t dlen);
PROXY_DECLARE(int) ap_proxy_hex2c(const char *x);
PROXY_DECLARE(void) ap_proxy_c2hex(int ch, char *x);
/* NULL if it cannot be encoded. */
PROXY_DECLARE(char *)
ap_proxy_canonenc_ex(apr_pool_t *p, const char *x, int len, enum enctype t, int flags, int proxyreq);
PROXY_DECLARE(char *)
ap_proxy_canonenc(apr_pool_t *p, const char *x, int len, enum enctype t, int forcedec, int proxyreq);
/** Take user, password, host and port off a URL. NULL, or the error. */
PROXY_DECLARE(char *)
ap_proxy_canon_netloc(apr_pool_t *p, char **const urlp, char **userp, char **passwordp, char **hostp,
                      apr_port_t *port);
PROXY_DECLARE(apr_port_t) ap_proxy_port_of_scheme(const char *scheme);
PROXY_DECLARE(const char *) ap_proxy_de_socketfy(apr_pool_t *p, const char *url);
PROXY_DECLARE(int) ap_proxy_fixup_uds_filename(request_rec *r);

typedef enum { PROXY_HASHFUNC_DEFAULT, PROXY_HASHFUNC_APR, PROXY_HASHFUNC_FNV } proxy_hash_t;
PROXY_DECLARE(unsigned int) ap_proxy_hashfunc(const char *str, proxy_hash_t method);

/* Rewrite a header value of the backend for the client. */
typedef const char *(*ap_proxy_header_reverse_map_fn)(request_rec *, proxy_dir_conf *, const char *);
PROXY_DECLARE(const char *)
ap_proxy_location_reverse_map(request_rec *r, proxy_dir_conf *conf, const char *url);
PROXY_DECLARE(const char *)
ap_proxy_cookie_reverse_map(request_rec *r, proxy_dir_conf *conf, const char *str);

/** Log, and return the status. */
PROXY_DECLARE(int) ap_proxyerror(request_rec *r, int statuscode, const char *message);
/* Does ProxyBlock forbid it? */
PROXY_DECLARE(int)
ap_proxy_checkproxyblock(request_rec *r, proxy_server_conf *conf, apr_sockaddr_t *uri_addr);
PROXY_DECLARE(int)
ap_proxy_checkproxyblock2(request_rec *r, proxy_server_conf *conf, const char *hostname,
                          apr_sockaddr_t *addr);
PROXY_DECLARE(int) ap_proxy_trans_match(request_rec *r, struct proxy_alias *ent, proxy_dir_conf *dconf);
PROXY_DECLARE(int) ap_proxy_should_override(proxy_dir_conf *conf, int code);

/* ---- TLS to backends ----------------------------------------------------------------------------------- */

PROXY_DECLARE(apr_status_t) ap_proxy_ssl_connection_cleanup(proxy_conn_rec *conn, request_rec *r);
PROXY_DECLARE(int) ap_proxy_ssl_enable(conn_rec *c);
PROXY_DECLARE(int) ap_proxy_ssl_disable(conn_rec *c);
PROXY_DECLARE(int) ap_proxy_ssl_engine(conn_rec *c, ap_conf_vector_t *per_dir_config, int enable);
PROXY_DECLARE(int) ap_proxy_conn_is_https(conn_rec *c);
PROXY_DECLARE(const char *)
ap_proxy_ssl_val(apr_pool_t *p, server_rec *s, conn_rec *c, request_rec *r, const char *var);

/* ---- Functions for workers ----------------------------------------------------------------------------- */

PROXY_DECLARE(char *) ap_proxy_worker_name(apr_pool_t *p, proxy_worker *worker);
PROXY_DECLARE(int)
ap_proxy_worker_can_upgrade(apr_pool_t *p, const proxy_worker *worker, const char *upgrade,
                            const char *dflt);

/* Mask of the _ex functions. */
#define AP_PROXY_WORKER_IS_PREFIX (1u << 0)
#define AP_PROXY_WORKER_IS_MATCH (1u << 1)
#define AP_PROXY_WORKER_IS_MALLOCED (1u << 2)
#define AP_PROXY_WORKER_NO_UDS (1u << 3)
/* The worker for a URL, NULL: none. */
PROXY_DECLARE(proxy_worker *)
ap_proxy_get_worker_ex(apr_pool_t *p, proxy_balancer *balancer, proxy_server_conf *conf,
                       const char *url, unsigned int mask);
PROXY_DECLARE(proxy_worker *)
ap_proxy_get_worker(apr_pool_t *p, proxy_balancer *balancer, proxy_server_conf *conf,
                    const char *url);
/* Make one. NULL or a message. */
PROXY_DECLARE(char *)
ap_proxy_define_worker_ex(apr_pool_t *p, proxy_worker **worker, proxy_balancer *balancer,
                          proxy_server_conf *conf, const char *url, unsigned int mask);
PROXY_DECLARE(char *)
ap_proxy_define_worker(apr_pool_t *p, proxy_worker **worker, proxy_balancer *balancer,
                       proxy_server_conf *conf, const char *url, int do_malloc);
PROXY_DECLARE(char *)
ap_proxy_define_match_worker(apr_pool_t *p, proxy_worker **worker, proxy_balancer *balancer,
                             proxy_server_conf *conf, const char *url, int do_malloc);
/* Put its shared part in place; set it up in a process. */
PROXY_DECLARE(apr_status_t)
ap_proxy_share_worker(proxy_worker *worker, proxy_worker_shared *shm, int i);
PROXY_DECLARE(apr_status_t)
ap_proxy_initialize_worker(proxy_worker *worker, server_rec *s, apr_pool_t *p);
PROXY_DECLARE(proxy_worker_shared *)
ap_proxy_find_workershm(ap_slotmem_provider_t *storage, ap_slotmem_instance_t *slot,
                        proxy_worker *worker, unsigned int *index);
/* Status by letter; as words. */
PROXY_DECLARE(apr_status_t) ap_proxy_set_wstatus(char c, int set, proxy_worker *w);
PROXY_DECLARE(char *) ap_proxy_parse_wstatus(apr_pool_t *p, proxy_worker *w);
PROXY_DECLARE(int) ap_proxy_lb_workers(void);
PROXY_DECLARE(const char *) ap_proxy_show_hcmethod(hcmethod_t method);

/* ---- Functions for balancers --------------------------------------------------------------------------- */

PROXY_DECLARE(int) ap_proxy_valid_balancer_name(char *name, int i);
PROXY_DECLARE(proxy_balancer *)
ap_proxy_get_balancer(apr_pool_t *p, proxy_server_conf *conf, const char *url, int careactive);
PROXY_DECLARE(char *)
ap_proxy_update_balancer(apr_pool_t *p, proxy_balancer *balancer, const char *url);
PROXY_DECLARE(char *)
ap_proxy_define_balancer(apr_pool_t *p, proxy_balancer **balancer, proxy_server_conf *conf,
                         const char *url, const char *alias, int do_malloc);
PROXY_DECLARE(apr_status_t)
ap_proxy_share_balancer(proxy_balancer *balancer, proxy_balancer_shared *shm, int i);
PROXY_DECLARE(apr_status_t)
ap_proxy_initialize_balancer(proxy_balancer *balancer, server_rec *s, apr_pool_t *p);
PROXY_DECLARE(proxy_balancer_shared *)
ap_proxy_find_balancershm(ap_slotmem_provider_t *storage, ap_slotmem_instance_t *slot,
                          proxy_balancer *balancer, unsigned int *index);
PROXY_DECLARE(apr_status_t)
ap_proxy_sync_balancer(proxy_balancer *b, server_rec *s, proxy_server_conf *conf);

/** Nonzero if @a current is better than @a prev_best (which may be NULL). */
typedef int(proxy_is_best_callback_fn_t)(proxy_worker *current, proxy_worker *prev_best, void *baton);
PROXY_DECLARE(proxy_worker *)
ap_proxy_balancer_get_best_worker(proxy_balancer *balancer, request_rec *r,
                                  proxy_is_best_callback_fn_t *is_best, void *baton);
APR_DECLARE_OPTIONAL_FN(proxy_worker *, proxy_balancer_get_best_worker,
                        (proxy_balancer * balancer, request_rec *r,
                         proxy_is_best_callback_fn_t *is_best, void *baton));

/* ---- Forwarding a request ------------------------------------------------------------------------------ */

PROXY_DECLARE(int) ap_proxy_pre_http_request(conn_rec *c, request_rec *r);
PROXY_DECLARE(int)
ap_proxy_pre_request(proxy_worker **worker, proxy_balancer **balancer, request_rec *r,
                     proxy_server_conf *conf, char **url);
PROXY_DECLARE(int)
ap_proxy_post_request(proxy_worker *worker, proxy_balancer *balancer, request_rec *r,
                      proxy_server_conf *conf);

#define PROXY_DETERMINE_ADDRESS_CHECK (1u << 0)
PROXY_DECLARE(apr_status_t)
ap_proxy_determine_address(const char *proxy_function, proxy_conn_rec *conn, const char *hostname,
                           apr_port_t hostport, unsigned int flags, request_rec *r, server_rec *s);
PROXY_DECLARE(int)
ap_proxy_determine_connection(apr_pool_t *p, request_rec *r, proxy_server_conf *conf,
                              proxy_worker *worker, proxy_conn_rec *conn, apr_uri_t *uri, char **url,
                              const char *proxyname, apr_port_t proxyport, char *server_portstr,
                              int server_portstr_size);

/* Get a connection from a worker's pool; give it back. */
PROXY_DECLARE(int)
ap_proxy_acquire_connection(const char *proxy_function, proxy_conn_rec **conn, proxy_worker *worker,
                            server_rec *s);
PROXY_DECLARE(int)
ap_proxy_release_connection(const char *proxy_function, proxy_conn_rec *conn, server_rec *s);
#define PROXY_CHECK_CONN_EMPTY (1 << 0) /**< there must be nothing to read */
PROXY_DECLARE(apr_status_t)
ap_proxy_check_connection(const char *scheme, proxy_conn_rec *conn, server_rec *server,
                          unsigned max_blank_lines, int flags);
PROXY_DECLARE(int)
ap_proxy_connect_to_backend(apr_socket_t **newsock, const char *proxy_function,
                            apr_sockaddr_t *backend_addr, const char *backend_name,
                            proxy_server_conf *conf, request_rec *r);
PROXY_DECLARE(int)
ap_proxy_connect_backend(const char *proxy_function, proxy_conn_rec *conn, proxy_worker *worker,
                         server_rec *s);
PROXY_DECLARE(apr_status_t)
ap_proxy_connect_uds(apr_socket_t *sock, const char *uds_path, apr_pool_t *p);
PROXY_DECLARE(int)
ap_proxy_connection_create(const char *proxy_function, proxy_conn_rec *conn, conn_rec *c,
                           server_rec *s);
PROXY_DECLARE(int)
ap_proxy_connection_create_ex(const char *proxy_function, proxy_conn_rec *conn, request_rec *r);
PROXY_DECLARE(int) ap_proxy_connection_reusable(proxy_conn_rec *conn);
PROXY_DECLARE(int) ap_proxy_is_socket_connected(apr_socket_t *socket);
/** The backend is gone in mid-response: make the client notice. */
PROXY_DECLARE(void) ap_proxy_backend_broke(request_rec *r, apr_bucket_brigade *brigade);

/* The head and body that go to the backend. */
PROXY_DECLARE(int)
ap_proxy_create_hdrbrgd(apr_pool_t *p, apr_bucket_brigade *header_brigade, request_rec *r,
                        proxy_conn_rec *p_conn, proxy_worker *worker, proxy_server_conf *conf,
                        apr_uri_t *uri, char *url, char *server_portstr, char **old_cl_val,
                        char **old_te_val);
PROXY_DECLARE(int)
ap_proxy_prefetch_input(request_rec *r, proxy_conn_rec *backend, apr_bucket_brigade *input_brigade,
                        apr_read_type_e block, apr_off_t *bytes_read, apr_off_t max_read);
PROXY_DECLARE(int)
ap_proxy_spool_input(request_rec *r, proxy_conn_rec *backend, apr_bucket_brigade *input_brigade,
                     apr_off_t *bytes_spooled, apr_off_t max_mem_spool);
PROXY_DECLARE(int)
ap_proxy_read_input(request_rec *r, proxy_conn_rec *backend, apr_bucket_brigade *input_brigade,
                    apr_off_t max_read);
PROXY_DECLARE(int)
ap_proxy_pass_brigade(apr_bucket_alloc_t *bucket_alloc, request_rec *r, proxy_conn_rec *p_conn,
                      conn_rec *origin, apr_bucket_brigade *bb, int flush);
/** Buckets of one connection as buckets of another. */
PROXY_DECLARE(apr_status_t)
ap_proxy_buckets_lifetime_transform(request_rec *r, apr_bucket_brigade *from,
                                    apr_bucket_brigade *to);

#define AP_PROXY_TRANSFER_FLUSH_EACH (0x00)
#define AP_PROXY_TRANSFER_FLUSH_AFTER (0x01)
#define AP_PROXY_TRANSFER_YIELD_PENDING (0x02)
#define AP_PROXY_TRANSFER_YIELD_MAX_READS (0x04)
PROXY_DECLARE(apr_status_t)
ap_proxy_transfer_between_connections(request_rec *r, conn_rec *c_i, conn_rec *c_o,
                                      apr_bucket_brigade *bb_i, apr_bucket_brigade *bb_o,
                                      const char *name, int *sent, apr_off_t bsize, int flags);

struct proxy_tunnel_conn;
/** Bytes both ways until one side ends. */
typedef struct {
    request_rec *r;
    const char *scheme;
    apr_pollset_t *pollset;
    apr_array_header_t *pfds;
    apr_interval_time_t timeout;
    struct proxy_tunnel_conn *client, *origin;
    apr_size_t read_buf_size;
    int replied;
    unsigned int nohalfclose : 1;
} proxy_tunnel_rec;
PROXY_DECLARE(apr_status_t)
ap_proxy_tunnel_create(proxy_tunnel_rec **tunnel, request_rec *r, conn_rec *c_o, const char *scheme);
PROXY_DECLARE(int) ap_proxy_tunnel_run(proxy_tunnel_rec *tunnel);

/* ---- Optional functions between the proxy's modules ---------------------------------------------------- */

APR_DECLARE_OPTIONAL_FN(void, hc_show_exprs, (request_rec *));
APR_DECLARE_OPTIONAL_FN(void, hc_select_exprs, (request_rec *, const char *));
APR_DECLARE_OPTIONAL_FN(int, hc_valid_expr, (request_rec *, const char *));
APR_DECLARE_OPTIONAL_FN(const char *, set_worker_hc_param,
                        (apr_pool_t *, server_rec *, proxy_worker *, const char *, const char *,
                         void *));
APR_DECLARE_OPTIONAL_FN(int, ap_proxy_retry_worker,
                        (const char *proxy_function, proxy_worker *worker, server_rec *s));
APR_DECLARE_OPTIONAL_FN(apr_status_t, balancer_manage, (request_rec *, apr_table_t *params));
APR_DECLARE_OPTIONAL_FN(int, ap_proxy_clear_connection, (request_rec * r, apr_table_t *headers));
APR_DECLARE_OPTIONAL_FN(apr_status_t, ajp_handle_cping_cpong,
                        (apr_socket_t * sock, request_rec *r, apr_interval_time_t timeout));

extern module PROXY_DECLARE_DATA proxy_module;

#ifdef __cplusplus
}
#endif
#endif
