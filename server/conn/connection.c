/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apache's view of a connection: conn_rec, its pool, its hooks, its end.
 *
 * Modules make conn_recs, too: for HTTP/2 streams (often by copying ours byte for byte) and,
 * through the same create_connection hook, for connections to back ends. connection_of() knows ours
 * by the data behind the public struct (connection_ours).
 *
 *   connection_attach   a pool is taken, then the hooks create_connection and pre_connection run
 *   connection_detach   pre_close_connection runs, output is dropped, the pool is cleared and kept
 *                       for the next connection
 */
#include "connection.h"
#include "clock.h"
#include "configuration.h"

#include "ap_mpm.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "http_vhost.h"
#include "mpm_common.h"
#include "brigade/assert.h"
#include "brigade/loop.h"

#include "apr_portable.h"
#include "apr_strings.h"
#include "brigade/memory_bucket.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

APLOG_USE_MODULE(core);

APR_HOOK_STRUCT(APR_HOOK_LINK(create_connection) APR_HOOK_LINK(process_connection)
                    APR_HOOK_LINK(pre_connection) APR_HOOK_LINK(pre_close_connection)
                        APR_HOOK_LINK(insert_network_bucket) APR_HOOK_LINK(get_pollfd_from_conn))
AP_IMPLEMENT_HOOK_RUN_FIRST(conn_rec *, create_connection,
                            (apr_pool_t * p, server_rec *server, apr_socket_t *csd, long conn_id,
                             void *sbh, apr_bucket_alloc_t *alloc),
                            (p, server, csd, conn_id, sbh, alloc), NULL)
