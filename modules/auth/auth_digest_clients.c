/* SPDX-License-Identifier: Apache-2.0 */
/* Clients whose requests are counted (AuthDigestNcCheck), or whose nonces are for one request each. They are known by the
 * number in their opaque, in memory that all processes share; a new one takes the place of the oldest.
 *
 * Any server process may write anything there. So sizes lie in each process's own memory, nothing there leads anywhere, and
 * nobody waits: a client is a word of its number and its count, which are changed by compare-and-swap. */
#include "auth_digest_private.h"
#include "brigade/assert.h"
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define CLIENTS_LEAST 1024
#define CLIENTS_MOST 1048576

typedef struct digest_client {
    /* its number, and the largest count that came: 32 bits each; 0: none */
    _Atomic apr_uint64_t word;
    _Atomic apr_uint64_t nonce; /* number of the nonce for one request that it was given last */
} digest_client;

typedef struct digest_clients {
    _Atomic apr_uint32_t made;
    _Atomic apr_uint64_t numbers;
    digest_client client[];
} digest_clients;

static digest_clients *clients_shared;
static apr_size_t clients_n, clients_bytes;

apr_size_t digest_client_bytes(void)
{
    return 88; /* as Apache has it, which the message of the directive tells */
}

static apr_status_t clients_end(void *unused)
{
    if (clients_shared)
        munmap(clients_shared, clients_bytes);
    clients_shared = NULL;
    return APR_SUCCESS;
}

apr_status_t digest_clients_open(apr_pool_t *p, apr_size_t bytes)
{
    const apr_size_t n = bytes / sizeof(digest_client);
    void *memory;

    clients_n = n < CLIENTS_LEAST ? CLIENTS_LEAST : n > CLIENTS_MOST ? CLIENTS_MOST : n;
    clients_bytes = sizeof(digest_clients) + clients_n * sizeof(digest_client);
    BRG_ASSERT(clients_n >= CLIENTS_LEAST && clients_n <= CLIENTS_MOST);
    memory = mmap(NULL, clients_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return APR_FROM_OS_ERROR(errno);
    (void)madvise(memory, clients_bytes, MADV_DONTDUMP);
    clients_shared = memory;
    apr_pool_cleanup_register(p, NULL, clients_end, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

/* NULL: no client has that number. Its content may be another's by now: its word says so. */
static digest_client *clients_place(unsigned long number)
{
    if (!clients_shared || !number || number > APR_UINT32_MAX)
        return NULL;
    BRG_ASSERT(clients_n >= CLIENTS_LEAST);
    return &clients_shared->client[number % clients_n];
}

unsigned long digest_client_make(void)
{
    digest_client *client;
    apr_uint32_t number;

    if (!clients_shared)
        return 0;
    do {
        number = atomic_fetch_add(&clients_shared->made, 1) + 1;
    } while (!(client = clients_place(number)));
    atomic_store(&client->nonce, 0);
    atomic_store(&client->word, (apr_uint64_t)number << 32);
    return number;
}

int digest_client_is_known(unsigned long number)
{
    const digest_client *client = clients_place(number);

    return client && atomic_load(&client->word) >> 32 == number;
}

/* A count has eight hexadecimal digits (RFC 7616, 3.4): a larger one is the last. */
int digest_client_counts(unsigned long number, unsigned long nc, unsigned long *last)
{
    const apr_uint64_t count = nc < APR_UINT32_MAX ? nc : APR_UINT32_MAX;
    digest_client *client = clients_place(number);
    apr_uint64_t word = client ? atomic_load(&client->word) : 0;

    do {
        if (!word || word >> 32 != number)
            return -1;
        *last = (unsigned long)(word & APR_UINT32_MAX);
        if (count <= *last)
            return 0;
    } while (
        !atomic_compare_exchange_weak(&client->word, &word, (apr_uint64_t)number << 32 | count));
    return 1;
}

int digest_client_has_nonce(unsigned long number, apr_uint64_t nonce)
{
    const digest_client *client = clients_place(number);

    return digest_client_is_known(number) ? atomic_load(&client->nonce) == nonce : -1;
}

void digest_client_give(unsigned long number, apr_uint64_t nonce)
{
    if (digest_client_is_known(number))
        atomic_store(&clients_place(number)->nonce, nonce);
}

apr_uint64_t digest_number_next(void)
{
    apr_uint64_t number = 0;

    while (clients_shared && !number)
        number = atomic_fetch_add(&clients_shared->numbers, 1) + 1;
    return number;
}
