/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that compress, for plans: they tell what they go by while the request is made that a plan is made of
 * (brigade/content_coding.h; of Apache's files policy/coding.h tells it). An answer that they leave alone goes on; for any other the
 * request is made, and they are on its way. */
#include "exchange_direct_private.h"
#include "coding.h"
#include "http_fields.h"
#include "http_scan.h"
#include "util_char.h"
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

/* As of ours (compress_told.c). */
static int coding_step_of_file(const ap_filter_t *f, brg_coding_step *step)
{
    const ap_filter_rec_t *frec = f->frec;

    *step = (brg_coding_step){.coding = BRG_CODING_NONE};
    if (frec->providers &&
        (!coding_by.types || !(step->types = coding_by.types(f, f->r->pool, &frec))))
        return 0;
    return coding_of_file(f->r, frec, step);
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

/* With the empty one behind them. */
static size_t coding_types_len(const char *types)
{
    const char *end = types;

    if (!types)
        return 0;
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
        step[i].types = len ? memcpy(to, step[i].types, len) : NULL;
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
static http_field *coding_field(direct_head *d, const char *name, size_t len)
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

/* The size that stands in front of the first chunk; 0: it is not here. */
static apr_off_t coding_first_chunk(const char *at, const char *end)
{
    apr_off_t size = 0;

    for (int i = 0; at < end && i < 7 && http_is(*at, HTTP_C_HEX); i++, at++)
        size = size << 4 | (apr_off_t)util_hex_value(*at);
    return at < end && *at == '\r' ? size : 0;
}

/* FastCGI tells by its records how much is here. */
static apr_off_t coding_least(const proxy_ahead *a, const direct_head *d)
{
    const upstream_conn *cc = a->x.cc;
    const uint32_t here = upstream_in_size(cc), head = d->head->head_len;

    if (a->x.h1.end == H1_BODY_LENGTH || (a->plan->script_head && a->x.h1.end == H1_BODY_CHUNKED))
        return (apr_off_t)d->head->content_length;
    if (here < head)
        return 0;
    return a->x.h1.end == H1_BODY_CHUNKED
               ? coding_first_chunk(upstream_in(cc) + head, upstream_in(cc) + here)
               : (apr_off_t)(here - head);
}

/* A script's length is told by the records that are here. */
static int coding_is_all(const proxy_ahead *a, const direct_head *d)
{
    const apr_size_t here = upstream_in_size(a->x.cc), head = d->head->head_len;

    return a->x.h1.end == H1_BODY_LENGTH &&
           (a->plan->script_head || here >= head + d->head->content_length);
}

/* @param by  [out] the step that compresses */
static brg_coding_fate coding_fate(const proxy_plan *p, const brg_coding_asked *asked,
                                   const brg_coding_step **by)
{
    const int ours = p->coding_n - p->coding_files;
    int n = 0;
    brg_coding_fate fate = ours ? coding_by.fate(p->coding, ours, asked, &n) : BRG_CODING_LEAVES;

    BRG_ASSERT(ours >= 0);
    *by = p->coding + n;
    for (int i = ours; i < p->coding_n; i++) {
        const brg_coding_fate one = coding_file_fate(p->coding + i, asked);

        if (fate == BRG_CODING_COMPRESSES && one == fate) {
            if (*by < p->coding + ours) /* whose turn is first is not known */
                return BRG_CODING_UNKNOWN;
            continue;
        }
        if (one > fate) /* in the order of brg_coding_fate */
            *by = p->coding + i;
        fate = one > fate ? one : fate;
    }
    return fate;
}

/* With what the request says of it. @return BRG_CODING_UNKNOWN: it has to be made */
static brg_coding_fate coding_ask_request(proxy_ahead *a, brg_coding_asked *asked,
                                          const brg_coding_step **by)
{
    const http_head *head = h1_ahead_head(a->bc);
    coding_value accept, authorization;

    asked->knows_request = 1;
    if (!coding_text(&asked->accept, &accept, coding_sent(head, "Accept-Encoding", 15)) ||
        !coding_text(&asked->authorization, &authorization, coding_sent(head, "Authorization", 13)))
        return BRG_CODING_UNKNOWN;
    return coding_fate(a->plan, asked, by);
}

static void coding_put_field(direct_head *d, const char *name, const char *value)
{
    *direct_make(d) = direct_field(name, (uint32_t)strlen(name), value, strlen(value));
    d->more += strlen(name) + strlen(value) + 4;
}

static void coding_set(direct_head *d, http_field *f, const char *value, size_t len)
{
    f->value = value;
    f->value_len = (uint32_t)len;
    d->more += len;
}

/* A part of a body goes as it is, and by a Vary that filters of files have changed ours would go. @return 0: the filters see to that */
static int coding_name(const proxy_plan *p, direct_head *d)
{
    static const char value[] = "Accept-Encoding";
    const size_t len = sizeof value - 1;
    http_field *f = coding_field(d, "Vary", 4);

    if (coding_field(d, "Content-Range", 13) ||
        (f && p->coding_files && p->coding_files < p->coding_n))
        return 0;
    if (!f) {
        coding_put_field(d, "Vary", value);
        return 1;
    }
    if (f->value_len == len && http_same(f->value, "accept-encoding", len))
        return 1;
    if (f->value_len + len + 2 > sizeof d->vary)
        return 0;
    memcpy(d->vary, f->value, f->value_len);
    d->vary[f->value_len] = ',';
    memcpy(d->vary + f->value_len + 1, value, len);
    coding_set(d, f, d->vary, f->value_len + 1 + len);
    return 1;
}

/* ---- its head when it is compressed ---- */

static void coding_drop(direct_head *d, const char *name, size_t len)
{
    int n = d->always_n;

    for (int i = n; i < d->n; i++)
        if (!http_field_is(d->field[i], name, len))
            d->field[n++] = d->field[i];
    d->n = n;
    for (int i = n = 0; i < d->last_n; i++)
        if (!http_field_is(&d->last[i], name, len))
            d->last[n++] = d->last[i];
    d->last_n = n;
}

/* @return 0: it is too long */
static int coding_tag(direct_head *d, const brg_coding_step *step)
{
    http_field *f = coding_field(d, "ETag", 4);
    const size_t more = strlen(step->suffix);

    BRG_ASSERT(step->tag_least > 0);
    if (step->tag == BRG_CODING_TAG_REMOVE)
        coding_drop(d, "ETag", 4);
    if (!f || step->tag != BRG_CODING_TAG_SUFFIX || f->value_len < step->tag_least ||
        f->value[f->value_len - 1] != '"')
        return 1;
    if (f->value_len + more > sizeof d->tag)
        return 0;
    memcpy(d->tag, f->value, f->value_len - 1);
    memcpy(d->tag + f->value_len - 1, step->suffix, more);
    d->tag[f->value_len - 1 + more] = '"';
    coding_set(d, f, d->tag, f->value_len + more);
    return 1;
}

/* The length of the body, as far as it is known before the body is there. */
static apr_off_t coding_length(const proxy_ahead *a, const direct_head *d)
{
    return a->x.h1.end == H1_BODY_LENGTH ? (apr_off_t)d->head->content_length : -1;
}

/* Clients of HTTP/1.0 know no chunks. @return 0: the filters do it */
static int coding_compress(proxy_ahead *a, direct_head *d, const brg_coding_step *step)
{
    if ((!a->bc->master && !a->base.minor) || coding_field(d, "Content-Encoding", 16) ||
        !coding_name(a->plan, d) || !coding_tag(d, step))
        return 0;
    coding_put_field(d, "Content-Encoding", brg_coding_name(step->coding));
    coding_drop(d, "Content-Length", 14);
    coding_drop(d, "Content-MD5", 11);
    return direct_coded_begin(a, step, coding_length(a, d));
}

int direct_code(proxy_ahead *a, direct_head *d)
{
    coding_value type, coding, control, vary;
    brg_coding_asked asked = {
        .status = d->head->code, .least = coding_least(a, d), .is_all = coding_is_all(a, d)};
    const brg_coding_step *by;
    brg_coding_fate fate;

    BRG_ASSERT(a->plan->coding_n && a->plan->coding_n <= CODING_STEPS);
    if (!coding_text(&asked.type, &type, coding_field(d, "Content-Type", 12)) ||
        !coding_text(&asked.coding, &coding, coding_field(d, "Content-Encoding", 16)) ||
        !coding_text(&asked.control, &control, coding_field(d, "Cache-Control", 13)) ||
        !coding_text(&asked.vary, &vary, coding_field(d, "Vary", 4)))
        return 0;
    fate = coding_fate(a->plan, &asked, &by);
    if (fate == BRG_CODING_ASKS)
        fate = coding_ask_request(a, &asked, &by);
    if (fate == BRG_CODING_COMPRESSES)
        return coding_compress(a, d, by);
    return fate == BRG_CODING_LEAVES || (fate == BRG_CODING_NAMES && coding_name(a->plan, d));
}