AP_IMPLEMENT_HOOK_RUN_FIRST(int, process_connection, (conn_rec * c), (c), DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, pre_connection, (conn_rec * c, void *csd), (c, csd), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_ALL(int, pre_close_connection, (conn_rec * c), (c), OK, DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(apr_status_t, insert_network_bucket,
                            (conn_rec * c, apr_bucket_brigade *bb, apr_socket_t *socket),
                            (c, bb, socket), AP_DECLINED)
AP_IMPLEMENT_HOOK_RUN_FIRST(apr_status_t, get_pollfd_from_conn,
                            (conn_rec * c, struct apr_pollfd_t *pfd, apr_interval_time_t *ptimeout),
                            (c, pfd, ptimeout), APR_ENOTIMPL)

/* cs stands behind the private fields on purpose: a conn_state_t that another module allocates
 * right after a conn_rec of its own must not be found at the same distance. */
typedef struct connection_rec {
    connection_link link;
    apr_socket_t *csd;
    struct core_input *in;
    struct core_output *out;
    apr_interval_time_t timeout; /* of a stream; 0: that of its socket */
    unsigned pre_closed : 1, filtered : 1;
    conn_state_t cs;
} connection_rec;

/* ---- identity ---- */

const size_t connection_to_state = offsetof(connection_rec, cs);

/* NULL for a conn_rec that connection_create_hook() did not make, and for a copy of one. */
static connection_rec *connection_ours(const conn_rec *c)
{
    return (connection_rec *)(void *)(uintptr_t)connection_link_of(c);
}

int connection_is_plain(const conn_rec *c)
{
    return c->input_filters && c->input_filters->frec == ap_core_input_filter_handle &&
           c->output_filters && c->output_filters->frec == ap_core_output_filter_handle;
}

AP_DECLARE(apr_socket_t *) ap_get_conn_socket(conn_rec *c)
{
    return ap_get_core_module_config(c->conn_config);
}

apr_interval_time_t connection_timeout(conn_rec *c)
{
    const connection_rec *cr = connection_ours(c);
    apr_socket_t *csd = ap_get_conn_socket(c);
    apr_interval_time_t t = c->base_server->timeout;

    if (cr && cr->timeout)
        return cr->timeout;
    if (csd)
        apr_socket_timeout_get(csd, &t);
    return t;
}

void connection_stream_timeout(brg_conn *bc, apr_interval_time_t timeout)
{
    BRG_ASSERT(bc->master && bc->c && timeout >= 0);
    ((connection_rec *)bc->c)->timeout = timeout;
}

void connection_abort(conn_rec *c)
{
    brg_conn *bc = connection_of(c);

    c->aborted = 1;
    c->keepalive = AP_CONN_CLOSE;
    if (bc)
        bc->failed = 1;
}

/* ---- creation ---- */

static apr_status_t connection_set_addresses(conn_rec *c, apr_socket_t *csd)
{
    const brg_conn *bc = connection_of_socket(csd);
    apr_status_t rv = APR_SUCCESS;

    c->client_addr = bc ? conn_client_sockaddr(bc, c->pool) : NULL;
    c->local_addr = bc ? conn_local_sockaddr(bc, c->pool) : NULL;
    if (!c->client_addr)
        rv = apr_socket_addr_get(&c->client_addr, APR_REMOTE, csd);
    if (!c->local_addr && rv == APR_SUCCESS)
        rv = apr_socket_addr_get(&c->local_addr, APR_LOCAL, csd);
    if (rv != APR_SUCCESS)
        return rv;
    apr_sockaddr_ip_get(&c->local_ip, c->local_addr);
    apr_sockaddr_ip_get(&c->client_ip, c->client_addr);
    return APR_SUCCESS;
}

/* The core's create_connection: also used by modules that open connections to others, hence nothing
 * in here may assume one of our own sockets. */
static conn_rec *connection_create_hook(apr_pool_t *p, server_rec *server, apr_socket_t *csd,
                                        long id, void *sbh, apr_bucket_alloc_t *alloc)
{
    connection_rec *cr = apr_pcalloc(p, sizeof *cr);
    conn_rec *c = &cr->link.c;
    apr_status_t rv;

    cr->link.magic = CONNECTION_MAGIC;
    cr->csd = csd;
    c->cs = &cr->cs;
    c->sbh = sbh;
    c->conn_config = ap_create_conn_config(p);
    ap_set_core_module_config(c->conn_config, csd);
    c->notes = apr_table_make(p, 5);
    c->pool = p;
    c->base_server = server;
    c->id = id;
    c->bucket_alloc = alloc;
    if ((rv = connection_set_addresses(c, csd)) != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_INFO, rv, server,
                     "connection closed before its addresses could be read");
        return NULL;
    }
    return c;
}

/* The last of the pre_connection hooks: cr->link.bc is set by then. */
static int connection_pre_hook(conn_rec *c, void *csd)
{
    connection_rec *cr = connection_ours(c);
    brg_conn *bc = cr ? cr->link.bc : NULL;
    struct core_output *out;
    struct core_input *in;

    BRG_ASSERT(!bc || bc->c == c);
    if ((c->master && !bc) || (cr && cr->filtered)) /* streams of modules have filters of theirs */
        return DONE;
    if (!bc)
        apr_socket_timeout_set(csd, c->base_server->timeout);
    in = core_input_create(c, bc, csd);
    out = core_output_create(c, bc, csd);
    ap_add_input_filter_handle(ap_core_input_filter_handle, in, NULL, c);
    ap_add_output_filter_handle(ap_core_output_filter_handle, out, NULL, c);
    if (cr) {
        cr->in = in;
        cr->out = out;
        cr->filtered = 1;
    }
    return DONE;
}

AP_DECLARE(int) ap_pre_connection(conn_rec *c, void *csd)
{
    connection_rec *cr = connection_ours(c);
    int rc = ap_run_pre_connection(c, csd);

    if (rc != OK && rc != DONE) {
        c->aborted = 1;
        /* The next hooks may still want to send an answer down the chain, so the chain must have an
         * end. */
        if (cr && !cr->filtered)
            connection_pre_hook(c, csd);
    }
    return rc;
}

static conn_rec *connection_build(brg_conn *bc, apr_pool_t *p, apr_socket_t *csd)
{
    ap_sb_handle_t *sbh;
    connection_rec *cr;
    conn_rec *c;

    ap_create_sb_handle(&sbh, p, connection_child_slot(), brg_thread_index());
    c = ap_run_create_connection(p, ap_server_conf, csd, connection_next_id(), sbh,
                                 brg_bucket_alloc_create(p));
    if (!c)
        return NULL;
    if (!(cr = connection_ours(c))) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "a module made the conn_rec of a client connection itself; "
                     "the event loops cannot drive it: connection closed");
        return NULL;
    }
    BRG_ASSERT(!cr->link.bc && !cr->filtered);
    cr->link.bc = bc;
    return c;
}

apr_status_t connection_attach(brg_conn *bc)
{
    apr_pool_t *p = connection_pool_acquire();
    apr_socket_t *csd = NULL;
    apr_status_t rv;
    conn_rec *c;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(!bc->c && !bc->out && bc->fd >= 0);
    if (!p)
        return APR_ENOMEM;
    rv = connection_socket(&csd, bc, p, ap_server_conf->timeout);
    if (rv != APR_SUCCESS)
        conn_fail(bc, rv, "cannot set up a client's socket");
    c = rv == APR_SUCCESS ? connection_build(bc, p, csd) : NULL;
    if (!c) {
        if (csd)
            connection_disown(csd);
        connection_pool_release(p);
        return rv == APR_SUCCESS ? APR_EGENERAL : rv;
    }
    bc->c = c;
    ap_update_vhost_given_ip(c);
    ap_pre_connection(c, csd);
    bc->out = ((connection_rec *)c)->out;
    if (c->aborted) {
        connection_detach(bc);
        return APR_ECONNABORTED;
    }
    c->cs->state = CONN_STATE_PROCESSING;
    return APR_SUCCESS;
}

