/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of open connections. They are asked when a connection is accepted, or when a proxy has
 * named its client: the server is the one of its address alone. */
#include "limit_private.h"
#include "driver.h"
#include "loop.h"
#include "loops.h"
#include "http_log.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(limit);

static void conn_leaves(brg_conn *bc)
{
    BRG_ASSERT(bc->held_places[0] || !bc->held_places[1]); /* filled in turn */
    for (int i = 0; i < CONN_PLACES; i++)
        if (bc->held_places[i])
            limit_count_leave(&limit_shared, (uint32_t)bc->loop->config->slot, bc->held_places[i]);
    bc->held_places[0] = bc->held_places[1] = 0;
}

/* One more than there may be. @return 1: it stays all the same */
static int conn_excess(const limit *l, const brg_conn *bc, const limit_subject *subject,
                       uint64_t key)
{
    char text[LIMIT_TEXT_ROOM];
    const size_t len = limit_text(l, subject, text, sizeof text);
    limit_row *row = limit_row_at(l);

    BRG_ASSERT(l->measure == LIMIT_CONNECTIONS && l->row < LIMIT_ROWS);
    atomic_fetch_add_explicit(l->is_dry ? &row->dry : &row->closed, 1, memory_order_relaxed);
    limit_busy_note(&limit_shared, key, l->row, text, len, 1, 1, limit_now());
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, bc->base,
                 "RequestLimit %s: %s has %" APR_UINT64_T_FMT " connections%s", l->name, text,
                 l->most, l->is_dry ? " (dry-run)" : ": closed");
    return l->is_dry;
}

static int conn_enters_by(const limit *l, brg_conn *bc, uint32_t *place)
{
    const uint8_t *address = NULL;
    const size_t len = conn_client_address(bc, &address);
    limit_subject subject = {.what = ""};
    uint64_t key;

    if (!limit_subject_who(l, &subject, address, len))
        return 1;
    key = limit_key_of(l, 0, &subject);
    return limit_count_enter(&limit_shared, key, l->most, (uint32_t)bc->loop->config->slot,
                             place) ||
           conn_excess(l, bc, &subject, key);
}

static int conn_enters(brg_conn *bc)
{
    const limit_conf *conf = limit_conf_of(bc->base);
    int n = 0;

    BRG_ASSERT(!bc->held_places[0] && !bc->master);
    for (int i = 0; limit_shared.header && conf->list && i < conf->list->nelts; i++) {
        const limit *l = APR_ARRAY_IDX(conf->list, i, const limit *);
        uint32_t place = 0;

        if (l->measure != LIMIT_CONNECTIONS || l->is_off || n == CONN_PLACES)
            continue;
        if (!conn_enters_by(l, bc, &place)) {
            conn_leaves(bc);
            return 0;
        }
        if (place)
            bc->held_places[n++] = place;
    }
    BRG_ASSERT(n <= CONN_PLACES);
    return 1;
}

static const loop_doorkeeper conn_keeper = {conn_enters, conn_leaves};

static apr_status_t conn_forget(void *unused)
{
    loop_doorkeeper_set(NULL);
    return APR_SUCCESS;
}

void limit_conn_watch(apr_pool_t *pconf)
{
    int on = 0;

    for (int i = 0; limit_all && i < limit_all->nelts; i++)
        on |= APR_ARRAY_IDX(limit_all, i, const limit *)->measure == LIMIT_CONNECTIONS;
    if (!on)
        return;
    loop_doorkeeper_set(&conn_keeper);
    apr_pool_cleanup_register(pconf, NULL, conn_forget, apr_pool_cleanup_null);
}
