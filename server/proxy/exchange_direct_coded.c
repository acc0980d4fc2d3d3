/* SPDX-License-Identifier: Apache-2.0 */
/* A coder between an answer without a request_rec and its sink: what filters that compress would make of it (proxy_plan_coding.c). They
 * are told by a brg_coding_step which pieces they would pass on, since the length of all is told only of an answer that was not begun
 * before its end. */
#include "exchange_direct_private.h"
#include "exchange_private.h"
#include "loop.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include "http_log.h"
#include <stdlib.h>

APLOG_USE_MODULE(proxy);

/* A script writes its page in pieces of 8 KiB, and the last one with its end, about a millisecond behind the others; where processors are
 * wanted by many, all takes longer by the same factor. */
#define CODED_WAIT_LEAST_US 10000
#define CODED_WAIT_MOST_US 50000
#define CODED_WAIT_SHARE 8     /* of the time that the head took */
#define CODED_FEW (32 * 1024)  /* bytes of a body for which a coder of gzip needs less memory */
#define CODED_MUCH (64 * 1024) /* of output that waits for the end */
#define CODED_HEAD 10 /* bytes in front of a gzip body, which are in no piece of Apache's */

struct direct_coded {
    brg_coder *coder; /* NULL: it waits for the length */
    brg_coder_settings settings;
    apr_bucket_brigade in; /* meanwhile: what came of the body */
    proxy_exchange *x;
    struct loop_alarm alarm; /* while what is here waits for more; due is 0 before */
    apr_bucket_brigade out;  /* full pieces; without memory of its own */
    char *piece;             /* malloc(), of room bytes; NULL */
    apr_size_t room, used;
    apr_size_t size; /* of pieces behind the first */
    apr_size_t held; /* bytes in out */
    uint8_t passes;  /* a brg_coding_passes */
    uint8_t full;    /* a piece is: more input passes it on */
    uint8_t early;   /* some of the answer would have gone on before its end */
    uint8_t waits;   /* alarm is the loop's */
};

/* ---- the wait ---- */

static void coded_waits_no_more(struct direct_coded *c)
{
    if (!c->waits)
        return;
    BRG_ASSERT(loop_self() == c->x->loop);
    loop_alarm_remove(c->x->loop, &c->alarm);
    c->waits = 0;
}

static void coded_waited(struct loop_alarm *alarm)
{
    struct direct_coded *c = loop_io_of(alarm, struct direct_coded, alarm);

    BRG_ASSERT(c->waits);
    coded_waits_no_more(c);
    exchange_told(c->x);
}

static apr_interval_time_t coded_patience(const struct direct_coded *c)
{
    const apr_interval_time_t share = c->x->told.waited / CODED_WAIT_SHARE;

    return share < CODED_WAIT_LEAST_US  ? CODED_WAIT_LEAST_US
           : share > CODED_WAIT_MOST_US ? CODED_WAIT_MOST_US
                                        : share;
}

/* Nothing more is here. What leaves alone costs a flush of the coder, a write, and the length of all: it waits for more, once for an answer,
 * and for a time that its client does not notice. */
static int coded_waits(struct direct_coded *c)
{
    brg_loop *loop = c->x->loop;

    if (!c->alarm.due) {
        c->alarm =
            (struct loop_alarm){.due = loop->monotonic + coded_patience(c), .run = coded_waited};
        c->waits = 1;
        loop_alarm_add(loop, &c->alarm);
    }
    return c->waits;
}

/* ---- the coder ---- */

int direct_coded_begin(proxy_ahead *a, const brg_coding_step *step, apr_off_t length)
{
    const int waits = length < 0 && step->coder.coding == BRG_CODING_GZIP;
    struct direct_coded *c = calloc(1, sizeof *c);

    BRG_ASSERT(step->is_told && step->piece && !a->coded);
    if (c) {
        c->settings = step->coder;
        c->settings.length = length;
    }
    if (!c || (!waits && !(c->coder = brg_coder_begin(&c->settings)))) {
        free(c);
        return 0;
    }
    exchange_brigade(&a->x, &c->in);
    exchange_brigade(&a->x, &c->out);
    c->size = step->piece;
    c->room = c->size + (step->passes == BRG_CODING_PASSES_FULL ? CODED_HEAD : 0);
    c->passes = step->passes;
    c->x = &a->x;
    a->coded = c;
    return 1;
}

void direct_coded_end(proxy_ahead *a)
{
    struct direct_coded *c = a->coded;

    BRG_ASSERT(c && c->x == &a->x);
    coded_waits_no_more(c);
    apr_brigade_cleanup(&c->in);
    apr_brigade_cleanup(&c->out);
    if (c->coder)
        brg_coder_end(c->coder);
    free(c->piece);
    free(c);
    a->coded = NULL;
}

int direct_coded_is_early(const proxy_ahead *a)
{
    return a->coded && a->coded->early;
}

static void coded_end_piece(proxy_exchange *x, struct direct_coded *c)
{
    if (!c->piece)
        return;
    BRG_ASSERT(c->used <= c->room);
    if (c->used)
        APR_BRIGADE_INSERT_TAIL(&c->out, apr_bucket_heap_create(c->piece, c->used, free, x->alloc));
    else
        free(c->piece);
    c->held += c->used;
    c->piece = NULL;
    c->used = 0;
    c->room = c->size;
}