/* The conn_rec of a stream: as that of its master, with a pool, filters and notes of its own. */
static conn_rec *connection_build_stream(brg_conn *bc, apr_pool_t *p)
{
    conn_rec *master = bc->master->c;
    apr_socket_t *csd = ap_get_conn_socket(master);
    ap_sb_handle_t *sbh;
    connection_rec *cr = apr_pcalloc(p, sizeof *cr);
    conn_rec *c = &cr->link.c;

    *c = *master;
    cr->link.magic = CONNECTION_MAGIC;
    cr->csd = csd;
    cr->link.bc = bc;
    c->cs = &cr->cs;
    c->master = master;
    c->pool = p;
    c->id = connection_next_id();
    c->notes = apr_table_make(p, 5);
    c->bucket_alloc = brg_bucket_alloc_create(p);
    c->input_filters = NULL;
    c->output_filters = NULL;
    c->log_id = NULL;
    c->keepalive = AP_CONN_UNKNOWN;
    c->keepalives = 0;
    c->aborted = 0;
    c->data_in_input_filters = c->data_in_output_filters = 0;
    c->conn_config = ap_create_conn_config(p);
    ap_set_core_module_config(c->conn_config, csd);
    ap_create_sb_handle(&sbh, p, connection_child_slot(), brg_thread_index());
    c->sbh = sbh;
    return c;
}

conn_rec *connection_copy(conn_rec *of, apr_pool_t *p)
{
    connection_rec *cr = apr_pcalloc(p, sizeof *cr);
    conn_rec *c = &cr->link.c;

    *c = *of;
    cr->link.magic = CONNECTION_MAGIC;
    cr->filtered = 1;
    cr->csd = ap_get_conn_socket(of);
    cr->cs = *of->cs;
    c->cs = &cr->cs;
    c->pool = p;
    c->master = of->master ? of->master : of;
    c->id = connection_next_id(); /* mod_cgid finds, and ends, its programs by it */
    c->conn_config = conf_vector_copy(p, of->conn_config);
    c->notes = apr_table_copy(p, of->notes);
    c->bucket_alloc = brg_bucket_alloc_create(p);
    c->sbh = NULL; /* the thread's line of the scoreboard is that of the connection */
    return c;
}

apr_status_t connection_attach_stream(brg_conn *bc)
{
    apr_pool_t *p;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(bc->master && bc->master->c && !bc->c && !bc->out);
    if (!(p = connection_pool_acquire()))
        return APR_ENOMEM;
    bc->c = connection_build_stream(bc, p);
    ap_pre_connection(bc->c, ap_get_conn_socket(bc->c));
    bc->out = ((connection_rec *)bc->c)->out;
    if (bc->c->aborted) {
        connection_detach(bc);
        return APR_ECONNABORTED;
    }
    bc->c->cs->state = CONN_STATE_PROCESSING;
    return APR_SUCCESS;
}

void connection_on_thread(brg_conn *bc)
{
    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (bc->c && bc->c->sbh)
        ap_update_sb_handle(bc->c->sbh, connection_child_slot(), brg_thread_index());
}

/* ---- end ---- */

void connection_input_idle(brg_conn *bc)
{
    connection_rec *cr = (connection_rec *)bc->c;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (cr && cr->in)
        core_input_idle(cr->in);
}

static struct core_input *connection_input(const brg_conn *bc)
{
    const connection_rec *cr = (const connection_rec *)bc->c;

    return bc->master || !cr ? NULL : cr->in;
}

apr_time_t connection_body_due(brg_conn *bc, apr_time_t now)
{
    struct core_input *in = connection_input(bc);

    return in ? core_input_body_due(in, now) : 0;
}

void connection_body_late(brg_conn *bc)
{
    struct core_input *in = connection_input(bc);

    BRG_ASSERT(in != NULL); /* it was due */
    core_input_body_late(in);
}

static int connection_pre_close(conn_rec *c)
{
    connection_rec *cr = connection_ours(c);

    if (cr && cr->pre_closed)
        return OK;
    if (cr)
        cr->pre_closed = 1;
    return ap_run_pre_close_connection(c);
}

