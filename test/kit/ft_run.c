/* SPDX-License-Identifier: Apache-2.0 */
/* A run: a connection and a request of its own, the plan's steps one after the other, and what must
 * hold after each. */
#include "filter_test.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- connection and request ---- */

static apr_status_t ft_socket_close(void *fds)
{
    close(((int *)fds)[1]); /* the other one is APR's */
    return APR_SUCCESS;
}

/* A socket with addresses that nobody is at the other end of. */
static apr_socket_t *ft_socket(apr_pool_t *p)
{
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(80)};
    struct sockaddr_in there = here;
    int *fds = apr_palloc(p, 2 * sizeof *fds);
    apr_os_sock_info_t info = {.family = AF_INET, .type = SOCK_STREAM};
    apr_socket_t *csd;

    there.sin_port = htons(50000);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        ft_usage("no sockets can be made");
    apr_pool_cleanup_register(p, fds, ft_socket_close, apr_pool_cleanup_null);
    info.os_sock = &fds[0];
    info.local = (struct sockaddr *)&here;
    info.remote = (struct sockaddr *)&there;
    if (apr_os_sock_make(&csd, &info, p) != APR_SUCCESS)
        ft_usage("a socket cannot be made known to APR");
    return csd;
}

static void ft_connect(ft_run *run)
{
    run->c = ap_run_create_connection(run->pool, ap_server_conf, ft_socket(run->pool), 1, NULL,
                                      apr_bucket_alloc_create(run->pool));
    if (!run->c)
        ft_usage("no connection record can be made");
    ft_ends_add(run);
}

static void ft_fields(request_rec *r, const ft_options *o)
{
    apr_table_setn(r->headers_in, "Host", "localhost");
    for (int i = 0; i < o->headers->nelts; i++) {
        char *name = apr_pstrdup(r->pool, APR_ARRAY_IDX(o->headers, i, const char *));
        char *value = strchr(name, ':');

        *value++ = '\0';
        apr_table_addn(r->headers_in, name, value + strspn(value, " \t"));
    }
}

/* A request that came to the point where its handler would run. 0: a hook read the body, which
 * failed as it was to fail, and refused the request. */
static int ft_request(ft_run *run)
{
    const ft_options *o = run->options;
    request_rec *r = run->r = ap_create_request(run->c);
    int status;

    r->method = o->method;
    r->method_number = ap_method_number_of(o->method);
    r->header_only = !strcmp(o->method, "HEAD");
    r->protocol = (char *)"HTTP/1.1";
    r->proto_num = HTTP_VERSION(1, 1);
    r->hostname = "localhost";
    r->the_request = apr_pstrcat(r->pool, o->method, " ", o->uri, " HTTP/1.1", NULL);
    ap_parse_uri(r, o->uri);
    ft_fields(r, o);
    status = ap_run_post_read_request(r);
    if (status == OK || status == DECLINED)
        status = ap_process_request_internal(r);
    if (status != OK && status != DECLINED && run->sink_failed)
        return 0;
    if (status != OK && status != DECLINED)
        ft_usage("the configuration answers the request for %s with %d", o->uri, status);
    /* The server's own filters make a message of the content: the filter stands alone. */
    r->output_filters = r->proto_output_filters = run->c->output_filters;
    r->input_filters = r->proto_input_filters = run->c->input_filters;
    if (o->content_type)
        ap_set_content_type(r, apr_pstrdup(r->pool, o->content_type));
    if (!o->input)
        ap_set_content_length(r, (apr_off_t)run->in->len);
    return 1;
}

static ap_filter_t *ft_on_chain(ap_filter_t *f, const ap_filter_rec_t *rec)
{
    while (f && f->frec != rec)
        f = f->next;
    return f;
}

static void ft_insert(ft_run *run)
{
    const ft_options *o = run->options;
    request_rec *r = run->filter->ftype < AP_FTYPE_CONNECTION ? run->r : NULL;
    ap_filter_t *f;

    if (o->insert) {
        ap_run_insert_filter(run->r);
        f = ft_on_chain(o->input ? run->r->input_filters : run->r->output_filters, run->filter);
        if (!f)
            ft_usage("--insert: the module did not insert %s", o->filter);
    } else {
        f = o->input ? ap_add_input_filter_handle(run->filter, NULL, r, run->c)
                     : ap_add_output_filter_handle(run->filter, NULL, r, run->c);
    }
    if (f && run->filter->filter_init_func && run->filter->filter_init_func(f) != OK)
        ft_wrong(run, "its initialisation refuses the request");
}

