/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that an include has.
 *
 * Handlers wait for programs and peers with the timeout of r->server. An include that has less time gets
 * a copy of its server with a shorter timeout. Modules may keep r->server for longer than the request
 * (mod_proxy does, with a connection that it uses again), so such a copy is never freed: it has the
 * server's own timeout again when the include is over, and serves the next include of that server.
 * There are as many copies as there were such includes at one moment.
 */
#include "ssi_include_private.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define TIMEOUT_TAG 0x53534954u

typedef struct timeout_server {
    server_rec server; /* first: target of the requests' pointers */
    uint32_t tag;
    server_rec *of;
    struct timeout_server *next;
} timeout_server;

/* Copies that are not in use. A thread that does not get the lock at once makes a new one. */
static pthread_mutex_t timeout_lock = PTHREAD_MUTEX_INITIALIZER;
static timeout_server *timeout_free;

/* A free copy of this server, or NULL. */
static timeout_server *timeout_find(const server_rec *of)
{
    timeout_server **at, *found;

    if (pthread_mutex_trylock(&timeout_lock))
        return NULL;
    for (at = &timeout_free; (found = *at) != NULL && found->of != of; at = &found->next)
        continue;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&timeout_lock);
    return found;
}

static apr_status_t timeout_give_back(void *data)
{
    timeout_server *t = data;

    BRG_ASSERT_TAG(t, TIMEOUT_TAG);
    t->server.timeout = t->of->timeout;
    pthread_mutex_lock(&timeout_lock);
    t->next = timeout_free;
    timeout_free = t;
    pthread_mutex_unlock(&timeout_lock);
    return APR_SUCCESS;
}

server_rec *ssi_timeout_server(request_rec *sub)
{
    timeout_server *t = timeout_find(sub->server);

    if (!t) {
        if (!(t = malloc(sizeof *t)))
            ap_abort_on_oom();
        t->server = *sub->server;
        t->of = sub->server;
        t->tag = TIMEOUT_TAG;
    }
    BRG_ASSERT_TAG(t, TIMEOUT_TAG);
    BRG_ASSERT(t->of == sub->server);
    apr_pool_cleanup_register(sub->pool, t, timeout_give_back, apr_pool_cleanup_null);
    return &t->server;
}
