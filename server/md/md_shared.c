/* SPDX-License-Identifier: Apache-2.0 */
/* Records with a version that is odd while they are written. Slots of challenges belong to the process that took them. */
#include "md_shared.h"
#include "md_dns.h"
#include "brigade/assert.h"
#include "brigade/one_writer.h"
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct shared_slot {
    _Atomic int owner; /* a process; 0: free */
    _Atomic unsigned version;
    md_challenge challenge;
} shared_slot;

typedef struct shared_state {
    _Atomic unsigned version;
    md_public state;
} shared_state;

typedef struct shared_memory {
    _Atomic int challenges;
    shared_slot slots[MD_CHALLENGES];
    shared_state states[];
} shared_memory;

static brg_one_writer *shared;
static int shared_n;

static apr_status_t shared_end(void *unused)
{
    shared = NULL;
    shared_n = 0;
    return APR_SUCCESS;
}

apr_status_t md_shared_begin(int n, apr_pool_t *p)
{
    apr_status_t rv;

    BRG_ASSERT(n >= 0 && !shared);
    rv = brg_one_writer_create(&shared, "brigade-md",
                               sizeof(shared_memory) + (apr_size_t)n * sizeof(shared_state), p);
    if (rv != APR_SUCCESS)
        return rv;
    shared_n = n;
    apr_pool_cleanup_register(p, NULL, shared_end, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

void md_shared_hand(int on)
{
    BRG_ASSERT(shared != NULL);
    brg_one_writer_hand(shared, on);
}

/* ---- writing ---- */

static shared_memory *shared_write(void)
{
    return brg_one_writer_write(shared);
}

static void shared_put(void *to, const void *from, size_t bytes, _Atomic unsigned *version)
{
    atomic_fetch_or(version, 1); /* it is odd already where a writer was killed */
    atomic_thread_fence(memory_order_release);
    memcpy(to, from, bytes);
    atomic_fetch_add(version, 1);
}

void md_shared_tell(int index, const md_public *state)
{
    shared_state *s;

    BRG_ASSERT(index >= 0 && index < shared_n);
    s = &shared_write()->states[index];
    shared_put(&s->state, state, sizeof *state, &s->version);
}

int md_shared_prove(const md_challenge *challenge)
{
    shared_memory *m = shared_write();

    BRG_ASSERT(*challenge->name && (*challenge->token || *challenge->cert || *challenge->text));
    for (int i = 0; i < MD_CHALLENGES; i++) {
        shared_slot *slot = &m->slots[i];
        int nobody = 0;

        if (!atomic_compare_exchange_strong(&slot->owner, &nobody, (int)getpid()))
            continue;
        shared_put(&slot->challenge, challenge, sizeof *challenge, &slot->version);
        atomic_fetch_add(&m->challenges, 1);
        return i;
    }
    return -1;
}

void md_shared_proven(int i)
{
    shared_memory *m = shared_write();
    shared_slot *slot = &m->slots[i];

    BRG_ASSERT(i >= 0 && i < MD_CHALLENGES);
    shared_put(&slot->challenge, &(md_challenge){.name = ""}, sizeof slot->challenge,
               &slot->version);
    atomic_fetch_sub(&m->challenges, 1);
    atomic_store(&slot->owner, 0);
}

void md_shared_forget(int pid)
{
    shared_memory *m = shared_write();

    BRG_ASSERT(pid > 0);
    for (int i = 0; i < MD_CHALLENGES; i++)
        if (atomic_load(&m->slots[i].owner) == pid)
            md_shared_proven(i);
}

/* ---- reading ---- */

static const shared_memory *shared_read(void)
{
    return shared ? brg_one_writer_read(shared) : NULL;
}

int md_shared_copy(void *to, const void *from, size_t bytes, const _Atomic unsigned *version)
{
    const unsigned before = atomic_load_explicit(version, memory_order_acquire);

    if (before & 1)
        return 0;
    memcpy(to, from, bytes);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(version, memory_order_relaxed) == before;
}

int md_shared_state(int index, md_public *state)
{
    const shared_memory *m = shared_read();

    if (!m || index < 0 || index >= shared_n)
        return -1;
    for (int i = 0; i < 3; i++)
        if (md_shared_copy(state, &m->states[index].state, sizeof *state,
                           &m->states[index].version))
            return 0;
    return -1;
}

int md_shared_has_challenges(void)
{
    const shared_memory *m = shared_read();

    return m && atomic_load_explicit(&m->challenges, memory_order_relaxed) > 0;
}

static int shared_is_it(const md_challenge *c, const char *name, const char *token)
{
    return !strcasecmp(c->name, name) && (token ? !strcmp(c->token, token) : *c->cert != '\0');
}

int md_shared_challenge(const char *name, const char *token, md_challenge *challenge)
{
    const shared_memory *m = shared_read();

    for (int i = 0; m && i < MD_CHALLENGES; i++)
        if (atomic_load_explicit(&m->slots[i].owner, memory_order_acquire) &&
            md_shared_copy(challenge, &m->slots[i].challenge, sizeof *challenge,
                           &m->slots[i].version) &&
            shared_is_it(challenge, name, token))
            return 0;
    return -1;
}

int md_shared_dns(const char *name, char texts[][sizeof(((md_challenge *)0)->text)])
{
    const shared_memory *m = shared_read();
    md_challenge found;
    int n = 0;

    for (int i = 0; m && i < MD_CHALLENGES && n < MD_DNS_TEXTS; i++) {
        const shared_slot *slot = &m->slots[i];

        if (atomic_load_explicit(&slot->owner, memory_order_acquire) &&
            md_shared_copy(&found, &slot->challenge, sizeof found, &slot->version) && *found.text &&
            !strcasecmp(found.name, name))
            memcpy(texts[n++], found.text, sizeof found.text);
    }
    return n;
}
