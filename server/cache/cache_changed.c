/* SPDX-License-Identifier: Apache-2.0 */
/* Request fields that modules changed, as RequestHeader does. Entries are looked up by the fields
 * that clients send, so a field that a later phase read counts by its original value; and fields
 * that the sender from memory reads itself must not be changed. */
#include "cache_fill_private.h"
#include "cache_plan.h"
#include "cache_vary_private.h"
#include "request_context.h"
#include "stock_policy.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

/* A field that was changed. */
typedef struct changed_field {
    const char *name;
    const char *sent; /* the client's value, or NULL */
    int how;          /* bits, 1 << brg_field_change */
} changed_field;

/* Fields that the sender from memory reads, and facts of the connection. */
static const char *const changed_by_core[] = {"Range",
                                              "Request-Range",
                                              "If-Range",
                                              "If-Match",
                                              "If-None-Match",
                                              "If-Modified-Since",
                                              "If-Unmodified-Since",
                                              "Connection",
                                              "Keep-Alive",
                                              "Transfer-Encoding",
                                              "Content-Length",
                                              "Expect",
                                              "Upgrade",
                                              "Host",
                                              "TE",
                                              NULL};

static apr_array_header_t *changed_list(const request_rec *r)
{
    apr_array_header_t **list = request_changed_fields(cache_vary_first(r));

    return list ? *list : NULL;
}

static changed_field *changed_find(const apr_array_header_t *list, const char *name)
{
    changed_field *f = list ? (changed_field *)(void *)list->elts : NULL;

    BRG_ASSERT(!list || list->elt_size == (int)sizeof *f);
    for (int i = 0; f && i < list->nelts; i++)
        if (!strcasecmp(f[i].name, name))
            return &f[i];
    return NULL;
}

BRG_DECLARE(void)
brg_cache_field_changed(request_rec *r, const char *name, brg_field_change how)
{
    const request_rec *first = cache_vary_first(r);
    apr_array_header_t **list = request_changed_fields(first);
    changed_field *f;

    if (!list) {
        request_mark_volatile(r, "core.c", "it was made by a module");
        return;
    }
    if (!*list)
        *list = apr_array_make(first->pool, 2, sizeof(changed_field));
    if (!(f = changed_find(*list, name))) {
        const char *sent = apr_table_get(r->headers_in, name);

        f = apr_array_push(*list);
        *f = (changed_field){.name = apr_pstrdup(first->pool, name),
                             .sent = sent ? apr_pstrdup(first->pool, sent) : NULL};
    }
    f->how |= 1 << how;
}

int cache_any_changed(const request_rec *r)
{
    return changed_list(r) != NULL;
}

void cache_changes_vary(request_rec *r)
{
    const apr_array_header_t *list = changed_list(r);

    for (int i = 0; list && i < list->nelts; i++) {
        const changed_field *f = &APR_ARRAY_IDX(list, i, changed_field);

        if (f->how & (1 << BRG_FIELD_EDITED | 1 << BRG_FIELD_ADDED))
            brg_cache_vary(r, f->name, NULL, NULL);
    }
}

const char *cache_plan_changes(const request_rec *r, int i)
{
    const apr_array_header_t *list = changed_list(r);

    return list && i < list->nelts ? APR_ARRAY_IDX(list, i, changed_field).name : NULL;
}

int cache_plan_moves(const request_rec *r, int i)
{
    const changed_field *f = &APR_ARRAY_IDX(changed_list(r), i, changed_field);

    return f->sent && f->how & 1 << BRG_FIELD_EDITED;
}

const char *cache_field_sent(const request_rec *r, const char *name)
{
    const changed_field *f = changed_find(changed_list(r), name);

    return f ? f->sent : apr_table_get(r->headers_in, name);
}

/* ---- of a request whose answer may be stored ---- */

static int changed_absent(const void *unused, const char *value, apr_size_t len)
{
    return value ? -1 : 0;
}

static int changed_is_of_core(const char *name)
{
    for (const char *const *of = changed_by_core; *of; of++)
        if (!strcasecmp(name, *of))
            return 1;
    return 0;
}

/* Nothing happens to a request without the field. */
static int changed_if_there(const changed_field *f)
{
    return !(f->how & ~(1 << BRG_FIELD_REMOVED | 1 << BRG_FIELD_EDITED));
}

static int changed_is_known(const changed_field *f)
{
    return !(f->how & 1 << BRG_FIELD_UNKNOWN);
}

int cache_changes_are_known(const request_rec *r)
{
    const apr_array_header_t *list = changed_list(r);

    for (int i = 0; list && i < list->nelts; i++) {
        const changed_field *f = &APR_ARRAY_IDX(list, i, changed_field);

        if (!changed_is_known(f) || (changed_is_of_core(f->name) && !changed_if_there(f)))
            return 0;
    }
    return 1;
}

/* A module may have read either value: each value that clients send has an answer of its own.
 * @return 1 if somebody did */
static int changed_by_value(apr_array_header_t *wishes, const changed_field *f)
{
    int read = 0;

    for (int i = 0; wishes && i < wishes->nelts; i++) {
        vary_wish *wish = &APR_ARRAY_IDX(wishes, i, vary_wish);

        if (!wish->name || wish->kind == changed_absent || strcasecmp(wish->name, f->name) != 0)
            continue;
        if (wish->users)
            return -1;
        wish->kind = NULL;
        wish->data = NULL;
        read = 1;
    }
    return read;
}

/* @return NULL, or why the answer is not to be stored */
static const char *changed_settle(request_rec *r, const changed_field *f)
{
    apr_array_header_t **wishes = request_vary_fields(cache_vary_first(r));
    const int read = wishes ? changed_by_value(*wishes, f) : -1;

    if (read < 0 || (read && !changed_is_known(f)))
        return "a request field was changed that the answer depends on";
    if (changed_is_of_core(f->name)) {
        if (!changed_if_there(f))
            return "a request field was set that says what is answered, or how";
        brg_cache_vary(r, f->name, changed_absent, NULL);
    } else if (changed_fields_are_shown(f->name)) {
        if (!changed_is_known(f))
            return "a request field that a log shows was given a value of its own";
        if (!read && f->how & (1 << BRG_FIELD_EDITED | 1 << BRG_FIELD_ADDED))
            brg_cache_vary(r, f->name, changed_absent, NULL);
    }
    return NULL;
}

int cache_changes_settle(request_rec *r, policy_reason *reason)
{
    const apr_array_header_t *list = changed_list(r);

    for (int i = 0; list && i < list->nelts; i++) {
        const char *why = changed_settle(r, &APR_ARRAY_IDX(list, i, changed_field));

        if (why) {
            *reason = (policy_reason){"mod_headers.c", why, CACHE_REFUSED_NOT};
            return -1;
        }
    }
    return 0;
}

int cache_fields_changed(const request_rec *r, const char **names, int most)
{
    const apr_array_header_t *list = changed_list(r);
    int n = 0;

    for (int i = 0; list && i < list->nelts && n < most; i++) {
        const changed_field *f = &APR_ARRAY_IDX(list, i, changed_field);

        if (changed_fields_are_shown(f->name))
            names[n++] = f->name;
    }
    BRG_ASSERT(n <= most);
    return n;
}