void connection_detach(brg_conn *bc)
{
    connection_rec *cr = (connection_rec *)bc->c;
    apr_pool_t *p;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (!cr)
        return;
    BRG_ASSERT(cr->link.magic == CONNECTION_MAGIC && cr->link.bc == bc);
    p = cr->link.c.pool;
    if (!bc->master)
        connection_pre_close(&cr->link.c);
    if (cr->out)
        core_output_drop(cr->out);
    bc->c = NULL;
    bc->out = NULL;
    if (!bc->master)
        connection_disown(cr->csd);
    cr->link.magic = 0;
    connection_pool_release(p);
}

AP_CORE_DECLARE(apr_status_t) ap_shutdown_conn(conn_rec *c, int flush)
{
    apr_bucket_brigade *bb = apr_brigade_create(c->pool, c->bucket_alloc);
    apr_status_t rv;

    if (flush)
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, ap_bucket_eoc_create(c->bucket_alloc));
    rv = ap_pass_brigade(c->output_filters, bb);
    apr_brigade_destroy(bb);
    return rv;
}

AP_CORE_DECLARE(void) ap_flush_conn(conn_rec *c)
{
    (void)ap_shutdown_conn(c, 1);
}

AP_DECLARE(int) ap_prep_lingering_close(conn_rec *c)
{
    connection_pre_close(c);
    if (c->sbh)
        ap_update_child_status(c->sbh, SERVER_CLOSING, NULL);
    return 0;
}

AP_DECLARE(int) ap_start_lingering_close(conn_rec *c)
{
    apr_socket_t *csd = ap_get_conn_socket(c);

    if (!csd || ap_prep_lingering_close(c))
        return 1;
    ap_flush_conn(c);
    if (c->aborted || apr_socket_shutdown(csd, APR_SHUTDOWN_WRITE) != APR_SUCCESS) {
        if (connection_of(c))
            connection_abort(c);
        else
            apr_socket_close(csd);
        return 1;
    }
    return 0;
}

AP_DECLARE(void) ap_lingering_close(conn_rec *c)
{
    static const int seconds_per_read = 2, seconds = 30;
    apr_time_t end = clock_monotonic() + apr_time_from_sec(seconds);
    apr_socket_t *csd = ap_get_conn_socket(c);
    char buf[2048];
    apr_size_t n;

    if (ap_start_lingering_close(c))
        return;
    apr_socket_timeout_set(csd, apr_time_from_sec(seconds_per_read));
    do {
        n = sizeof buf;
        if (apr_socket_recv(csd, buf, &n) != APR_SUCCESS || n == 0)
            break;
    } while (clock_monotonic() < end);
    /* Our own descriptors belong to their loop, which closes them. */
    if (!connection_of(c))
        apr_socket_close(csd);
}

/* ---- other public entries ---- */

AP_CORE_DECLARE(void) ap_process_connection(conn_rec *c, void *csd)
{
    connection_rec *cr = connection_ours(c);

    if (!cr || !cr->filtered) { /* attached connections are prepared already */
        ap_update_vhost_given_ip(c);
        ap_pre_connection(c, csd);
    }
    if (!c->aborted)
        ap_run_process_connection(c);
}

void connection_register_hooks(apr_pool_t *p)
{
    ap_hook_create_connection(connection_create_hook, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_pre_connection(connection_pre_hook, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_network_bucket(core_input_insert_network_bucket, NULL, NULL,
                                  APR_HOOK_REALLY_LAST);
    ap_hook_get_pollfd_from_conn(connection_get_pollfd, NULL, NULL, APR_HOOK_REALLY_LAST);
    core_input_register(p);
    core_output_register(p);
}

static brg_figure_protocol protocol_of(int h2, int tls)
{
    return h2 ? (tls ? BRG_PROTOCOL_H2_TLS : BRG_PROTOCOL_H2)
              : (tls ? BRG_PROTOCOL_H1_TLS : BRG_PROTOCOL_H1);
}

brg_figure_protocol connection_protocol_of(const brg_conn *bc)
{
    if (bc->protocol == CONN_HTTP3)
        return BRG_PROTOCOL_H3;
    return protocol_of(bc->protocol == CONN_HTTP2,
                       (bc->master ? bc->master : bc)->transport != NULL);
}

brg_figure_protocol connection_protocol(conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    BRG_ASSERT(bc != NULL);
    if (!bc->module_driven)
        return connection_protocol_of(bc);
    return protocol_of(bc->protocol == CONN_HTTP2 || !strncmp(ap_get_protocol(c), "h2", 2),
                       bc->transport || ap_ssl_conn_is_ssl(c));
}