/* One step into the piece. @return its result; BRG_CODER_FAILED: or no memory */
static brg_coder_result coded_step(proxy_exchange *x, struct direct_coded *c, brg_coder_io *io,
                                   brg_coder_op op)
{
    brg_coder_result result;

    if (!c->piece && !(c->piece = malloc(c->room)))
        return BRG_CODER_FAILED;
    io->out = (unsigned char *)c->piece + c->used;
    io->out_room = c->room - c->used;
    result = brg_coder_step(c->coder, io, op);
    c->early |= c->passes == BRG_CODING_PASSES_ANY && op == BRG_CODER_RUN &&
                c->used < c->room - io->out_room;
    c->used = c->room - io->out_room;
    c->full |= op == BRG_CODER_RUN && !io->out_room;
    if (!io->out_room)
        coded_end_piece(x, c);
    c->early |= c->passes == BRG_CODING_PASSES_MUCH && c->held >= CODED_MUCH;
    return result;
}

/* @return 0: it failed */
static int coded_run(proxy_exchange *x, struct direct_coded *c, const char *data, apr_size_t len,
                     brg_coder_op op)
{
    brg_coder_io io = {.in = (const unsigned char *)data, .in_len = len};
    brg_coder_result result = BRG_CODER_MORE;

    while (result == BRG_CODER_MORE) {
        c->early |= c->passes == BRG_CODING_PASSES_FULL && c->full && io.in_len;
        result = coded_step(x, c, &io, op);
    }
    return result == BRG_CODER_DONE;
}

static void coded_keep(proxy_exchange *x, struct direct_coded *c)
{
    if (x->answer.lent)
        APR_BRIGADE_INSERT_TAIL(
            x->in, apr_bucket_heap_create(upstream_in(x->cc), x->answer.lent, NULL, x->alloc));
    x->answer.behind += x->answer.lent;
    x->answer.lent = 0;
    APR_BRIGADE_CONCAT(&c->in, x->in);
    x->answer.keeps = 1;
}

/* A coder for a page of some KiB has less memory to clear, and works in less, if it knows the length: where that is to be known in a moment,
 * it begins then. @return 0: not yet; -1: no memory */
static int coded_starts(proxy_exchange *x, struct direct_coded *c)
{
    apr_off_t n = 0;

    BRG_ASSERT(!c->coder && APR_BRIGADE_EMPTY(&c->out));
    APR_BRIGADE_PREPEND(x->in, &c->in);
    (void)apr_brigade_length(x->in, 1, &n);
    n += x->answer.lent;
    if (!x->answer.complete && !x->answer.breaks && n < CODED_FEW &&
        (exchange_has_more(x) || coded_waits(c))) {
        coded_keep(x, c);
        return 0;
    }
    c->settings.length = x->answer.complete ? n : -1;
    return (c->coder = brg_coder_begin(&c->settings)) ? 1 : -1;
}

/* What came of the body. @return 0: it failed */
static int coded_take(proxy_exchange *x, struct direct_coded *c)
{
    while (!APR_BRIGADE_EMPTY(x->in)) {
        apr_bucket *e = APR_BRIGADE_FIRST(x->in);
        const char *data;
        apr_size_t len;

        if (apr_bucket_read(e, &data, &len, APR_BLOCK_READ) != APR_SUCCESS ||
            (len && !coded_run(x, c, data, len, BRG_CODER_RUN)))
            return 0;
        apr_bucket_delete(e);
    }
    if (x->answer.lent && !coded_run(x, c, upstream_in(x->cc), x->answer.lent, BRG_CODER_RUN))
        return 0;
    x->answer.behind += x->answer.lent; /* nobody reads it once more */
    x->answer.lent = 0;
    return 1;
}

/* A client waits for each piece of a slow answer. */
static int coded_flush(proxy_exchange *x, struct direct_coded *c)
{
    const int over = x->answer.complete;

    x->answer.keeps = !over && !x->answer.breaks && (exchange_has_more(x) || coded_waits(c));
    if (x->answer.keeps)
        return 1;
    coded_waits_no_more(c);
    c->early |= !over;
    if (!coded_run(x, c, NULL, 0, over ? BRG_CODER_FINISH : BRG_CODER_FLUSH))
        return 0;
    coded_end_piece(x, c);
    return 1;
}

int direct_coded_pass(proxy_exchange *x)
{
    struct direct_coded *c = direct_of(x)->coded;
    int starts;

    BRG_ASSERT(c && x->answer.begun && x->in->bucket_alloc == x->alloc);
    starts = c->coder ? 1 : coded_starts(x, c);
    if (!starts)
        return 0;
    if (starts < 0 || !coded_take(x, c) || !coded_flush(x, c)) {
        exchange_log(APLOG_MARK, APLOG_ERR, APR_ENOMEM, x,
                     "the answer cannot be compressed, and is cut off");
        return -1;
    }
    if (!x->answer.complete && !c->early)
        return 0;
    APR_BRIGADE_CONCAT(x->in, &c->out);
    c->held = 0;
    return x->answer.complete || !APR_BRIGADE_EMPTY(x->in) || !x->answer.keeps;
}
