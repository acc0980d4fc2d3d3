/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filter chains: filter instances and the calls from one to the next.
 *
 * All chains of a connection form one list that is entered at three points:
 *
 *   r->output_filters -> content filters -> r->proto_output_filters -> protocol filters
 *                     -> c->output_filters -> connection filters -> network
 *
 * An entry point whose own section is empty equals the next one. A subrequest shares the sections
 * of the request above it; filters of its own stand before those. Input is arranged alike.
 */
#include "httpd.h"
#include "http_core.h"
#include "http_log.h"
#include "filter_check.h"
#include "filter_registry.h"
#include "request_context.h"
#include "util_filter.h"
#include "apr_strings.h"
#include "memory_refusal.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

enum { FILTER_CONTENT, FILTER_PROTOCOL, FILTER_CONNECTION, FILTER_SECTIONS };

/* Where a chain is entered. Without a request only the last is there. */
typedef struct filter_entries {
    ap_filter_t **at[FILTER_SECTIONS];
} filter_entries;

static filter_entries filter_output_entries(request_rec *r, conn_rec *c)
{
    filter_entries e = {{NULL, NULL, &c->output_filters}};

    if (r) {
        e.at[FILTER_CONTENT] = &r->output_filters;
        e.at[FILTER_PROTOCOL] = &r->proto_output_filters;
    }
    return e;
}

static filter_entries filter_input_entries(request_rec *r, conn_rec *c)
{
    filter_entries e = {{NULL, NULL, &c->input_filters}};

    if (r) {
        e.at[FILTER_CONTENT] = &r->input_filters;
        e.at[FILTER_PROTOCOL] = &r->proto_input_filters;
    }
    return e;
}

static int filter_section(ap_filter_type ftype)
{
    BRG_ASSERT(ftype >= 0);
    if (ftype < AP_FTYPE_PROTOCOL)
        return FILTER_CONTENT;
    return ftype < AP_FTYPE_CONNECTION ? FILTER_PROTOCOL : FILTER_CONNECTION;
}

/* Of equal type and request, the filter that was added first is called first. */
static int filter_goes_before(const ap_filter_t *f, const ap_filter_t *other)
{
    BRG_ASSERT(f && f->frec);
    return !other || other->r != f->r || other->frec->ftype > f->frec->ftype;
}

static void filter_link(ap_filter_t *f, const filter_entries *e, int section)
{
    ap_filter_t *first = *e->at[section];
    ap_filter_t *scan = first;

    BRG_ASSERT(e->at[section] != NULL);
    BRG_ASSERT(section >= 0 && section < FILTER_SECTIONS);
    if (!filter_goes_before(f, first)) {
        while (!filter_goes_before(f, scan->next))
            scan = scan->next;
        f->next = scan->next;
        scan->next = f;
        return;
    }

    /* A new first of its section: whatever led to the old one leads here from now on. */
    f->next = first;
    for (int above = section - 1; above >= 0 && e->at[above]; above--) {
        for (scan = *e->at[above]; scan && scan != first && scan != f; scan = scan->next) {
            if (scan->next == first) {
                scan->next = f;
                break;
            }
        }
        if (*e->at[above] == first)
            *e->at[above] = f;
    }
    *e->at[section] = f;
}

static ap_filter_t *filter_add(ap_filter_rec_t *frec, void *ctx, request_rec *r, conn_rec *c,
                               const filter_entries *e)
{
    int section = filter_section(frec->ftype);
    ap_filter_t *f;

    if (!e->at[section]) {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c, "%sa %s filter was added without a request: %s",
                      section == FILTER_CONTENT ? APLOGNO(00080) : APLOGNO(00081),
                      section == FILTER_CONTENT ? "content" : "protocol", frec->name);
        return NULL;
    }
    f = section == FILTER_CONNECTION ? apr_palloc(c->pool, sizeof *f) : request_conf_filters(r, 1);
    f->frec = frec;
    f->ctx = ctx;
    f->r = section == FILTER_CONNECTION ? NULL : r;
    f->c = c;
    filter_link(f, e, section);
    return f;
}

static ap_filter_t *filter_unknown(const char *name, request_rec *r, conn_rec *c)
{
    if (r) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00082) "an unknown filter was not added: %s", name);
    } else {
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, c,
                      APLOGNO(00082) "an unknown filter was not added: %s", name);
    }
    return NULL;
}

