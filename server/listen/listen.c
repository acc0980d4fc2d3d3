/* SPDX-License-Identifier: Apache-2.0 */
/* ap_listen.h: the Listen directive and its relatives, and the list of addresses that modules see.
 */
#include "listen_sockets.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "driver.h"
#include "trial.h"
#include "mpm_settings.h"

#include "unixd.h"

#include "configuration.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"

#include "apr_escape.h"
#include "apr_lib.h"
#include "apr_portable.h"
#include "apr_strings.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* How long the kernel keeps a silent connection to itself. Shorter than Apache's 30 seconds, so
 * that RequestReadTimeout means such connections too; a client that has something to say does so
 * within a second. */
#define LISTEN_DEFER_SECONDS 1

AP_DECLARE_DATA ap_listen_rec *ap_listeners;
AP_DECLARE_DATA int ap_num_listen_buckets = 1;
AP_DECLARE_DATA int ap_have_so_reuseport = 1;

static listen_options listen_conf;

AP_DECLARE(void) ap_listen_pre_config(void)
{
    ap_listeners = NULL;
    listen_conf =
        (listen_options){.backlog = DEFAULT_LISTENBACKLOG, .defer_accept_s = LISTEN_DEFER_SECONDS};
}

/* ---- directives ---- */

static ap_listen_rec **listen_end(void)
{
    ap_listen_rec **end = &ap_listeners;

    while (*end)
        end = &(*end)->next;
    return end;
}

/* Without an address one socket serves both families, where the kernel has IPv6. */
static int listen_default_family(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int usable = fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0;

    if (fd >= 0)
        close(fd);
    return usable ? APR_INET6 : APR_INET;
}

static int listen_is_there(const apr_sockaddr_t *sa)
{
    for (const ap_listen_rec *rec = ap_listeners; rec; rec = rec->next)
        if (rec->bind_addr->port == sa->port && rec->bind_addr->family == sa->family &&
            apr_sockaddr_equal(rec->bind_addr, sa))
            return 1;
    return 0;
}

static const char *listen_add_address(apr_pool_t *p, const char *host, apr_port_t port,
                                      const char *protocol)
{
    int family = host ? APR_UNSPEC : listen_default_family();
    apr_sockaddr_t *sa;
    apr_status_t rv = apr_sockaddr_info_get(&sa, host, family, port, 0, p);

    if (rv != APR_SUCCESS) {
        ap_log_perror(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, rv, p,
                      APLOGNO(00077) "alloc_listener: failed to set up sockaddr for %s",
                      host ? host : "*");
        return "Listen setup failed";
    }
    for (; sa; sa = sa->next) {
        if (listen_is_there(sa))
            return "Cannot define multiple Listeners on the same IP:port";
        ap_listen_rec *rec = apr_pcalloc(p, sizeof *rec);
        rec->bind_addr = sa;
        rec->protocol = protocol;
        *listen_end() = rec;
    }
    return NULL;
}

AP_DECLARE_NONSTD(const char *)
ap_set_listener(cmd_parms *cmd, void *dummy, int argc, char *const argv[])
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    char *host, *scope_id, *protocol;
    apr_port_t port;

    if (err)
        return err;
    if (argc < 1 || argc > 2)
        return "Listen requires 1 or 2 arguments.";
    if (!strncmp(argv[0], "vsock:", 6))
        return "Listen: vsock addresses are not offered";
    if (apr_parse_addr_port(&host, &scope_id, &port, argv[0], cmd->pool) != APR_SUCCESS)
        return "Invalid address or port";
    if (host && !strcmp(host, "*"))
        host = NULL;
    if (scope_id)
        return "Scope id is not supported";
    if (!port)
        return "Port must be specified";
    protocol = apr_pstrdup(cmd->pool, argc == 2 ? argv[1] : port == 443 ? "https" : "http");
    ap_str_tolower(protocol);
    return listen_add_address(cmd->pool, host, port, protocol);
}

static const char *listen_number(cmd_parms *cmd, const char *arg, int min, int *value)
{
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t n;

    if (err)
        return err;
    n = brg_argument_number(cmd, arg);
    if (n < min || n > APR_INT32_MAX)
        return apr_psprintf(cmd->pool, "%s takes a number from %d up, not \"%s\"", cmd->cmd->name,
                            min, arg);
    *value = (int)n;
    return NULL;
}

