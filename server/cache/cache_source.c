/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sources (cache_source_private.h), and those without state of their own. */
#include "cache_source_private.h"

static int source_never(response_cache *c, cache_entry *e)
{
    return 0;
}

static int source_always(response_cache *c, cache_entry *e)
{
    return 1;
}

static void source_has_nothing(response_cache *c, cache_entry *e)
{
    BRG_ASSERT_DEBUG(e->owner.n == 0);
}

/* ---- one stat ---- */

static int source_stat_is_current(response_cache *c, cache_entry *e)
{
    const brg_core_conf *conf = core_conf_of(e->server);

    if (conf->file_cache_validate == BRG_VALIDATE_AGE &&
        c->loop->monotonic - e->checked < conf->file_cache_age_us)
        return 1;
    if (!cache_stat_same(e))
        return 0;
    e->checked = c->loop->monotonic;
    return 1;
}

/* ---- watches ---- */

static int source_watches_changed(response_cache *c, cache_entry *e)
{
    return watch_changed(c->watch, &e->owner);
}

static int source_watches_are_current(response_cache *c, cache_entry *e)
{
    return !watch_changed(c->watch, &e->owner);
}

static int source_layers_are_current(response_cache *c, cache_entry *e)
{
    return !watch_changed(c->watch, &e->owner) && cache_layers_same(e);
}

static int source_composed_is_current(response_cache *c, cache_entry *e)
{
    return cache_composed_is_current(c, e) &&
           (e->looks ? source_layers_are_current(c, e) : source_watches_are_current(c, e));
}

static int source_led_is_current(response_cache *c, cache_entry *e)
{
    return (e->looks ? source_layers_are_current(c, e) : source_watches_are_current(c, e)) &&
           cache_lifetime_is_current(c, e);
}

static void source_watches_end(response_cache *c, cache_entry *e)
{
    watch_remove(c->watch, &e->owner);
}

const cache_source cache_sources[CACHE_SOURCES] = {
    [CACHE_SOURCE_NONE] = {source_never, source_never, source_has_nothing, 0},
    [CACHE_SOURCE_STAT] = {source_stat_is_current, source_never, source_has_nothing, 1},
    [CACHE_SOURCE_WATCHES] = {source_watches_are_current, source_watches_changed,
                              source_watches_end, 0},
    [CACHE_SOURCE_LAYERS] = {source_layers_are_current, source_watches_changed, source_watches_end,
                             0},
    [CACHE_SOURCE_LIFETIME] = {cache_lifetime_is_current, source_never, source_has_nothing, 1},
    [CACHE_SOURCE_LED] = {source_led_is_current, source_watches_changed, source_watches_end, 0},
    [CACHE_SOURCE_COMPOSED] = {source_composed_is_current, source_watches_changed,
                               source_watches_end, 0},
    [CACHE_SOURCE_PLAN] = {source_always, source_never, source_has_nothing, 1},
    [CACHE_SOURCE_LOOP] = {source_never, source_never, source_has_nothing, 1},
};
