/* SPDX-License-Identifier: Apache-2.0 */
/* %{allocs}M, %{bytes}M and %{zeroed}M: memory of the request from its pool, and from pools below
 * that, until it is logged. */
#include "log_config_private.h"
#include "brigade/memory.h"
#include <string.h>

const char *log_memory_check(const char *arg)
{
    if (strcmp(arg, "allocs") == 0 || strcmp(arg, "bytes") == 0 || strcmp(arg, "zeroed") == 0)
        return NULL;
    return "%M must be %{allocs}M, %{bytes}M or %{zeroed}M";
}

void log_emit_memory(log_out *out, const brg_transaction *t, const log_item *item, log_entry *entry)
{
    brg_pool_figures figures;

    brg_pool_figures_get(t->r->pool, &figures);
    log_out_number(out, (apr_int64_t)(item->arg[0] == 'a'   ? figures.allocations
                                      : item->arg[0] == 'b' ? figures.bytes
                                                            : figures.zeroed_bytes));
}