/* ---- output filters ---- */

static void ft_after_call(ft_run *run, apr_status_t rv)
{
    char text[120];

    if (rv != APR_SUCCESS && !run->sink_failed)
        ft_wrong(run, "the filter returned %d (%s)", rv, apr_strerror(rv, text, sizeof text));
    else if (rv == APR_SUCCESS && run->sink_failed)
        ft_wrong(run, "the filter returned APR_SUCCESS although the next filter had failed");
    if (run->sink_failed || run->trouble)
        return;
    if (run->flush_out < run->flush_in)
        ft_wrong(run, "FLUSH swallowed: the next filter did not get it during the call");
    if (run->eos_in && !run->eos_out)
        ft_wrong(run, "EOS missing: the next filter did not get it during the call");
}

static void ft_pass(ft_run *run, apr_bucket_brigade *bb)
{
    apr_status_t rv = ap_pass_brigade(
        run->filter->ftype < AP_FTYPE_CONNECTION ? run->r->output_filters : run->c->output_filters,
        bb);

    ft_lent_withdraw(run);
    ft_after_call(run, rv);
    apr_brigade_cleanup(bb);
}

void ft_run_output(ft_run *run)
{
    const apr_array_header_t *steps = run->plan->steps;
    apr_bucket_brigade *bb = apr_brigade_create(run->pool, run->c->bucket_alloc);

    for (int i = 0; i < steps->nelts && !run->trouble && !run->sink_failed; i++) {
        const ft_step *step = &APR_ARRAY_IDX(steps, i, ft_step);

        if (step->kind == FT_PASS)
            ft_pass(run, bb);
        else
            APR_BRIGADE_INSERT_TAIL(bb, ft_bucket_make(run, step));
    }
    if (!run->trouble)
        ft_sink_finish(run);
    if (!run->sink_failed && run->meta_out < run->meta_in)
        ft_wrong(run, "metadata swallowed: %d of %d buckets arrived", run->meta_out, run->meta_in);
}

/* ---- the whole run ---- */

static void ft_check_length(ft_run *run)
{
    const char *field = apr_table_get(run->r->headers_out, "Content-Length");

    if (!run->options->no_length && !run->sink_failed && !run->plan->other_input && field &&
        (apr_size_t)apr_atoi64(field) != run->out.len)
        ft_wrong(run,
                 "Content-Length: %s stands in r->headers_out, but the output has %" APR_SIZE_T_FMT
                 " bytes: a filter that changes the length removes the field",
                 field, run->out.len);
}

/* The pools go as in the server: the request's first. What nobody destroyed is lost then. */
static void ft_end(ft_run *run)
{
    const request_rec *r = run->r;

    apr_pool_destroy(run->r->pool);
    (void)filter_check_request_end(run->c->bucket_alloc, r);
    apr_pool_destroy(run->pool);
    if (!run->trouble && ft_live_blocks > 0)
        ft_wrong(run, "leaked: %d data buckets were never destroyed", ft_live_blocks);
    if (!run->trouble && ft_live_meta > 0)
        ft_wrong(run, "leaked: %d metadata buckets were never destroyed", ft_live_meta);
    ft_live_blocks = ft_live_meta = 0;
}

static void ft_drive(ft_run *run)
{
    ft_insert(run);
    if (run->trouble)
        return;
    if (run->options->input) {
        ft_run_input(run);
    } else {
        ft_run_output(run);
        ft_check_length(run);
    }
}

void ft_run_plan(ft_run *run, apr_pool_t *p)
{
    apr_pool_create(&run->pool, p);
    run->lent = apr_array_make(p, 16, sizeof(ft_lent));
    run->pools = apr_array_make(p, 16, sizeof(apr_pool_t *));
    run->kept = apr_array_make(p, 16, sizeof(apr_bucket *));
    ft_connect(run);
    if (ft_request(run))
        ft_drive(run);
    if (run->trouble) /* what is left may be torn: it is not touched again */
        ft_live_blocks = ft_live_meta = 0;
    else
        ft_end(run);
    ft_lent_free(run);
}
