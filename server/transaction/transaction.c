/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a transaction, and the order of its states. */
#include "transaction.h"
#include "expr_subject.h"
#include <netinet/in.h>
#include <strings.h>

#define TO(state) (1u << TRANSACTION_##state)

const uint8_t transaction_next[TRANSACTION_STATES] = {
    [TRANSACTION_END] = TO(HEAD),
    [TRANSACTION_HEAD] = TO(END) | TO(HEAD) | TO(GATE) | TO(ROUTE) | TO(SOURCE) | TO(SEND),
    [TRANSACTION_GATE] = TO(END) | TO(HEAD) | TO(ROUTE) | TO(SOURCE) | TO(SEND),
    [TRANSACTION_ROUTE] = TO(SOURCE),
    [TRANSACTION_SOURCE] = TO(ROUTE) | TO(SOURCE) | TO(END),
    [TRANSACTION_SEND] = TO(LOG),
    [TRANSACTION_LOG] = TO(END),
};

/* The bytes of an address, those of IPv4 also where it is written as IPv6. */
static size_t address_bytes(const apr_sockaddr_t *a, const uint8_t **address)
{
    const uint8_t *at = a->ipaddr_ptr;

    *address = at;
    if (a->family == AF_INET)
        return 4;
    if (a->family != AF_INET6)
        return 0;
    if (!IN6_IS_ADDR_V4MAPPED(&a->sa.sin6.sin6_addr))
        return 16;
    *address = at + 12;
    return 4;
}

size_t transaction_client(const transaction *t, const uint8_t **address)
{
    if (t->r)
        return address_bytes(t->r->useragent_addr, address);
    *address = t->bc->client.at;
    return t->bc->client.len ? t->bc->client.len : conn_client_address(t->bc, address);
}

int transaction_is_named(const char *a, const char *b, size_t len)
{
    return !strncasecmp(a, b, len);
}

/* ---- expressions ---- */

static expr_subject subject_of(const transaction *t)
{
    static _Thread_local apr_pool_t *scratch;

    BRG_ASSERT(!t->r && t->head);
    if (scratch)
        apr_pool_clear(scratch);
    else
        apr_pool_create(&scratch, t->bc->loop->pool);
    return (expr_subject){.asked = t->head, .pool = scratch};
}

int transaction_holds(const transaction *t, const ap_expr_info_t *info, const char **err)
{
    expr_subject subject;

    if (t->r)
        return ap_expr_exec(t->r, info, err);
    subject = subject_of(t);
    return expr_subject_exec(&subject, info, err);
}

const char *transaction_text(const transaction *t, const ap_expr_info_t *info, const char **err)
{
    expr_subject subject;

    if (t->r)
        return ap_expr_str_exec(t->r, info, err);
    subject = subject_of(t);
    return expr_subject_str(&subject, info, err);
}