static const char *listen_buffer(cmd_parms *cmd, const char *arg, int *value)
{
    int bytes = 0;
    const char *err = listen_number(cmd, arg, 0, &bytes);

    if (!err && bytes && bytes < 512)
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           " must be >= 512 bytes, or 0 for system default.", NULL);
    if (!err)
        *value = bytes;
    return err;
}

AP_DECLARE_NONSTD(const char *)
ap_set_listenbacklog(cmd_parms *cmd, void *dummy, const char *arg)
{
    return listen_number(cmd, arg, 1, &listen_conf.backlog);
}

AP_DECLARE_NONSTD(const char *)
ap_set_listentcpdeferaccept(cmd_parms *cmd, void *dummy, const char *arg)
{
    return listen_number(cmd, arg, 1, &listen_conf.defer_accept_s);
}

AP_DECLARE_NONSTD(const char *) ap_set_listencbratio(cmd_parms *cmd, void *dummy, const char *arg)
{
    int ratio;
    const char *err = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (!err && listen_number(cmd, arg, 1, &ratio))
        err = "ListenCoresBucketsRatio must be > 0";
    if (!err)
        conf_notice_no_effect(cmd, APLOG_MODULE_INDEX,
                              "every event loop has listening sockets of its own");
    return err;
}

AP_DECLARE_NONSTD(const char *)
ap_set_send_buffer_size(cmd_parms *cmd, void *dummy, const char *arg)
{
    return listen_buffer(cmd, arg, &listen_conf.send_bytes);
}

AP_DECLARE_NONSTD(const char *)
ap_set_receive_buffer_size(cmd_parms *cmd, void *dummy, const char *arg)
{
    return listen_buffer(cmd, arg, &listen_conf.receive_bytes);
}

/* ---- setting up ---- */

static int listen_is_any(const apr_sockaddr_t *sa)
{
    return apr_sockaddr_is_wildcard(sa);
}

int listen_v6only(const ap_listen_rec *rec)
{
    if (rec->bind_addr->family != APR_INET6 || !listen_is_any(rec->bind_addr))
        return 0;
    for (const ap_listen_rec *other = ap_listeners; other; other = other->next)
        if (other->bind_addr->family == APR_INET && listen_is_any(other->bind_addr) &&
            other->bind_addr->port == rec->bind_addr->port)
            return 1;
    return 0;
}

/* AcceptFilter: "none" for a protocol means that its connections are accepted before they send
 * anything. */
static int listen_defers(const ap_listen_rec *rec, const server_rec *s)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config);
    const char *filter = conf->accf_map ? apr_table_get(conf->accf_map, rec->protocol) : NULL;

    return filter && ap_cstr_casecmp(filter, "none") && listen_conf.defer_accept_s;
}

static int listen_is_reload; /* of the round that is made */

/* Open missing sockets. At a start each failure is fatal; at a reload, the server goes on without
 * an address that somebody else has. Returns the number of addresses that are served. */
static int listen_open_all(const server_rec *s, int sockets)
{
    int reload = listen_is_reload = listen_socket_any(), n = 0;
    ap_listen_rec **at = &ap_listeners, *rec;

    BRG_ASSERT(sockets > 0);
    listen_socket_mark();
    while ((rec = *at) != NULL) {
        if (listen_socket_ensure(rec, sockets, listen_v6only(rec), listen_defers(rec, s),
                                 &listen_conf) == APR_SUCCESS) {
            BRG_ASSERT(rec->active && rec->sd != NULL);
            rec->accept_func = ap_unixd_accept;
            at = &rec->next;
            n++;
            continue;
        }
        if (!reload)
            return 0;
        *at = rec->next;
    }
    return n;
}

static int (*listen_lives)(int generation);

void listen_set_lives(int (*lives)(int generation))
{
    listen_lives = lives;
}

void listen_serves(void)
{
    listen_udp_switch();
}

/* At a start a failure is fatal; at a reload, the server goes on without HTTP/3 there. @return 0, or -1 */
static int listen_open_udp(const server_rec *s, int sockets)
{
    const loop_datagrams *datagrams = loop_datagrams_offered();
    const int reload = listen_is_reload;

    listen_udp_mark();
    for (const ap_listen_rec *rec = ap_listeners; datagrams && rec; rec = rec->next)
        if (datagrams->wanted(s, rec) &&
            listen_udp_ensure(rec, sockets, listen_v6only(rec), datagrams->route_key(),
                              mpm_generation, listen_lives) != APR_SUCCESS &&
            !reload)
            return -1;
    return 0;
}

