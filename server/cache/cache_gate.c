/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of stored answers. They count as dependencies, so that an answer made under other limits is
 * another variant. */
#include "cache_gate.h"
#include "cache_vary_private.h"
#include "connection.h"

void cache_gate(request_rec *r, cache_gate_fn *fn, cache_gate_needs needs, const void *data,
                uint64_t fixed)
{
    apr_array_header_t *list = cache_vary_wishes(r);

    BRG_ASSERT(fn && data);
    for (int i = 0; list && i < list->nelts; i++) {
        const vary_wish *have = &APR_ARRAY_IDX(list, i, vary_wish);

        if (have->gate == fn && have->data == data && have->fixed == fixed)
            return;
    }
    if (list)
        APR_ARRAY_PUSH(list, vary_wish) =
            (vary_wish){.gate = fn, .needs = needs, .data = data, .fixed = fixed};
}

static inline int gates_ask(const cache_entry *e, const transaction *t)
{
    for (int i = 0; i < e->vary_n; i++)
        if (e->vary[i].gate && !e->vary[i].gate(e->vary[i].data, e->vary[i].fixed, t))
            return 0;
    return 1;
}

static const char *gate_user(const transaction *t, char *out)
{
    const char *type;

    return cache_vary_user(t->stored, t->head, out, &type);
}

static inline int gates_admit(const cache_entry *e, transaction *t)
{
    BRG_ASSERT_DEBUG(e->gated);
    if (e->vary_n == 1)
        return e->vary->gate(e->vary->data, e->vary->fixed, t);
    /* A request that one gate counted is counted again on the full way, if another gate sends it
     * there. */
    if (e->gated > 1) {
        t->only_looks = 1;
        if (!gates_ask(e, t))
            return 0;
        t->only_looks = 0;
    }
    return gates_ask(e, t);
}

int cache_gates_admit(cache_entry *e, brg_conn *bc, const http_head *head, apr_off_t len)
{
    transaction t = {.bc = bc, .head = head, .stored = e, .user = gate_user, .len = len};

    BRG_ASSERT_DEBUG(e->in_cache);
    transaction_enter(bc, TRANSACTION_GATE);
    return gates_admit(e, &t);
}

int cache_gates_admit_plan(cache_entry *e, brg_conn *bc, const http_head *head)
{
    transaction t = {
        .bc = bc->master ? bc->master : bc, .head = head, .stored = e, .user = gate_user};

    transaction_enter(bc, TRANSACTION_GATE);
    bc->gated = gates_admit(e, &t) != 0;
    return bc->gated;
}

int cache_gate_counted(const conn_rec *c)
{
    const brg_conn *bc = connection_of(c);

    return bc && bc->gated;
}