AP_DECLARE(ap_filter_t *)
ap_add_input_filter(const char *name, void *ctx, request_rec *r, conn_rec *c)
{
    ap_filter_rec_t *frec = ap_get_input_filter_handle(name);

    return frec ? ap_add_input_filter_handle(frec, ctx, r, c) : filter_unknown(name, r, c);
}

AP_DECLARE(ap_filter_t *)
ap_add_input_filter_handle(ap_filter_rec_t *f, void *ctx, request_rec *r, conn_rec *c)
{
    filter_entries e = filter_input_entries(r, c);

    return filter_add(f, ctx, r, c, &e);
}

AP_DECLARE(ap_filter_t *)
ap_add_output_filter(const char *name, void *ctx, request_rec *r, conn_rec *c)
{
    ap_filter_rec_t *frec = ap_get_output_filter_handle(name);

    return frec ? ap_add_output_filter_handle(frec, ctx, r, c) : filter_unknown(name, r, c);
}

AP_DECLARE(ap_filter_t *)
ap_add_output_filter_handle(ap_filter_rec_t *f, void *ctx, request_rec *r, conn_rec *c)
{
    filter_entries e = filter_output_entries(r, c);

    return filter_add(f, ctx, r, c, &e);
}

void filter_chain_begin(request_rec *r, ap_filter_rec_t *const *recs, int n)
{
    conn_rec *c = r->connection;
    ap_filter_t *next = c->output_filters, *made;

    if (r->output_filters != next || r->proto_output_filters != next) { /* a hook was first */
        for (int i = 0; i < n; i++)
            (void)ap_add_output_filter_handle(recs[i], NULL, r, c);
        return;
    }
    made = request_conf_filters(r, (unsigned)n);
    for (int i = n - 1; i >= 0; i--) {
        BRG_ASSERT(recs[i]->ftype == AP_FTYPE_PROTOCOL);
        made[i] = (ap_filter_t){.frec = recs[i], .next = next, .r = r, .c = c};
        next = &made[i];
    }
    r->output_filters = r->proto_output_filters = next;
}

/* f itself is not changed: it may be running, and passes its brigade to f->next. */
static void filter_remove(ap_filter_t *f, const filter_entries *e)
{
    ap_filter_t *scan = NULL;

    BRG_ASSERT(e->at[FILTER_CONNECTION] != NULL);
    for (int i = 0; i < FILTER_SECTIONS; i++) {
        if (!e->at[i])
            continue;
        if (!scan && *e->at[i] != f)
            scan = *e->at[i];
        if (*e->at[i] == f)
            *e->at[i] = f->next;
    }
    for (; scan; scan = scan->next) {
        if (scan->next == f) {
            scan->next = f->next;
            return;
        }
    }
}

AP_DECLARE(void) ap_remove_input_filter(ap_filter_t *f)
{
    filter_entries e = filter_input_entries(f->r, f->c);

    filter_remove(f, &e);
}

AP_DECLARE(void) ap_remove_output_filter(ap_filter_t *f)
{
    request_rec *r = f->r;
    filter_entries e;

    if (r && r->output_filters ==
                 f) { /* none is in front of it, as where a filter goes on its first call */
        r->output_filters = f->next;
        if (r->proto_output_filters == f)
            r->proto_output_filters = f->next;
        return;
    }
    e = filter_output_entries(r, f->c);
    filter_remove(f, &e);
}

static ap_filter_t *filter_on_chain(ap_filter_t *chain, const ap_filter_rec_t *frec)
{
    while (chain && (!frec || chain->frec != frec))
        chain = chain->next;
    return chain;
}

