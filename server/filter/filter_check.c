/* SPDX-License-Identifier: Apache-2.0 */
/* Checks around the calls of filters; filter_check.h says which. Debug and sanitizer builds only.
 */
#include "filter_check.h"

#ifdef BRIGADE_FILTER_CHECK

#include "filter_registry.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "http_request.h"
#include "brigade/assert.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(core);

/* A call of a filter that has not returned yet. */
typedef struct check_frame {
    const ap_filter_t *f;
    const struct check_frame *below;
} check_frame;

static _Thread_local const check_frame *check_top;
static _Thread_local unsigned check_walks;

static void check_log(conn_rec *c, filter_check_weight weight, const char *message)
{
    int level = weight == FILTER_CHECK_REMARK ? APLOG_INFO : APLOG_CRIT;
    const char *mark = weight == FILTER_CHECK_REMARK ? "" : "BRG_FILTER_CHECK: ";

    if (c && c->base_server)
        ap_log_cerror(APLOG_MARK, level, 0, c, "%s%s", mark, message);
    else
        ap_log_error(APLOG_MARK, level, 0, ap_server_conf, "%s%s", mark, message);
    if (weight == FILTER_CHECK_FATAL)
        abort();
}

static filter_check_tell *check_told = check_log;

void filter_check_to(filter_check_tell *tell)
{
    check_told = tell;
}

void filter_check_say(conn_rec *c, filter_check_weight weight, const char *format, ...)
{
    char message[400];
    va_list ap;

    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    check_told(c, weight, message);
}

const ap_filter_t *filter_check_running(void)
{
    return check_top ? check_top->f : NULL;
}

#ifdef __SANITIZE_ADDRESS__
void __asan_on_error(void);

/* AddressSanitizer found something, such as a filter that reads a bucket after its end: whose call
 * was it? */
__attribute__((visibility("default"))) void __asan_on_error(void)
{
    const ap_filter_t *f = filter_check_running();

    if (f)
        fprintf(stderr, "BRG_FILTER_CHECK: this happens in a call of filter %s\n", f->frec->name);
}
#endif

/* ---- words ---- */

typedef struct check_words {
    char text[120];
} check_words;

static check_words check_filter(const char *name)
{
    check_words w;

    if (name)
        snprintf(w.text, sizeof w.text, "filter %s", name);
    else
        snprintf(w.text, sizeof w.text, "the server or a handler");
    return w;
}

/* The giver of a brigade: the running filter, with its module. */
static check_words check_giver(void)
{
    const ap_filter_t *f = filter_check_running();
    const char *owner = f ? filter_owner(f->frec) : NULL;
    check_words w = check_filter(f ? f->frec->name : NULL);

    if (owner)
        snprintf(w.text, sizeof w.text, "filter %s of %s", f->frec->name, owner);
    return w;
}

static check_words check_bucket(const apr_bucket *e, const filter_check_block *b)
{
    check_words w;

    snprintf(w.text, sizeof w.text, "%.24s bucket (made by %.70s)", e->type->name,
             b ? check_filter(b->maker).text : "an unknown allocator");
    return w;
}

/* ---- a brigade ---- */

typedef struct check_walk {
    const ap_filter_t *f; /* that gets or returned the brigade */
    conn_rec *c;
    /* of the brigade; for a connection to a backend it may be the client's */
    apr_bucket_alloc_t *list;
    check_words giver;
    int passed; /* to an output filter */
    unsigned number, at;
} check_walk;

/* 1: go on. */
static int check_state(const check_walk *w, const apr_bucket *e, filter_check_block *b)
{
    if (b && b->state != FILTER_CHECK_LIVE) {
        filter_check_say(w->c, FILTER_CHECK_FATAL,
                         "%s has bucket %u of its brigade from %s destroyed already (in %s)",
                         w->giver.text, w->at, check_filter(b->maker).text,
                         check_filter(b->ender).text);
        return 0;
    }
    if (b && b->walk == w->number) {
        filter_check_say(
            w->c, FILTER_CHECK_FATAL,
            "%s has a broken brigade: it comes back to a %s at bucket %u and has no end",
            w->giver.text, check_bucket(e, b).text, w->at);
        return 0;
    }
    return 1;
}

/* Whether a bucket that was passed to @a receiver has been at or behind @a f. */
static int check_reaches(const ap_filter_t *f, const ap_filter_t *receiver)
{
    while (f && f != receiver)
        f = f->next;
    return f != NULL;
}

static int check_passed(const check_walk *w, const apr_bucket *e, filter_check_block *b)
{
    if (e->list != w->list && e->list != w->c->bucket_alloc)
        filter_check_say(w->c, FILTER_CHECK_FINDING,
                         "%s passes a %s of another connection's allocator", w->giver.text,
                         check_bucket(e, b).text);
    if (!b)
        return 1;
    if (b->receiver && check_reaches(w->f, b->receiver)) {
        filter_check_say(w->c, FILTER_CHECK_FATAL, "%s passes a %s to filter %s a second time",
                         w->giver.text, check_bucket(e, b).text, w->f->frec->name);
        return 0;
    }
    b->receiver = w->f;
    return 1;
}