static const char *listen_protocol_of_port(apr_port_t port)
{
    for (const ap_listen_rec *rec = ap_listeners; rec; rec = rec->next)
        if (rec->bind_addr->port == port)
            return rec->protocol;
    return NULL;
}

static int listen_is_at(const ap_listen_rec *rec, const server_addr_rec *addr)
{
    return rec->bind_addr->port == addr->host_port &&
           (apr_sockaddr_equal(rec->bind_addr, addr->host_addr) ||
            (listen_is_any(rec->bind_addr) && listen_is_any(addr->host_addr)));
}

static const char *listen_protocol_of(const server_addr_rec *addr)
{
    for (; addr; addr = addr->next)
        for (const ap_listen_rec *rec = ap_listeners; rec; rec = rec->next)
            if (listen_is_at(rec, addr))
                return rec->protocol;
    return NULL;
}

/* Virtual hosts speak the protocol of a Listen for the very same address, unless they say otherwise. Apache does not look at the
 * port alone, either. */
static void listen_set_protocols(server_rec *s)
{
    const char *protocol;

    for (; s; s = s->next) {
        if (ap_get_server_protocol(s))
            continue;
        protocol = listen_protocol_of(s->addrs);
        if (!protocol && !s->addrs && s->port)
            protocol = listen_protocol_of_port(s->port);
        if (!protocol && !s->addrs && ap_listeners && !ap_listeners->next)
            protocol = ap_listeners->protocol;
        ap_set_server_protocol(s, protocol ? protocol : "http");
    }
}

AP_DECLARE(int) ap_setup_listeners(server_rec *s)
{
    int loops = mpm_loops(), n;
    int processes = mpm_settings.prefork
                        ? 1
                        : mpm_settings.processes; /* a connection never waits for a busy one */

    listen_set_shares(processes, loops);
    listen_set_protocols(s);
    n = listen_open_all(s, processes * loops);
    if (n && listen_open_udp(s, processes * loops))
        return 0;
    if (n) {
        listen_socket_sweep();
        listen_given_tell();
    }
    return n;
}

void listen_restore(void)
{
    listen_socket_restore(&listen_conf);
}

static const char *listen_of_server; /* listen_trial_addresses() */

void listen_trial_addresses(const char *text)
{
    listen_of_server = text;
}

/* 1 if the server that asked has this address. */
static int listen_trial_has(const void *addr, size_t len)
{
    char text[2 * sizeof(struct sockaddr_storage) + 2] = " ";

    BRG_ASSERT(trial_runs() == TRIAL_RELOAD && len <= sizeof(struct sockaddr_storage));
    if (strstr(listen_of_server, " *"))
        return 1;
    apr_escape_hex(text + 1, addr, len, 0, NULL);
    return strstr(listen_of_server, text) != NULL;
}

int listen_try(server_rec *s)
{
    int n = 0;

    listen_set_protocols(s);
    for (ap_listen_rec *rec = ap_listeners; rec; rec = rec->next)
        n += trial_runs() != TRIAL_RELOAD ||
             listen_trial_has(&rec->bind_addr->sa, (size_t)rec->bind_addr->salen) ||
             listen_socket_try(rec, listen_v6only(rec));
    return n;
}

/* ---- for modules that know Apache's process models ---- */

AP_DECLARE(apr_status_t)
ap_duplicate_listeners(apr_pool_t *p, server_rec *s, ap_listen_rec ***buckets, int *num_buckets)
{
    *num_buckets = ap_num_listen_buckets = 1;
    *buckets = apr_palloc(p, sizeof **buckets);
    **buckets = ap_listeners;
    return APR_SUCCESS;
}

AP_DECLARE_NONSTD(void) ap_close_listeners(void)
{
    listen_socket_close_all();
    for (ap_listen_rec *rec = ap_listeners; rec; rec = rec->next)
        rec->active = 0;
}

AP_DECLARE_NONSTD(void) ap_close_listeners_ex(ap_listen_rec *listeners)
{
    if (listeners == ap_listeners)
        ap_close_listeners();
}

AP_DECLARE_NONSTD(int) ap_close_selected_listeners(ap_slave_t *slave)
{
    int n = 0;

    for (ap_listen_rec *rec = ap_listeners; rec; rec = rec->next)
        if (rec->slave == slave && rec->active) {
            rec->active = 0;
            n++;
        }
    return n;
}
