/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the server what modules ask it, as the query says: its answers are the response. */
#include "httpd.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "ap_mpm.h"
#include "apr_portable.h"
#include <string.h>

static int ask_mpm(request_rec *r)
{
    for (int i = 1; i <= 19; i++) {
        int value = -1;
        apr_status_t rv = ap_mpm_query(i, &value);

        ap_rprintf(r, "%d: %d %d\n", i, rv, value);
    }
    ap_rprintf(r, "%s\n", ap_show_mpm());
    return OK;
}

/* Ids are made for the caller, and kept nowhere. */
static int ask_ids(request_rec *r)
{
    const char *of_connection = NULL, *of_request = NULL;
    int first = ap_run_generate_log_id(r->connection, NULL, &of_connection);
    int second = ap_run_generate_log_id(r->connection, r, &of_request);

    ap_rprintf(r, "%d %d %d %s\n", first, second,
               of_connection && of_request && strcmp(of_connection, of_request),
               r->log_id ? "kept" : "not kept");
    return OK;
}

/* What is sent after the module closed the client's socket reaches nobody. */
static int ask_close(request_rec *r)
{
    apr_socket_t *csd = ap_get_conn_socket(r->connection);
    apr_os_sock_t fd = 0;

    if (apr_socket_close(csd) != APR_SUCCESS)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "not closed");
    apr_os_sock_get(&fd, csd);
    ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "the socket is %d", fd);
    if (!strcmp(r->args, "close-403"))
        return HTTP_FORBIDDEN;
    ap_rputs("unheard\n", r);
    ap_rflush(r);
    return OK;
}

static int ask_pair(request_rec *r, apr_socket_t *ends[2])
{
    apr_socket_t *listener;
    apr_sockaddr_t *any, *at;

    return apr_sockaddr_info_get(&any, "127.0.0.1", APR_INET, 0, 0, r->pool) ||
           apr_socket_create(&listener, APR_INET, SOCK_STREAM, APR_PROTO_TCP, r->pool) ||
           apr_socket_bind(listener, any) || apr_socket_listen(listener, 1) ||
           apr_socket_addr_get(&at, APR_LOCAL, listener) ||
           apr_socket_create(&ends[0], APR_INET, SOCK_STREAM, APR_PROTO_TCP, r->pool) ||
           apr_socket_connect(ends[0], at) || apr_socket_accept(&ends[1], listener, r->pool) ||
           apr_socket_close(listener);
}

/* As mod_wsgi's daemons do it: the core's filters are added by hand. */
static conn_rec *ask_connection(request_rec *r, apr_socket_t *csd)
{
    core_net_rec *net = apr_pcalloc(r->pool, sizeof *net);
    apr_bucket_alloc_t *alloc = apr_bucket_alloc_create(r->pool);
    conn_rec *c = ap_run_create_connection(r->pool, r->server, csd, 1, r->connection->sbh, alloc);

    if (!c)
        return NULL;
    net->c = c;
    net->client_socket = csd;
    apr_socket_timeout_set(csd, r->server->timeout);
    ap_set_core_module_config(c->conn_config, csd);
    ap_add_input_filter_handle(ap_core_input_filter_handle, net, NULL, c);
    ap_add_output_filter_handle(ap_core_output_filter_handle, net, NULL, c);
    return c;
}

/* A connection that the module made itself: a line goes out and another comes in. */
static int ask_filters(request_rec *r)
{
    static const char answer[] = "inwards\nand more\n";
    apr_socket_t *ends[2];
    char buf[100] = "";
    apr_size_t len = sizeof buf - 1;
    apr_bucket_brigade *bb;
    conn_rec *c;

    if (ask_pair(r, ends) || !(c = ask_connection(r, ends[0])))
        return HTTP_INTERNAL_SERVER_ERROR;
    bb = apr_brigade_create(r->pool, c->bucket_alloc);
    ap_fputs(c->output_filters, bb, "outwards\n");
    ap_fflush(c->output_filters, bb);
    apr_brigade_cleanup(bb);
    ap_rprintf(r, "%d ", apr_socket_recv(ends[1], buf, &len));
    ap_rputs(buf, r);
    len = sizeof answer - 1;
    ap_rprintf(r, "%d ", apr_socket_send(ends[1], answer, &len));
    ap_rprintf(r, "%d ", ap_get_brigade(c->input_filters, bb, AP_MODE_GETLINE, APR_BLOCK_READ, 0));
    memset(buf, 0, sizeof buf);
    len = sizeof buf - 1;
    apr_brigade_flatten(bb, buf, &len);
    ap_rputs(buf, r);
    apr_brigade_cleanup(bb);
    return OK;
}

static int ask_handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "testask") || !r->args)
        return DECLINED;
    ap_set_content_type(r, "text/plain");
    if (!strcmp(r->args, "mpm"))
        return ask_mpm(r);
    if (!strcmp(r->args, "ids"))
        return ask_ids(r);
    if (!strncmp(r->args, "close", 5))
        return ask_close(r);
    if (!strcmp(r->args, "filters"))
        return ask_filters(r);
    return HTTP_NOT_FOUND;
}

/* Modules name their sockets by it. */
static int ask_post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    int generation = -1;

    ap_mpm_query(AP_MPMQ_GENERATION, &generation);
    if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG)
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, "configured for generation %d.", generation);
    return OK;
}

static void ask_register(apr_pool_t *p)
{
    ap_hook_post_config(ask_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(ask_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA testask_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, ask_register, AP_MODULE_FLAG_NONE};
