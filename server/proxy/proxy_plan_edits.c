/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of answers that mod_headers changes, for plans: the rules' edits are told by the request that the plan is made of
 * (brigade/head_edits.h), and done to heads without tables. Fields lie in the order of these: err_headers_out, headers_out. */
#include "exchange_direct_private.h"
#include "http_field_traits.h"
#include "http_fields.h"
#include "http_scan.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/head_edits.h"
#include "util_filter.h"
#include <string.h>

struct proxy_edit {
    brg_head_edit edit;
    uint32_t name_len, value_len;
};

static struct {
    const ap_filter_rec_t *filter; /* NULL: mod_headers is not there, or Apache's file */
    APR_OPTIONAL_FN_TYPE(brg_head_edits) * of;
    APR_OPTIONAL_FN_TYPE(brg_head_edited) * edited;
    APR_OPTIONAL_FN_TYPE(brg_head_lists) * lists;
    APR_OPTIONAL_FN_TYPE(brg_head_value) * value;
} edits_by;

void proxy_edits_retrieve(void)
{
    edits_by.of = APR_RETRIEVE_OPTIONAL_FN(brg_head_edits);
    edits_by.edited = APR_RETRIEVE_OPTIONAL_FN(brg_head_edited);
    edits_by.lists = APR_RETRIEVE_OPTIONAL_FN(brg_head_lists);
    edits_by.value = APR_RETRIEVE_OPTIONAL_FN(brg_head_value);
    edits_by.filter = edits_by.of && edits_by.edited && edits_by.lists && edits_by.value
                          ? ap_get_output_filter_handle("FIXUP_HEADERS_OUT")
                          : NULL;
}

int proxy_edits_filter(const ap_filter_rec_t *filter)
{
    return edits_by.filter && filter == edits_by.filter;
}

/* ---- of a plan ---- */

/* Fields of which more depends than their text. */
static int edit_is_plain(const brg_head_edit *e, int script_head)
{
    static const char *const others[] = {"Date",
                                         "Content-Type",
                                         "Content-Length",
                                         "Accept-Ranges",
                                         "Content-Encoding",
                                         "Content-Language",
                                         "Content-Range",
                                         NULL};

    for (const char *const *name = others; *name; name++)
        if (!strcasecmp(e->name, *name))
            return 0;
    if (!strcasecmp(e->name, "Server")) /* there is one at most, in front of the others */
        return e->action == BRG_HEAD_UNSET ||
               (e->action == BRG_HEAD_SET && e->always == script_head);
    return !http_field_traits_of(e->name, strlen(e->name), HTTP_FIELD_HOP_BY_HOP);
}

static int edit_is_sendable(const brg_head_edit *e)
{
    return e->regex ||
           (http_is_token(e->name, strlen(e->name)) && http_is_value(e->value, strlen(e->value)));
}

const apr_array_header_t *proxy_edits_of(request_rec *r, int script_head)
{
    const apr_array_header_t *edits;

    BRG_ASSERT(edits_by.filter && edits_by.of);
    edits = edits_by.of(r);
    if (!edits || edits->nelts > PROXY_EDITS_MOST)
        return NULL;
    for (int i = 0; i < edits->nelts; i++) {
        const brg_head_edit *e = &APR_ARRAY_IDX(edits, i, brg_head_edit);

        if (!edit_is_plain(e, script_head) || !edit_is_sendable(e))
            return NULL;
    }
    return edits;
}

size_t proxy_edits_bytes(const apr_array_header_t *edits)
{
    size_t bytes = 0;

    for (int i = 0; edits && i < edits->nelts; i++) {
        const brg_head_edit *e = &APR_ARRAY_IDX(edits, i, brg_head_edit);

        bytes += sizeof(proxy_edit) + strlen(e->name) + strlen(e->value) + 2;
    }
    return APR_ALIGN_DEFAULT(bytes);
}

void proxy_edits_copy(proxy_plan *p, const apr_array_header_t *edits, char *to)
{
    proxy_edit *edit = (proxy_edit *)(void *)to;

    BRG_ASSERT(!p->edit && !p->edits_n);
    if (!edits)
        return;
    BRG_ASSERT(edits->nelts <= PROXY_EDITS_MOST);
    BRG_ASSERT((uintptr_t)to % _Alignof(proxy_edit) == 0);
    p->edit = edit;
    p->edits_n = (uint8_t)edits->nelts;
    to = (char *)(edit + edits->nelts);
    for (int i = 0; i < edits->nelts; i++) {
        proxy_edit *e = &edit[i];

        e->edit = APR_ARRAY_IDX(edits, i, brg_head_edit);
        e->name_len = (uint32_t)strlen(e->edit.name);
        e->value_len = (uint32_t)strlen(e->edit.value);
        e->edit.name = memcpy(to, e->edit.name, e->name_len + 1);
        to += e->name_len + 1;
        e->edit.value = memcpy(to, e->edit.value, e->value_len + 1);
        to += e->value_len + 1;
    }
}

/* ---- done to a head ---- */

/* The fields of one table stand from number @a from on, before @a to. */
typedef struct edit_table {
    direct_head *d;
    proxy_exchange *x;
    int from, to;
} edit_table;

static int table_find(const edit_table *t, int from, const proxy_edit *e)
{
    for (int i = from; i < t->to; i++)
        if (http_field_is(t->d->field[i], e->edit.name, e->name_len))
            return i;
    return -1;
}

static void table_remove(edit_table *t, int i)
{
    direct_head *d = t->d;

    memmove(&d->field[i], &d->field[i + 1], (size_t)(d->n - i - 1) * sizeof *d->field);
    d->n--;
    t->to--;
}

