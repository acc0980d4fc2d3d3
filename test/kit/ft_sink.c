/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of the chain: the next filter of an output filter, which checks what it gets, and
 * what an input filter reads from. */
#include "filter_test.h"
#include "http_main.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

static ap_filter_rec_t *ft_sink_rec, *ft_source_rec;

void ft_wrong(ft_run *run, const char *fmt, ...)
{
    va_list ap;

    if (run->trouble)
        return;
    va_start(ap, fmt);
    run->trouble = apr_pvsprintf(ap_pglobal, fmt, ap);
    va_end(ap);
}

void ft_bytes_add(ft_bytes *b, const char *data, apr_size_t len)
{
    if (b->len + len > b->room) {
        b->room = 2 * (b->len + len) + 256;
        b->data = realloc(b->data, b->room);
        if (!b->data)
            abort();
    }
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

/* ---- the next filter ---- */

static void ft_sink_metadata(ft_run *run, apr_bucket *b)
{
    if (APR_BUCKET_IS_EOS(b) && run->eos_out++)
        ft_wrong(run, "EOS twice");
    else if (APR_BUCKET_IS_FLUSH(b))
        run->flush_out++;
    else if (ft_bucket_is_meta(b))
        run->meta_out++;
}

static void ft_sink_read(ft_run *run, apr_bucket *b)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
    char text[120];

    if (rv != APR_SUCCESS)
        ft_wrong(run, "a %s bucket that was passed on cannot be read: %s", b->type->name,
                 apr_strerror(rv, text, sizeof text));
    else
        ft_bytes_add(&run->out, data, len);
}

static void ft_sink_keep(ft_run *run, apr_bucket *b)
{
    apr_status_t rv = apr_bucket_setaside(b, run->c->pool);
    const char *data;
    apr_size_t len;

    if (rv == APR_ENOTIMPL && apr_bucket_read(b, &data, &len, APR_BLOCK_READ) == APR_SUCCESS)
        rv = apr_bucket_setaside(b, run->c->pool);
    if (rv != APR_SUCCESS && rv != APR_ENOTIMPL)
        ft_wrong(run, "a %s bucket that was passed on cannot be set aside", b->type->name);
}

/* One bucket of what came. Reading one may put others behind it. */
static void ft_sink_take(ft_run *run, apr_bucket *b)
{
    if (APR_BUCKET_IS_METADATA(b))
        ft_sink_metadata(run, b);
    else if (run->eos_out)
        ft_wrong(run, "data after EOS (%s bucket)", b->type->name);
    else if (run->plan->keep)
        ft_sink_keep(run, b);
    else
        ft_sink_read(run, b);
}

static apr_status_t ft_sink_fail(ft_run *run, apr_bucket_brigade *bb)
{
    run->sink_failed = 1;
    if (!run->plan->fail_leaves)
        apr_brigade_cleanup(bb);
    return run->plan->error;
}

static apr_status_t ft_sink(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ft_run *run = f->ctx;

    run->sink_calls++;
    if (run->sink_failed) {
        ft_wrong(run, "goes on although the next filter returned an error");
        apr_brigade_cleanup(bb);
        return run->plan->error;
    }
    if (run->sink_calls == run->plan->fail_at)
        return ft_sink_fail(run, bb);
    while (!APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);

        ft_sink_take(run, b);
        APR_BUCKET_REMOVE(b);
        if (run->plan->keep)
            APR_ARRAY_PUSH(run->kept, apr_bucket *) = b;
        else
            apr_bucket_destroy(b);
    }
    return APR_SUCCESS;
}

/* Reading one bucket may make others behind it, so each gets a ring. */
void ft_sink_finish(ft_run *run)
{
    apr_bucket_brigade *bb = apr_brigade_create(run->pool, run->c->bucket_alloc);
    int after_eos = 0;

    for (int i = 0; i < run->kept->nelts; i++) {
        apr_bucket *b = APR_ARRAY_IDX(run->kept, i, apr_bucket *);

        APR_BRIGADE_INSERT_TAIL(bb, b);
        for (; b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
            if (!APR_BUCKET_IS_METADATA(b) && !after_eos)
                ft_sink_read(run, b);
            after_eos |= APR_BUCKET_IS_EOS(b);
        }
        apr_brigade_cleanup(bb);
    }
    run->kept->nelts = 0;
    apr_brigade_destroy(bb);
}

/* ---- what an input filter reads from ---- */

