/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a line is made: of a format, all text between two items is one piece, and so are items that always write the
 * same. A busy server writes as many lines as it sends answers.
 */
#include "log_config_private.h"
#include "brigade/assert.h"

#define PLAN_PIECE 16 /* bytes that are copied at once */

/* Text, and the item behind it. */
typedef struct log_step {
    const char *text; /* PLAN_PIECE bytes can be read */
    apr_size_t text_len;
    const log_item *item; /* NULL: the line ends */
    int is_plain;         /* it writes its value as it is, whatever the status */
} log_step;

struct log_plan {
    int n;
    log_step step[];
};

/* A constant item's text, or NULL. */
static const char *plan_constant(const log_item *item, int idents, apr_size_t *len)
{
    const int is_dash = item->emit == log_emit_logname && !idents;

    if (item->json || (!is_dash && item->emit != log_emit_literal))
        return NULL;
    *len = is_dash ? 1 : item->arg_len;
    return is_dash ? "-" : item->arg;
}

log_plan *log_plan_make(apr_pool_t *p, const apr_array_header_t *format, int idents)
{
    const log_item *item = (const log_item *)format->elts, *end = item + format->nelts;
    log_plan *plan = apr_palloc(p, sizeof *plan + (size_t)format->nelts * sizeof *plan->step);
    apr_size_t room = PLAN_PIECE, len;
    const char *text;
    char *to;

    for (const log_item *i = item; i < end; i++)
        if ((text = plan_constant(i, idents, &len)))
            room += len;
    to = apr_pcalloc(p, room);
    plan->n = 0;
    for (log_step *step = plan->step; item < end; step = plan->step + ++plan->n) {
        *step = (log_step){.text = to};
        for (; item < end && (text = plan_constant(item, idents, &len)); item++, to += len)
            memcpy(to, text, len);
        step->text_len = (apr_size_t)(to - step->text);
        if (item < end) {
            step->is_plain = !item->statuses && !item->json;
            step->item = item++;
        }
    }
    BRG_ASSERT(plan->n <= format->nelts);
    return plan;
}

static void plan_text(log_out *out, const log_step *step)
{
    if (step->text_len > PLAN_PIECE) {
        log_out_bytes(out, step->text, step->text_len);
    } else if (log_out_reserve(out, PLAN_PIECE)) {
        memcpy(out->data + out->used, step->text, PLAN_PIECE);
        out->used += step->text_len;
    }
}

void log_plan_emit(log_out *out, const log_plan *plan, log_entry *entry)
{
    for (const log_step *step = plan->step, *end = step + plan->n; step < end; step++) {
        const log_item *item = step->item;
        apr_size_t from;

        plan_text(out, step);
        if (!item)
            break;
        from = out->used;
        if (step->is_plain || log_item_applies(item, entry->last->status))
            item->emit(out, item->want_first ? entry->first : entry->last, item, entry);
        else
            log_out_dash(out);
        if (item->json)
            log_json_end(out, from, item);
    }
}
