/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of limits for status pages (brigade/status.h). */
#include "limit_private.h"
#include "brigade/assert.h"
#include "brigade/status.h"
#include "apr_strings.h"

static int brg_status_limit_get(int n, brg_status_limit *out)
{
    const limit *l;
    const limit_row *row;

    if (!limit_all || !limit_shared.header || n < 0 || n >= limit_all->nelts)
        return 0;
    l = APR_ARRAY_IDX(limit_all, n, const limit *);
    row = limit_row_at(l);
    *out = (brg_status_limit){.name = l->name,
                              .server = l->server->is_virtual ? l->server->server_hostname : "",
                              .section = l->path ? l->path : "",
                              .dry_run = l->is_dry,
                              .refused = atomic_load(&row->refused),
                              .delayed = atomic_load(&row->delayed),
                              .closed = atomic_load(&row->closed),
                              .dry = atomic_load(&row->dry)};
    if (!out->server)
        out->server = "";
    return 1;
}

/* The name of the limit that has that row; NULL: it is of an earlier configuration. */
static const char *status_name(uint32_t row)
{
    for (int i = 0; limit_all && i < limit_all->nelts; i++)
        if (APR_ARRAY_IDX(limit_all, i, const limit *)->row == row)
            return APR_ARRAY_IDX(limit_all, i, const limit *)->name;
    return NULL;
}

static int brg_status_limit_keys(brg_status_limit_key *out, apr_pool_t *p)
{
    limit_busy *busy;
    int n, told = 0;

    if (!limit_all || !limit_shared.header)
        return 0;
    busy = apr_palloc(p, LIMIT_BUSY * sizeof *busy);
    n = limit_busy_get(&limit_shared, busy, limit_now());
    BRG_ASSERT(n >= 0 && n <= LIMIT_BUSY);
    for (int i = 0; i < n; i++) {
        const char *name = status_name(busy[i].row);

        if (name)
            out[told++] =
                (brg_status_limit_key){name, busy[i].text, busy[i].asked, busy[i].refused};
    }
    return told;
}

static void brg_status_limit_memory(uint64_t *displaced, uint64_t *unkept)
{
    *displaced = limit_shared.header ? atomic_load(&limit_shared.header->displaced) : 0;
    *unkept = limit_shared.header ? atomic_load(&limit_shared.header->unkept) : 0;
}

void limit_status_register(void)
{
    APR_REGISTER_OPTIONAL_FN(brg_status_limit_get);
    APR_REGISTER_OPTIONAL_FN(brg_status_limit_keys);
    APR_REGISTER_OPTIONAL_FN(brg_status_limit_memory);
}