AP_DECLARE(apr_status_t) ap_remove_input_filter_byhandle(ap_filter_t *next, const char *handle)
{
    ap_filter_t *f = handle ? filter_on_chain(next, ap_get_input_filter_handle(handle)) : NULL;

    if (!f)
        return APR_NOTFOUND;
    ap_remove_input_filter(f);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_remove_output_filter_byhandle(ap_filter_t *next, const char *handle)
{
    ap_filter_t *f = handle ? filter_on_chain(next, ap_get_output_filter_handle(handle)) : NULL;

    if (!f)
        return APR_NOTFOUND;
    ap_remove_output_filter(f);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t)
ap_get_brigade(ap_filter_t *next, apr_bucket_brigade *bb, ap_input_mode_t mode,
               apr_read_type_e block, apr_off_t readbytes)
{
    return next ? filter_check_get(next, bb, mode, block, readbytes) : AP_NOBODY_READ;
}

AP_DECLARE(apr_status_t) ap_pass_brigade(ap_filter_t *next, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    if (!next)
        return AP_NOBODY_WROTE;
    filter_check_given(next, bb);
    if (next->r && !APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb))) {
        /* Requests that were redirected here are answered as well. */
        for (request_rec *r = next->r; r; r = r->prev)
            r->eos_sent = 1;
    }
    if (next->r && __builtin_expect(brg_pool_refused(next->r->pool), 0) &&
        memory_refusal_stops(next->r, bb, &rv))
        return rv;
    return filter_check_pass(next, bb);
}

/* Called by handlers: this is where the status of a filter becomes the result of a handler. */
AP_DECLARE(apr_status_t)
ap_pass_brigade_fchk(request_rec *r, apr_bucket_brigade *bb, const char *fmt, ...)
{
    apr_status_t rv = ap_pass_brigade(r->output_filters, bb);
    const char *what;
    va_list ap;

    if (rv == APR_SUCCESS)
        return OK;
    if (rv == AP_FILTER_ERROR)
        return AP_FILTER_ERROR;
    if (fmt) {
        va_start(ap, fmt);
        what = apr_pvsprintf(r->pool, fmt, ap);
        va_end(ap);
    } else {
        what = apr_psprintf(r->pool, APLOGNO(00083) "ap_pass_brigade returned %d", rv);
    }
    ap_log_rerror(APLOG_MARK, r->connection->aborted ? APLOG_DEBUG : APLOG_WARNING, rv, r, "%s",
                  what);
    return HTTP_INTERNAL_SERVER_ERROR;
}

AP_DECLARE(apr_status_t)
ap_save_brigade(ap_filter_t *f, apr_bucket_brigade **saveto, apr_bucket_brigade **b, apr_pool_t *p)
{
    apr_status_t result = APR_SUCCESS;

    if (!*saveto)
        *saveto = apr_brigade_create(f->r ? f->r->pool : f->c->pool, f->c->bucket_alloc);
    for (apr_bucket *e = APR_BRIGADE_FIRST(*b); e != APR_BRIGADE_SENTINEL(*b);
         e = APR_BUCKET_NEXT(e)) {
        apr_status_t rv = apr_bucket_setaside(e, p);

        if (rv == APR_ENOTIMPL) {
            const char *data;
            apr_size_t len;

            /* Reading turns it into something that lasts. */
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
            if (rv == APR_SUCCESS)
                rv = apr_bucket_setaside(e, p);
        }
        if (rv != APR_SUCCESS) {
            result = rv;
            if (rv != APR_ENOTIMPL)
                return rv;
        }
    }
    APR_BRIGADE_CONCAT(*saveto, *b);
    return result;
}

AP_DECLARE_NONSTD(apr_status_t) ap_filter_flush(apr_bucket_brigade *bb, void *ctx)
{
    apr_status_t rv = ap_pass_brigade(ctx, bb);

    /* apr_brigade_write() passes buckets over memory that is gone when it returns. */
    apr_brigade_cleanup(bb);
    return rv;
}

AP_DECLARE(apr_status_t) ap_fflush(ap_filter_t *f, apr_bucket_brigade *bb)
{
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(f->c->bucket_alloc));
    return ap_pass_brigade(f, bb);
}

AP_DECLARE_NONSTD(apr_status_t) ap_fputstrs(ap_filter_t *f, apr_bucket_brigade *bb, ...)
{
    va_list ap;
    apr_status_t rv;

    va_start(ap, bb);
    rv = apr_brigade_vputstrs(bb, ap_filter_flush, f, ap);
    va_end(ap);
    return rv;
}

AP_DECLARE_NONSTD(apr_status_t)
ap_fprintf(ap_filter_t *f, apr_bucket_brigade *bb, const char *fmt, ...)
{
    va_list ap;
    apr_status_t rv;

    va_start(ap, fmt);
    rv = apr_brigade_vprintf(bb, ap_filter_flush, f, fmt, ap);
    va_end(ap);
    return rv;
}

AP_DECLARE(void) ap_filter_protocol(ap_filter_t *f, unsigned int proto_flags)
{
    f->frec->proto_flags = proto_flags;
}
