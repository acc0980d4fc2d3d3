/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages made of files and of objects of the store (store/store.h). The files are under watch, as
 * those of other pages. Of the parts the places are kept where the store has them: while each of
 * them holds, and is fresh, the page would be made of the same bytes. So the first part that ends,
 * is purged, or is stored anew ends the page.
 */
#include "cache_stored.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "request_context.h"
#include "brigade/response_cache.h"
#include "http_core.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

#define COMPOSED_MOST 64 /* parts; a hit looks at each */

/* Of the request while it is answered, and then of the entry. */
typedef struct composed_part {
    store_reader *reader; /* the loop's */
    store_place place[CACHE_STORED_PLACES];
    uint8_t places_n;
    apr_time_t until;
} composed_part;

struct cache_composed {
    apr_time_t until; /* the first of them ends */
    apr_time_t look;  /* of the loop's clock: the parts themselves are looked at then */
    uint32_t n;
    composed_part part[];
};

/* ---- components of a request ---- */

static const request_rec *composed_first(const request_rec *r)
{
    const request_rec *up;

    while ((up = request_led_to(r)) != NULL)
        r = up;
    return r;
}

static const apr_array_header_t *composed_parts(const request_rec *r)
{
    apr_array_header_t **list = request_stored_parts(r);

    return list ? *list : NULL;
}

/* The variants of the part are variants of the page, and so are requests that say how stored answers may be used. */
static int composed_vary(request_rec *sub, const cache_stored *stored)
{
    apr_array_header_t *list = cache_vary_wishes(sub);
    int i = 0;

    if (!list)
        return -1;
    while (i < list->nelts && APR_ARRAY_IDX(list, i, vary_wish).client != cache_vary_plain)
        i++;
    if (i == list->nelts)
        APR_ARRAY_PUSH(list, vary_wish) = (vary_wish){.client = cache_vary_plain};
    for (const char *const *name = stored->vary; name && *name; name++)
        brg_cache_vary(sub, *name, NULL, NULL);
    return 0;
}

void cache_note_part(request_rec *sub, const cache_stored *stored)
{
    const response_cache *c = loop_self() ? cache_store_cache() : NULL;
    const request_rec *first = composed_first(sub);
    apr_array_header_t **list = request_stored_parts(first);
    request_offer *offer;
    composed_part *part;

    BRG_ASSERT(sub->main && stored->places_n > 0 && stored->places_n <= CACHE_STORED_PLACES);
    if (!c || c->is_workers || first == sub || !list || composed_vary(sub, stored) ||
        !(offer = request_offer_begin(sub)))
        return;
    if (!*list)
        *list = apr_array_make(first->pool, 4, sizeof(composed_part));
    part = apr_array_push(*list);
    *part = (composed_part){
        .reader = stored->reader, .places_n = stored->places_n, .until = stored->until};
    for (int i = 0; i < stored->places_n; i++)
        part->place[i] = stored->place[i];
    offer->stored = stored;
}

BRG_DECLARE(int) brg_cache_is_part(const request_rec *sub)
{
    const request_offer *offer = request_offer_of(sub);

    return sub->main && offer && offer->stored;
}

const char *cache_composed_fingerprint(const request_rec *r)
{
    const apr_array_header_t *parts = composed_parts(r);
    char *text = parts ? apr_palloc(r->pool, (apr_size_t)parts->nelts * 34 + 1) : NULL, *at = text;

    for (int i = 0; text && i < parts->nelts; i++) {
        const composed_part *part = &APR_ARRAY_IDX(parts, i, composed_part);

        at += apr_snprintf(at, 35, "%" APR_UINT64_T_HEX_FMT ",%" APR_UINT64_T_HEX_FMT " ",
                           part->place[0].value, part->place[part->places_n - 1].value);
    }
    return text ? text : "";
}

/* ---- an entry ---- */

int cache_composed_arm(cache_entry *e, const request_rec *r)
{
    const apr_array_header_t *parts = composed_parts(r);
    cache_composed *made;

    BRG_ASSERT(!e->composed && !e->filled);
    if (!parts)
        return 0;
    if (parts->nelts > COMPOSED_MOST)
        return -1;
    made = calloc(1, sizeof *made + (size_t)parts->nelts * sizeof *made->part);
    if (!made)
        return -1;
    made->n = (uint32_t)parts->nelts;
    memcpy(made->part, parts->elts, made->n * sizeof *made->part);
    made->until = made->part[0].until;
    for (uint32_t i = 1; i < made->n; i++)
        if (made->part[i].until < made->until)
            made->until = made->part[i].until;
    e->composed = made;
    return 0;
}

/* Once a second, so that objects used by pages alone stay in the store. */
static int composed_look(cache_composed *made)
{
    for (uint32_t i = 0; i < made->n; i++) {
        composed_part *part = &made->part[i];

        for (int k = 0; k < part->places_n; k++) {
            if (!store_place_look(part->reader, &part->place[k]))
                return 0;
            store_place_hit(&part->place[k]);
        }
    }
    return 1;
}

int cache_composed_is_current(const response_cache *c, cache_entry *e)
{
    cache_composed *made = e->composed;
    const apr_time_t now = c->loop->wall;

    BRG_ASSERT(made && made->n > 0);
    if (now >= made->until)
        return 0;
    if (now >= made->look || now + APR_USEC_PER_SEC < made->look) {
        made->look = now + APR_USEC_PER_SEC;
        return composed_look(made);
    }
    for (uint32_t i = 0; i < made->n; i++)
        for (int k = 0; k < made->part[i].places_n; k++)
            if (!store_place_holds(made->part[i].reader, &made->part[i].place[k]))
                return 0;
    return 1;
}

void cache_composed_drop(cache_entry *e)
{
    free(e->composed);
    e->composed = NULL;
}

size_t cache_composed_bytes(const cache_entry *e)
{
    return e->composed ? cache_block(sizeof *e->composed +
                                     (size_t)e->composed->n * sizeof *e->composed->part)
                       : 0;
}
