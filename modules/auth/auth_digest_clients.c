/* SPDX-License-Identifier: Apache-2.0 */
/* Clients whose requests are counted (AuthDigestNcCheck), or whose nonces are for one request each. They are known by the
 * number in their opaque, in memory that all processes share; a new one takes the place of the oldest. */
#include "auth_digest_private.h"
#include <pthread.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define CLIENTS_LEAST 1024
#define CLIENTS_MOST 1048576

typedef struct digest_client {
    unsigned long number; /* 0: none */
    unsigned long last;   /* the largest count that came */
    char nonce[DIGEST_NONCE_LEN + 1];
} digest_client;

typedef struct digest_clients {
    pthread_mutex_t lock; /* of all processes; robust */
    unsigned long made;
    apr_uint64_t numbers;
    apr_size_t n;
    digest_client client[];
} digest_clients;

static digest_clients *clients_shared;
static apr_size_t clients_bytes;

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

static int clients_lock_make(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    int error;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    error = pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

apr_status_t digest_clients_open(apr_pool_t *p, apr_size_t bytes)
{
    apr_size_t n = bytes / sizeof(digest_client);
    void *memory;

    n = n < CLIENTS_LEAST ? CLIENTS_LEAST : n > CLIENTS_MOST ? CLIENTS_MOST : n;
    clients_bytes = sizeof(digest_clients) + n * sizeof(digest_client);
    memory = mmap(NULL, clients_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return APR_FROM_OS_ERROR(errno);
    (void)madvise(memory, clients_bytes, MADV_DONTDUMP);
    clients_shared = memory;
    clients_shared->n = n;
    apr_pool_cleanup_register(p, NULL, clients_end, apr_pool_cleanup_null);
    return APR_FROM_OS_ERROR(clients_lock_make(&clients_shared->lock));
}

/* A process that ended within left entries of which each is whole enough: counts and nonces that match nothing. */
static int clients_enter(void)
{
    int error = clients_shared ? pthread_mutex_lock(&clients_shared->lock) : EINVAL;

    if (error == EOWNERDEAD)
        error = pthread_mutex_consistent(&clients_shared->lock);
    return !error;
}

static void clients_leave(void)
{
    pthread_mutex_unlock(&clients_shared->lock);
}

static digest_client *clients_find(unsigned long number)
{
    digest_client *client = &clients_shared->client[number % clients_shared->n];

    return number && client->number == number ? client : NULL;
}

unsigned long digest_client_make(void)
{
    digest_client *client;
    unsigned long number;

    if (!clients_enter())
        return 0;
    number = ++clients_shared->made;
    client = &clients_shared->client[number % clients_shared->n];
    memset(client, 0, sizeof *client);
    client->number = number;
    clients_leave();
    return number;
}

int digest_client_is_known(unsigned long number)
{
    int known;

    if (!clients_enter())
        return 0;
    known = clients_find(number) != NULL;
    clients_leave();
    return known;
}

int digest_client_counts(unsigned long number, unsigned long nc, unsigned long *last)
{
    digest_client *client;
    int result = -1;

    if (!clients_enter())
        return -1;
    client = clients_find(number);
    if (client) {
        *last = client->last;
        result = nc > client->last;
        if (result)
            client->last = nc;
    }
    clients_leave();
    return result;
}

int digest_client_has_nonce(unsigned long number, const char *nonce)
{
    const digest_client *client;
    int result = -1;

    if (!clients_enter())
        return -1;
    client = clients_find(number);
    if (client)
        result = !strcmp(client->nonce, nonce);
    clients_leave();
    return result;
}

void digest_client_give(unsigned long number, const char *nonce)
{
    digest_client *client;

    if (!clients_enter())
        return;
    client = clients_find(number);
    if (client)
        memcpy(client->nonce, nonce, DIGEST_NONCE_LEN + 1);
    clients_leave();
}

apr_uint64_t digest_number_next(void)
{
    apr_uint64_t number = 0;

    if (clients_enter()) {
        number = ++clients_shared->numbers;
        clients_leave();
    }
    return number;
}