/* As the last of its table. */
static void table_add(edit_table *t, http_field *f)
{
    direct_head *d = t->d;

    memmove(&d->field[t->to + 1], &d->field[t->to], (size_t)(d->n - t->to) * sizeof *d->field);
    d->field[t->to++] = f;
    d->n++;
}

static void table_set_value(edit_table *t, http_field *f, const char *value, size_t len)
{
    f->value = value;
    f->value_len = (uint32_t)len;
    t->d->more += len;
}

static void table_add_new(edit_table *t, const proxy_edit *e)
{
    http_field *f = direct_make(t->d);

    t->d->n--; /* its place is another one */
    *f = (http_field){.name = e->edit.name, .name_len = e->name_len};
    table_set_value(t, f, e->edit.value, e->value_len);
    t->d->more += e->name_len + 4;
    table_add(t, f);
}

static void table_unset(edit_table *t, int from, const proxy_edit *e)
{
    for (int i = from; (i = table_find(t, i, e)) >= 0;)
        table_remove(t, i);
}

static void table_set(edit_table *t, const proxy_edit *e)
{
    const int i = table_find(t, t->from, e);

    if (i < 0) {
        table_add_new(t, e);
        return;
    }
    table_set_value(t, t->d->field[i], e->edit.value, e->value_len);
    table_unset(t, i + 1, e);
}

static const char *table_text(const edit_table *t, const http_field *f)
{
    return apr_pstrmemdup(exchange_pool(t->x), f->value, f->value_len);
}

/* Behind the first of that name. @param anew  0: an element that is there is not added */
static void table_append(edit_table *t, const proxy_edit *e, int anew)
{
    const int i = table_find(t, t->from, e);
    const char *value;

    if (i < 0) {
        table_add_new(t, e);
        return;
    }
    value = table_text(t, t->d->field[i]);
    if (!anew && edits_by.lists(value, e->edit.value))
        return;
    value = apr_pstrcat(exchange_pool(t->x), value, ", ", e->edit.value, NULL);
    table_set_value(t, t->d->field[i], value, strlen(value));
}

/* Fields of that name become the last ones. @return 0: the full way has to fail, or to refuse the value */
static int table_edit(edit_table *t, const proxy_edit *e)
{
    int all = 0, i;

    for (int k = t->from; (k = table_find(t, k, e)) >= 0; k++)
        all++;
    for (; all; all--) {
        http_field *f = t->d->field[i = table_find(t, t->from, e)];
        const char *value = edits_by.edited(exchange_pool(t->x), &e->edit, table_text(t, f));
        const size_t len = value ? strlen(value) : 0;

        if (!value || !http_is_value(value, len))
            return 0;
        table_remove(t, i);
        table_set_value(t, f, value, len);
        table_add(t, f);
    }
    return 1;
}

static int table_run(edit_table *t, const proxy_edit *e)
{
    switch (e->edit.action) {
    case BRG_HEAD_ADD:
        table_add_new(t, e);
        return 1;
    case BRG_HEAD_APPEND:
    case BRG_HEAD_MERGE:
        table_append(t, e, e->edit.action == BRG_HEAD_APPEND);
        return 1;
    case BRG_HEAD_SETIFEMPTY:
        if (table_find(t, t->from, e) < 0)
            table_add_new(t, e);
        return 1;
    case BRG_HEAD_UNSET:
        table_unset(t, t->from, e);
        return 1;
    case BRG_HEAD_EDIT:
    case BRG_HEAD_EDIT_ALL:
        return table_edit(t, e);
    default:
        table_set(t, e);
        return 1;
    }
}

static void edit_server(direct_head *d, const proxy_edit *e)
{
    d->top.server = e->edit.action == BRG_HEAD_UNSET ? NULL : e->edit.value;
    d->top.server_len = e->edit.action == BRG_HEAD_UNSET ? 0 : e->value_len;
    d->more += d->top.server_len;
}

/* Several are joined to one, and elements of a list named once. */
static int edit_vary_is_plain(const direct_head *d)
{
    int varies = 0;

    for (int i = 0; i < d->n; i++) {
        const http_field *f = d->field[i];

        if (HTTP_FIELD_IS(f, "Vary") &&
            (varies++ || !f->value_len || memchr(f->value, ',', f->value_len) ||
             memchr(f->value, ' ', f->value_len) || memchr(f->value, '\t', f->value_len)))
            return 0;
    }
    return 1;
}

/* With the value that it has for this answer. */
static const proxy_edit *edit_of_now(proxy_ahead *a, const proxy_edit *e, proxy_edit *own)
{
    *own = *e;
    own->edit.value = edits_by.value(exchange_pool(&a->x), a->began, &e->edit);
    own->value_len = (uint32_t)strlen(own->edit.value);
    return own;
}

int direct_edit(proxy_ahead *a, direct_head *d)
{
    const proxy_plan *p = a->plan;
    edit_table t = {.d = d, .x = &a->x};
    int always_n = d->always_n, varies = 0;
    proxy_edit own;

    BRG_ASSERT(p->edits_n && p->edits_n <= PROXY_EDITS_MOST);
    for (int i = 0; i < p->edits_n; i++) {
        const proxy_edit *e =
            p->edit[i].edit.each ? edit_of_now(a, &p->edit[i], &own) : &p->edit[i];

        t.from = e->edit.always ? 0 : always_n;
        t.to = e->edit.always ? always_n : d->n;
        if (e->name_len == 6 && http_same(e->edit.name, "server", 6)) {
            if (e->edit.always == p->script_head)
                edit_server(d, e);
        } else if (!table_run(&t, e)) {
            return 0;
        }
        always_n = e->edit.always ? t.to : always_n;
        varies |= e->name_len == 4 && http_same(e->edit.name, "vary", 4);
    }
    return !varies || edit_vary_is_plain(d);
}
