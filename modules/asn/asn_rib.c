/* SPDX-License-Identifier: Apache-2.0 */
/* Route sets: routes of one source, and how a new set takes the place of an old one. */
#include <stdlib.h>
#include "brigade/assert.h"
#include "asn_private.h"

static asn_rib *rib_of(const brg_asn_writer *w, int rib)
{
    BRG_ASSERT(rib >= 0 && rib < ASN_TABLE_RIBS);
    return &w->table->ribs[rib];
}

static void count_update(asn_rib *r, brg_asn_family family, int by)
{
    asn_put(&r->routes[family], asn_get(&r->routes[family]) + (uint32_t)by);
    asn_put_wide(&r->updates, asn_get_wide(&r->updates) + 1);
}

static int is_prefix(const brg_asn_prefix *p)
{
    return p->family <= ASN_IPV6 && p->length <= (p->family == ASN_IPV4 ? 32 : 128);
}

static asn_word *root_of(const brg_asn_writer *w, int rib, brg_asn_family family)
{
    return w->fresh[rib] ? &w->fresh[rib]->root[family] : &rib_of(w, rib)->root[family];
}

/* A route came or went: readers' numbers follow their view. */
static void count(brg_asn_writer *w, int rib, brg_asn_family family, int by)
{
    if (w->fresh[rib])
        w->fresh[rib]->routes[family] += (uint32_t)by;
    else
        count_update(rib_of(w, rib), family, by);
}

apr_status_t brg_asn_announce(brg_asn_writer *w, int rib, const brg_asn_prefix *prefix,
                              brg_asn_ref ref)
{
    apr_status_t rv;
    int added;

    BRG_ASSERT(ref && rib >= 0 && rib < ASN_TABLE_RIBS);
    if (!is_prefix(prefix))
        return APR_EINVAL;
    if (asn_get(&w->table->used) <= (unsigned)rib)
        asn_put(&w->table->used, (unsigned)rib + 1);
    if (!(rv = asn_trie_add(w, root_of(w, rib, prefix->family), prefix, ref, &added)))
        count(w, rib, prefix->family, added);
    return rv;
}

apr_status_t brg_asn_withdraw(brg_asn_writer *w, int rib, const brg_asn_prefix *prefix)
{
    apr_status_t rv;

    BRG_ASSERT(rib >= 0 && rib < ASN_TABLE_RIBS);
    if (!is_prefix(prefix))
        return APR_NOTFOUND;
    if (!(rv = asn_trie_remove(w, root_of(w, rib, prefix->family), prefix)))
        count(w, rib, prefix->family, -1);
    return rv;
}

static void stamp(asn_rib *r)
{
    asn_put_wide(&r->last_update, (uint64_t)apr_time_now());
}

void brg_asn_rib_touch(brg_asn_writer *w, int rib)
{
    stamp(rib_of(w, rib));
}

void brg_asn_rib_ready(brg_asn_writer *w, int rib)
{
    asn_rib *r = rib_of(w, rib);

    stamp(r);
    asn_put(&r->ready, 1);
}

/* Show readers @a view, and give up the former one. */
static void show(brg_asn_writer *w, int rib, const asn_view *view)
{
    asn_rib *r = rib_of(w, rib);
    uint32_t old;

    for (int f = 0; f < 2; f++) {
        old = asn_get(&r->root[f]);
        asn_put(&r->root[f], asn_get(&view->root[f]));
        asn_put(&r->routes[f], view->routes[f]);
        asn_put_wide(&r->updates, asn_get_wide(&r->updates) + view->routes[f]);
        asn_trie_drop(w, old);
    }
}

void brg_asn_rib_clear(brg_asn_writer *w, int rib)
{
    static const asn_view empty;

    brg_asn_rib_discard(w, rib);
    asn_put(&rib_of(w, rib)->ready, 0);
    show(w, rib, &empty);
    stamp(rib_of(w, rib));
}

apr_status_t brg_asn_rib_begin(brg_asn_writer *w, int rib)
{
    brg_asn_rib_discard(w, rib);
    w->fresh[rib] = calloc(1, sizeof *w->fresh[rib]);
    return w->fresh[rib] ? APR_SUCCESS : APR_ENOMEM;
}

void brg_asn_rib_commit(brg_asn_writer *w, int rib)
{
    asn_view *view = w->fresh[rib];

    BRG_ASSERT(view);
    show(w, rib, view);
    free(view);
    w->fresh[rib] = NULL;
    brg_asn_rib_ready(w, rib);
}

void brg_asn_rib_discard(brg_asn_writer *w, int rib)
{
    asn_view *view = w->fresh[rib];

    if (!view)
        return;
    for (int f = 0; f < 2; f++)
        asn_trie_drop(w, asn_get(&view->root[f]));
    free(view);
    w->fresh[rib] = NULL;
}

uint32_t brg_asn_rib_routes(const brg_asn_writer *w, int rib, brg_asn_family family)
{
    return w->fresh[rib] ? w->fresh[rib]->routes[family] : asn_get(&rib_of(w, rib)->routes[family]);
}
