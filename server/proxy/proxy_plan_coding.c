/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that compress, for plans: they tell what they go by while the request is made that a plan is made of
 * (brigade/content_coding.h; of Apache's files policy/coding.h tells it). An answer that they leave alone goes on; for any other the
 * request is made, and they are on its way. */
#include "exchange_direct_private.h"
#include "coding.h"
#include "http_fields.h"
#include "http_scan.h"
#include "util_filter.h"
#include "brigade/assert.h"
#include "brigade/content_coding.h"
#include <string.h>

#define CODING_STEPS 4   /* filters of a plan */
#define CODING_VALUE 256 /* bytes of a value that is looked at, with a NUL */

/* A copy of a field's value. */
typedef struct coding_value {
    char text[CODING_VALUE];
} coding_value;

static struct {
    APR_OPTIONAL_FN_TYPE(brg_coding_step_of) * step;
    APR_OPTIONAL_FN_TYPE(brg_coding_fate_of) * fate;
    APR_OPTIONAL_FN_TYPE(brg_filter_types) * types;
} coding_by;

void proxy_coding_retrieve(void)
{
    coding_by.step = APR_RETRIEVE_OPTIONAL_FN(brg_coding_step_of);
    coding_by.fate = APR_RETRIEVE_OPTIONAL_FN(brg_coding_fate_of);
    coding_by.types = APR_RETRIEVE_OPTIONAL_FN(brg_filter_types);
}

/* ---- of a plan ---- */

static int coding_step_of(const ap_filter_t *f, brg_coding_step *step)
{
    return coding_by.step && coding_by.fate && coding_by.step(f, step);
}

/* As of ours (compress_told.c): by its name the target may have a type already. */
static int coding_step_of_file(const ap_filter_t *f, brg_coding_step *step)
{
    const request_rec *r = f->r;
    const ap_filter_rec_t *frec;

    *step = (brg_coding_step){.coding = BRG_CODING_NONE};
    step->types = coding_by.types ? coding_by.types(f, r->pool, &frec) : NULL;
    return step->types && !(r->content_type && coding_has_type(step->types, r->content_type)) &&
           coding_of_file(r, frec, step);
}

/* Those of files stand behind ours: each of them decides for itself. */
static void coding_put(proxy_exchange *x, const brg_coding_step *step, int is_file)
{
    brg_coding_step *list;
    int at;

    if (!x->plan.coding)
        x->plan.coding = apr_array_make(x->pool, 2, sizeof *step);
    apr_array_push(x->plan.coding);
    list = (brg_coding_step *)(void *)x->plan.coding->elts;
    at = x->plan.coding->nelts - 1 - (is_file ? 0 : x->plan.coding_files);
    memmove(list + at + 1, list + at, (size_t)(x->plan.coding->nelts - 1 - at) * sizeof *list);
    list[at] = *step;
    x->plan.coding_files += is_file;
}

int proxy_coding_take(proxy_exchange *x, const ap_filter_t *f)
{
    brg_coding_step step;
    const int is_file = !coding_step_of(f, &step);

    if (is_file && !coding_step_of_file(f, &step))
        return 0;
    coding_put(x, &step, is_file);
    return x->plan.coding->nelts <= CODING_STEPS;
}

int proxy_coding_left(const proxy_exchange *x)
{
    for (const ap_filter_t *f = x->r->output_filters; f; f = f->next)
        if (f->frec->ftype < AP_FTYPE_PROTOCOL)
            return 0;
    return 1;
}

/* With the empty one behind them. */
static size_t coding_types_len(const char *types)
{
    const char *end = types;

    BRG_ASSERT(types);
    while (*end)
        end += strlen(end) + 1;
    return (size_t)(end + 1 - types);
}

size_t proxy_coding_bytes(const apr_array_header_t *steps)
{
    size_t bytes = 0;

    for (int i = 0; steps && i < steps->nelts; i++) {
        const brg_coding_step *step = &APR_ARRAY_IDX(steps, i, brg_coding_step);

        bytes += sizeof *step + coding_types_len(step->types);
    }
    return APR_ALIGN_DEFAULT(bytes);
}

void proxy_coding_copy(proxy_plan *p, const apr_array_header_t *steps, int files, char *to)
{
    brg_coding_step *step = (brg_coding_step *)(void *)to;

    BRG_ASSERT((uintptr_t)to % _Alignof(brg_coding_step) == 0);
    if (!steps)
        return;
    BRG_ASSERT(steps->nelts <= CODING_STEPS);
    p->coding = step;
    p->coding_n = (uint8_t)steps->nelts;
    p->coding_files = (uint8_t)files;
    to = (char *)(step + steps->nelts);
    for (int i = 0; i < steps->nelts; i++) {
        size_t len;

        step[i] = APR_ARRAY_IDX(steps, i, brg_coding_step);
        len = coding_types_len(step[i].types);
        step[i].types = memcpy(to, step[i].types, len);
        to += len;
    }
}

/* ---- an answer ---- */

/* @param to  [out] NULL: there is no such field @return 0: it is too long */
static int coding_text(const char **to, coding_value *room, const http_field *f)
{
    *to = NULL;
    if (!f)
        return 1;
    if (f->value_len >= sizeof room->text)
        return 0;
    memcpy(room->text, f->value, f->value_len);
    room->text[f->value_len] = '\0';
    *to = room->text;
    return 1;
}

/* The first of that name. */
static const http_field *coding_field(const direct_head *d, const char *name, size_t len)
{
    for (int i = 0; i < d->n; i++)
        if (http_field_is(d->field[i], name, len))
            return d->field[i];
    for (int i = 0; i < d->last_n; i++)
        if (http_field_is(&d->last[i], name, len))
            return &d->last[i];
    return NULL;
}

static const http_field *coding_sent(const http_head *head, const char *name, size_t len)
{
    for (int i = 0; i < head->n_fields; i++)
        if (http_field_is(&head->field[i], name, len))
            return &head->field[i];
    return NULL;
}

/* A chunk of one byte takes six. */
static apr_off_t coding_least(const proxy_ahead *a, const direct_head *d)
{
    const apr_size_t here = upstream_in_size(a->x.cc), head = d->head->head_len;

    if (a->plan->script_head || a->x.h1.end == H1_BODY_LENGTH)
        return (apr_off_t)d->head->content_length;
    return here > head ? (apr_off_t)(here - head) / 8 : 0;
}

static brg_coding_fate coding_fate(const proxy_plan *p, const brg_coding_asked *asked)
{
    const int ours = p->coding_n - p->coding_files;
    brg_coding_fate fate = ours ? coding_by.fate(p->coding, ours, asked) : BRG_CODING_LEAVES;

    BRG_ASSERT(ours >= 0);
    for (int i = ours; i < p->coding_n; i++) {
        const brg_coding_fate one = coding_file_fate(p->coding + i, asked);

        fate = one > fate ? one : fate; /* in the order of brg_coding_fate */
    }
    return fate;
}

/* With what the request says of it. @return BRG_CODING_COMPRESSES: it has to be made */
static brg_coding_fate coding_ask_request(proxy_ahead *a, brg_coding_asked *asked)
{
    const http_head *head = h1_ahead_head(a->bc);
    coding_value accept, authorization;

    asked->knows_request = 1;
    if (!coding_text(&asked->accept, &accept, coding_sent(head, "Accept-Encoding", 15)) ||
        !coding_text(&asked->authorization, &authorization, coding_sent(head, "Authorization", 13)))
        return BRG_CODING_COMPRESSES;
    return coding_fate(a->plan, asked);
}

/* A list is written anew, and a part of a body goes as it is. @return 0: the filters see to that */
static int coding_name(direct_head *d)
{
    static const char name[] = "Vary", value[] = "Accept-Encoding";

    if (coding_field(d, name, sizeof name - 1) || coding_field(d, "Content-Range", 13))
        return 0;
    *direct_make(d) = direct_field(name, sizeof name - 1, value, sizeof value - 1);
    d->more += sizeof name + sizeof value;
    return 1;
}

int direct_code(proxy_ahead *a, direct_head *d)
{
    coding_value type, coding, control, vary;
    brg_coding_asked asked = {.status = d->head->code, .least = coding_least(a, d)};
    brg_coding_fate fate;

    BRG_ASSERT(a->plan->coding_n && a->plan->coding_n <= CODING_STEPS);
    if (!coding_text(&asked.type, &type, coding_field(d, "Content-Type", 12)) ||
        !coding_text(&asked.coding, &coding, coding_field(d, "Content-Encoding", 16)) ||
        !coding_text(&asked.control, &control, coding_field(d, "Cache-Control", 13)) ||
        !coding_text(&asked.vary, &vary, coding_field(d, "Vary", 4)))
        return 0;
    fate = coding_fate(a->plan, &asked);
    if (fate == BRG_CODING_ASKS)
        fate = coding_ask_request(a, &asked);
    return fate == BRG_CODING_LEAVES || (fate == BRG_CODING_NAMES && coding_name(d));
}
