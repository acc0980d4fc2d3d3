/* SPDX-License-Identifier: Apache-2.0 */
/* A table of slots in sets. Loops read it without a lock: a slot whose time is the same before and after its words were
 * read was not written meanwhile, since each writing gives it another time. */
#include "auth_memory.h"
#include "httpd.h"
#include "http_log.h"
#include "http_main.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "apr_general.h"
#include "apr_siphash.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

APLOG_USE_MODULE(authn_core);

#define MEMORY_SETS 4096 /* a power of two */
#define MEMORY_WAYS 4

typedef struct memory_slot {
    _Atomic apr_uint64_t word[2];
    _Atomic apr_int64_t until; /* 0: empty. The lowest bits tell writings apart. */
} memory_slot;

#define MEMORY_TELL 0xff /* microseconds that do not matter */

typedef struct auth_store {
    unsigned char key[2][APR_SIPHASH_KSIZE];
    memory_slot set[MEMORY_SETS][MEMORY_WAYS];
} auth_store;

static auth_store *memory_store;
static pthread_mutex_t memory_write = PTHREAD_MUTEX_INITIALIZER;
static unsigned memory_writings;

void auth_memory_open(apr_pool_t *p)
{
    auth_store *store;

    (void)p;
    if (memory_store)
        return;
    store = mmap(NULL, sizeof *store, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (store == MAP_FAILED)
        return;
    (void)madvise(store, sizeof *store, MADV_DONTDUMP);
    (void)madvise(store, sizeof *store, MADV_DONTFORK);
    if (mlock(store, sizeof *store))
        ap_log_error(APLOG_MARK, APLOG_INFO, APR_FROM_OS_ERROR(errno), ap_server_conf,
                     "the credential memory cannot be locked: it may come to swap space");
    if (apr_generate_random_bytes(store->key[0], sizeof store->key)) {
        munmap(store, sizeof *store);
        return;
    }
    memory_store = store;
}

/* ---- marks ---- */

static void mark_wipe(void *at, apr_size_t len)
{
    explicit_bzero(at, len);
}

int auth_mark_make(auth_mark *mark, char kind, const auth_piece *piece, int n)
{
    unsigned char text[AUTH_MARK_MOST];
    apr_size_t len = 1;

    if (!memory_store)
        return 0;
    text[0] = (unsigned char)kind;
    for (int i = 0; i < n; i++) {
        const apr_uint32_t size = (apr_uint32_t)piece[i].len;

        if (piece[i].len > sizeof text || len + sizeof size + size > sizeof text) {
            mark_wipe(text, len);
            return 0;
        }
        memcpy(text + len, &size, sizeof size);
        len += sizeof size;
        if (size)
            memcpy(text + len, piece[i].at, size);
        len += size;
    }
    BRG_ASSERT(len <= sizeof text);
    for (int i = 0; i < 2; i++)
        mark->word[i] = apr_siphash24(text, len, memory_store->key[i]);
    mark_wipe(text, len);
    return 1;
}

/* ---- knowing ---- */

static int slot_is(const memory_slot *slot, const auth_mark *mark)
{
    return ((atomic_load_explicit(&slot->word[0], memory_order_relaxed) ^ mark->word[0]) |
            (atomic_load_explicit(&slot->word[1], memory_order_relaxed) ^ mark->word[1])) == 0;
}

static memory_slot *memory_set(const auth_mark *mark)
{
    BRG_ASSERT(memory_store != NULL);
    return memory_store->set[mark->word[0] & (MEMORY_SETS - 1)];
}

apr_time_t auth_memory_knows(const auth_mark *mark)
{
    const memory_slot *set;

    if (!memory_store)
        return 0;
    set = memory_set(mark);
    for (int i = 0; i < MEMORY_WAYS; i++) {
        const apr_int64_t until = atomic_load_explicit(&set[i].until, memory_order_acquire);

        if (!until || !slot_is(&set[i], mark))
            continue;
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&set[i].until, memory_order_relaxed) == until &&
            until > brg_monotonic_now())
            return until;
    }
    return 0;
}

/* The slot of that mark, or else the first to end. */
static memory_slot *memory_place(const auth_mark *mark)
{
    memory_slot *set = memory_set(mark), *first = set;

    for (int i = 0; i < MEMORY_WAYS; i++) {
        if (slot_is(&set[i], mark))
            return &set[i];
        if (atomic_load_explicit(&set[i].until, memory_order_relaxed) <
            atomic_load_explicit(&first->until, memory_order_relaxed))
            first = &set[i];
    }
    return first;
}

void auth_memory_learn(const auth_mark *mark, apr_time_t until)
{
    memory_slot *slot;

    BRG_ASSERT(until > 0);
    if (!memory_store)
        return;
    if (brg_thread_is_loop() ? pthread_mutex_trylock(&memory_write)
                             : pthread_mutex_lock(&memory_write))
        return; /* the next request learns it */
    slot = memory_place(mark);
    atomic_store_explicit(&slot->until, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&slot->word[0], mark->word[0], memory_order_relaxed);
    atomic_store_explicit(&slot->word[1], mark->word[1], memory_order_relaxed);
    atomic_store_explicit(&slot->until,
                          (until | MEMORY_TELL) - (apr_int64_t)(memory_writings++ & MEMORY_TELL),
                          memory_order_release);
    pthread_mutex_unlock(&memory_write);
}