static int check_one(check_walk *w, const apr_bucket *e, const apr_bucket *before)
{
    filter_check_block *b = filter_check_find(w->list, e);

    if (!check_state(w, e, b))
        return 0;
    if (APR_BUCKET_PREV(e) != before) {
        filter_check_say(w->c, FILTER_CHECK_FATAL,
                         "%s has a broken brigade: bucket %u, a %s, stands in two brigades or was "
                         "unlinked by halves",
                         w->giver.text, w->at, check_bucket(e, b).text);
        return 0;
    }
    if (b)
        b->walk = w->number;
    w->at++;
    return w->passed ? check_passed(w, e, b) : 1;
}

static void check_brigade(check_walk *w, const apr_bucket_brigade *bb)
{
    const apr_bucket *before = APR_BRIGADE_SENTINEL(bb), *e = APR_BRIGADE_FIRST(bb);

    w->list = bb->bucket_alloc;
    w->number = ++check_walks ? check_walks : ++check_walks;
    for (w->at = 0; e != APR_BRIGADE_SENTINEL(bb); before = e, e = APR_BUCKET_NEXT(e))
        if (!check_one(w, e, before))
            return;
    if (APR_BRIGADE_LAST(bb) != before)
        filter_check_say(w->c, FILTER_CHECK_FATAL,
                         "%s has a broken brigade: its last bucket is not the one before its end",
                         w->giver.text);
}

/* Buckets that were not taken may be passed again. */
static void check_left(const ap_filter_t *f, const apr_bucket_brigade *bb, apr_status_t rv)
{
    unsigned n = 0;

    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e), n++) {
        filter_check_block *b = filter_check_find(bb->bucket_alloc, e);

        if (b && b->receiver == f)
            b->receiver = NULL;
    }
    if (n && rv == APR_SUCCESS && !f->c->aborted)
        filter_check_say(
            f->c, FILTER_CHECK_REMARK,
            "filter %s%s%s returned success and left %u buckets in the brigade that it was passed",
            f->frec->name, filter_owner(f->frec) ? " of " : "",
            filter_owner(f->frec) ? filter_owner(f->frec) : "", n);
}

/* ---- calls ---- */

/* With the end of the request its filters go, and perhaps the brigade. */
static int check_ends_request(const apr_bucket_brigade *bb)
{
    for (const apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e))
        if (AP_BUCKET_IS_EOR(e))
            return 1;
    return 0;
}

void filter_check_given(ap_filter_t *f, apr_bucket_brigade *bb)
{
    check_walk w = {.f = f, .c = f->c, .giver = check_giver(), .passed = 1};

    check_brigade(&w, bb);
}

apr_status_t filter_check_pass(ap_filter_t *f, apr_bucket_brigade *bb)
{
    check_frame frame = {f, check_top};
    check_walk w = {.f = f, .c = f->c};
    int ends = check_ends_request(bb);
    apr_status_t rv;

    BRG_ASSERT(f && f->frec && f->frec->filter_func.out_func);
    check_top = &frame;
    rv = f->frec->filter_func.out_func(f, bb);
    w.giver = check_giver();
    check_top = frame.below;
    if (ends)
        return rv;
    check_brigade(&w, bb);
    check_left(f, bb, rv);
    return rv;
}

apr_status_t filter_check_get(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                              apr_read_type_e block, apr_off_t readbytes)
{
    check_walk w = {.f = f, .c = f->c, .giver = check_giver()};
    check_frame frame = {f, check_top};
    apr_status_t rv;

    BRG_ASSERT(f && f->frec);
    check_brigade(&w, bb);
    check_top = &frame;
    rv = f->frec->filter_func.in_func(f, bb, mode, block, readbytes);
    w.giver = check_giver();
    check_top = frame.below;
    check_brigade(&w, bb);
    return rv;
}

/* ---- end of a request ---- */

typedef struct check_rest {
    const void *r;
    const char *maker; /* of the blocks that are being counted */
    const char *told;  /* the names before this one were told */
    int n;
} check_rest;

static void check_rest_count(void *baton, filter_check_block *b)
{
    check_rest *rest = baton;

    if (b->r != rest->r || !b->maker || (rest->told && strcmp(b->maker, rest->told) <= 0))
        return;
    if (!rest->maker || strcmp(b->maker, rest->maker) < 0) {
        rest->maker = b->maker;
        rest->n = 0;
    }
    if (!strcmp(b->maker, rest->maker))
        rest->n++;
}

/* Requests to come may have the same address. */
static void check_rest_forget(void *baton, filter_check_block *b)
{
    if (b->r == baton)
        b->r = NULL;
}

int filter_check_request_end(apr_bucket_alloc_t *list, const void *r)
{
    check_rest rest = {.r = r};
    int sum = 0;

    for (;;) {
        rest.maker = NULL;
        filter_check_each(list, check_rest_count, &rest);
        if (!rest.maker)
            break;
        filter_check_say(NULL, FILTER_CHECK_FINDING,
                         "filter %s leaked: %d blocks of buckets that it made outlive its request",
                         rest.maker, rest.n);
        sum += rest.n;
        rest.told = rest.maker;
    }
    filter_check_each(list, check_rest_forget, (void *)r);
    return sum;
}

#endif