/* The next brigade of the plan, in so far as it is asked for. */
typedef struct ft_upstream {
    ft_run *run;
    apr_bucket_brigade *ready;
    int step, calls, waited;
} ft_upstream;

static void ft_source_fill(ft_upstream *up)
{
    const apr_array_header_t *steps = up->run->plan->steps;

    while (APR_BRIGADE_EMPTY(up->ready) && up->step < steps->nelts) {
        for (; up->step < steps->nelts; up->step++) {
            const ft_step *step = &APR_ARRAY_IDX(steps, up->step, ft_step);

            if (step->kind == FT_PASS)
                break;
            if (step->kind == FT_DATA || step->kind == FT_EOS) /* input has neither FLUSH nor EOR */
                APR_BRIGADE_INSERT_TAIL(up->ready, ft_bucket_make(up->run, step));
        }
        up->step++;
    }
}

/* What is handed out may be lent for the length of a call; what stays here has to last. */
static void ft_source_hold(ft_upstream *up)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(up->ready); b != APR_BRIGADE_SENTINEL(up->ready);
         b = APR_BUCKET_NEXT(b))
        (void)apr_bucket_setaside(b, up->run->pool);
}

/* At most so many bytes of what is ready; a line at most where lines are asked for. */
static apr_status_t ft_source_give(ft_upstream *up, apr_bucket_brigade *bb, ap_input_mode_t mode,
                                   apr_off_t most)
{
    apr_bucket *after = NULL;
    apr_status_t rv;

    if (mode == AP_MODE_GETLINE)
        return apr_brigade_split_line(bb, up->ready, APR_BLOCK_READ, HUGE_STRING_LEN);
    if (mode == AP_MODE_EXHAUSTIVE)
        most = (apr_off_t)up->run->in->len + 1;
    rv = apr_brigade_partition(up->ready, most, &after);
    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE)
        return rv;
    for (apr_bucket *b = APR_BRIGADE_FIRST(up->ready), *next;
         b != after && b != APR_BRIGADE_SENTINEL(up->ready); b = next) {
        next = APR_BUCKET_NEXT(b);
        if (mode == AP_MODE_SPECULATIVE) {
            apr_bucket *copy;

            if (apr_bucket_copy(b, &copy) == APR_SUCCESS)
                APR_BRIGADE_INSERT_TAIL(bb, copy);
        } else {
            APR_BUCKET_REMOVE(b);
            APR_BRIGADE_INSERT_TAIL(bb, b);
        }
    }
    return APR_SUCCESS;
}

static apr_status_t ft_source(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                              apr_read_type_e block, apr_off_t most)
{
    ft_upstream *up = f->ctx;
    ft_run *run = up->run;
    apr_status_t rv;

    if (mode == AP_MODE_INIT)
        return APR_SUCCESS;
    run->sink_calls++;
    if (run->sink_failed) {
        ft_wrong(run, "goes on reading although the filter that it reads from returned an error");
        return run->plan->error;
    }
    if (run->sink_calls == run->plan->fail_at) {
        run->sink_failed = 1;
        return run->plan->error;
    }
    if (block == APR_NONBLOCK_READ && !up->waited++)
        return APR_EAGAIN;
    up->waited = 0;
    if (most <= 0 && (mode == AP_MODE_READBYTES || mode == AP_MODE_SPECULATIVE)) {
        ft_wrong(run, "asks for %" APR_OFF_T_FMT " bytes", most);
        return APR_EGENERAL;
    }
    ft_source_fill(up);
    if (APR_BRIGADE_EMPTY(up->ready))
        return APR_EOF;
    rv = ft_source_give(up, bb, mode, most);
    ft_source_hold(up);
    return rv;
}

/* ---- on the chains ---- */

void ft_ends_register(void)
{
    ft_sink_rec = ap_register_output_filter("BRIGADE-FILTER-TEST", ft_sink, NULL, AP_FTYPE_NETWORK);
    ft_source_rec =
        ap_register_input_filter("BRIGADE-FILTER-TEST", ft_source, NULL, AP_FTYPE_NETWORK);
}

void ft_ends_add(ft_run *run)
{
    ft_upstream *up = apr_pcalloc(run->pool, sizeof *up);

    up->run = run;
    up->ready = apr_brigade_create(run->pool, run->c->bucket_alloc);
    ap_add_output_filter_handle(ft_sink_rec, run, NULL, run->c);
    ap_add_input_filter_handle(ft_source_rec, up, NULL, run->c);
}
