/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of names on demand, in memory that the daemon writes and all loops read. A name is in one of a few places, which
 * its hash leads to; its key and chain have a fixed room. Names that were refused are known by their hashes for a while. */
#include "md_demand.h"
#include "md_shared.h"
#include "tls_named.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "brigade/one_writer.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TABLE_WAYS 8
#define TABLE_REFUSED 4096 /* a power of two */
#define TABLE_TOUCH (3600 * APR_USEC_PER_SEC)

/* Bounds of requests by handshakes of one process, and of one client of it. */
#define ASKS_SECOND 100
#define ASKS_BURST 200
#define ASKS_CLIENTS 1024
#define ASKS_CLIENT_BURST 10

enum { PLACE_FREE, PLACE_PENDING, PLACE_READY };

typedef struct table_head {
    int state;
    char name[MD_DEMAND_NAME];
    apr_time_t touched, until; /* of the monotonic clock; of the date */
    size_t len;
} table_head;

typedef struct table_slot {
    _Atomic uint64_t hash;
    _Atomic unsigned version;
    table_head head;
} table_slot;

typedef struct table_refused {
    _Atomic uint64_t hash;
    _Atomic int64_t until; /* of the monotonic clock */
} table_refused;

typedef struct table_memory {
    table_refused refused[TABLE_REFUSED];
    table_slot places[];
} table_memory;

static struct {
    apr_pool_t *pool;
    brg_one_writer *memory;
    uint32_t sets;
    size_t records; /* where they begin */
    uint64_t salt;
    int socket[2]; /* of the daemon, of all others */
} table = {.socket = {-1, -1}};

/* when the earlier requests are paid for */
static _Atomic int64_t asks_all, asks_client[ASKS_CLIENTS];

static const table_memory *table_read(void)
{
    return brg_one_writer_read(table.memory);
}

static table_memory *table_write(void)
{
    return brg_one_writer_write(table.memory);
}

static uint64_t table_hash(const void *data, size_t len)
{
    uint64_t h = table.salt;

    for (const unsigned char *c = data, *end = c + len; c < end; c++)
        h = (h ^ *c) * UINT64_C(0x9E3779B97F4A7C15) ^ h >> 29;
    return h ? h : 1;
}

static uint64_t name_hash(const char *name)
{
    return table_hash(name, strlen(name));
}

/* ---- asking ---- */

/* The generic cell rate algorithm. @return 1: it may */
static int asks_take(_Atomic int64_t *paid, int64_t now, int64_t cost, int burst)
{
    int64_t at = atomic_load_explicit(paid, memory_order_relaxed), next;

    do {
        next = (at > now ? at : now) + cost;
        if (next - now > cost * burst)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(paid, &at, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 1;
}

static int asks_may(const tls_named_client *client, apr_time_t now)
{
    const size_t len = client->len > 8 ? 8 : client->len; /* a network of IPv6 */
    const uint64_t who = table_hash(client->address, len) % ASKS_CLIENTS;

    return asks_take(&asks_client[who], now, APR_USEC_PER_SEC, ASKS_CLIENT_BURST) &&
           asks_take(&asks_all, now, APR_USEC_PER_SEC / ASKS_SECOND, ASKS_BURST);
}

/* @return 0; -1: it is not sent, since too many are */
static int table_ask(const md_demand *demand, const char *name, const tls_named_client *client,
                     apr_time_t now)
{
    md_demand_asked asked = {.number = demand->number};
    const size_t len = strlen(name);

    BRG_ASSERT(len < sizeof asked.name);
    if (!asks_may(client, now))
        return -1;
    memcpy(asked.name, name, len + 1);
    return send(table.socket[1], &asked, offsetof(md_demand_asked, name) + len + 1,
                MSG_DONTWAIT | MSG_NOSIGNAL) < 0
               ? -1
               : 0;
}

int md_demand_take(md_demand_asked *asked)
{
    const ssize_t n =
        recv(table.socket[0], asked, sizeof *asked, MSG_DONTWAIT | MSG_TRUNC); /* any process's */

    if (n < 0)
        return -1;
    if ((size_t)n <= offsetof(md_demand_asked, name) || (size_t)n > sizeof *asked ||
        ((const char *)asked)[n - 1] || asked->number >= (uint32_t)md_demands->nelts)
        asked->name[0] = '\0';
    return 0;
}

/* ---- finding ---- */

static const table_slot *slot_find(const char *name, uint32_t *number, table_head *head,
                                   unsigned *version)
{
    const uint64_t hash = name_hash(name);
    const uint32_t first = (uint32_t)(hash % table.sets) * TABLE_WAYS;

    for (uint32_t i = first; i < first + TABLE_WAYS; i++) {
        const table_slot *place = &table_read()->places[i];

        if (atomic_load_explicit(&place->hash, memory_order_relaxed) != hash)
            continue;
        *version = atomic_load_explicit(&place->version, memory_order_acquire);
        if (!md_shared_copy(head, &place->head, sizeof *head, &place->version) ||
            memcmp(head->name, name, strlen(name) + 1) != 0)
            continue;
        *number = i;
        return place;
    }
    return NULL;
}

static table_refused *refused_find(const table_memory *m, uint64_t hash)
{
    return (table_refused *)(uintptr_t)&m->refused[hash % TABLE_REFUSED];
}

int md_demand_is_refused(const char *name)
{
    const uint64_t hash = name_hash(name);
    const table_refused *refused = refused_find(table_read(), hash);

    return atomic_load_explicit(&refused->hash, memory_order_relaxed) == hash &&
           atomic_load_explicit(&refused->until, memory_order_relaxed) > brg_monotonic_now();
}

static tls_named_state table_find(const server_rec *s, const char *name,
                                  const tls_named_client *client, tls_named *found)
{
    const md_demand *demand = md_conf_of(s)->demand;
    const apr_time_t now = brg_monotonic_now();
    table_head head;
    unsigned version;
    int is_ready;

    if (!demand || demand->server != s || strlen(name) >= MD_DEMAND_NAME ||
        !md_demand_name_is_sane(name))
        return TLS_NAMED_NO;
    if (!slot_find(name, &found->slot, &head, &version)) {
        if (md_demand_is_refused(name))
            return TLS_NAMED_NO;
        return client && table_ask(demand, name, client, now) ? TLS_NAMED_NO : TLS_NAMED_WAIT;
    }
    found->version = version;
    is_ready = head.state == PLACE_READY && head.until > apr_time_now();
    if (client && (head.touched + TABLE_TOUCH < now || (head.state == PLACE_READY && !is_ready)))
        table_ask(demand, name, client, now);
    return is_ready ? TLS_NAMED_YES : TLS_NAMED_WAIT;
}

static size_t table_record(const tls_named *named, unsigned char *to, size_t room)
{
    const unsigned char *memory = brg_one_writer_read(table.memory);
    const table_slot *place = &table_read()->places[named->slot];
    const size_t len = place->head.len;

    BRG_ASSERT(named->slot < table.sets * TABLE_WAYS);
    if (len > room || len > MD_DEMAND_RECORD)
        return 0;
    return md_shared_copy(to, memory + table.records + (size_t)named->slot * MD_DEMAND_RECORD, len,
                          &place->version) &&
                   atomic_load(&place->version) == named->version
               ? len
               : 0;
}

/* ---- the daemon's ---- */

static table_slot *slot_at(int place)
{
    BRG_ASSERT(place >= 0 && (uint32_t)place < table.sets * TABLE_WAYS);
    return &table_write()->places[place];
}

static unsigned char *record_at(int place)
{
    return (unsigned char *)table_write() + table.records + (size_t)place * MD_DEMAND_RECORD;
}

/* The head is replaced; a reader sees it before or after, not between. */
static void slot_put(int number, const table_head *head, const unsigned char *record)
{
    table_slot *place = slot_at(number);

    atomic_fetch_or(&place->version, 1); /* odd already where a daemon was killed */
    atomic_thread_fence(memory_order_release);
    if (place->head.len)
        OPENSSL_cleanse(record_at(number), place->head.len);
    place->head = *head;
    if (head->len)
        memcpy(record_at(number), record, head->len);
    atomic_fetch_add(&place->version, 1);
}

void md_demand_free(int number)
{
    atomic_store(&slot_at(number)->hash, 0);
    slot_put(number, &(table_head){.state = PLACE_FREE}, NULL);
}

void md_demand_clear(void)
{
    for (uint32_t i = 0; i < table.sets * TABLE_WAYS; i++)
        if (slot_at((int)i)->head.state != PLACE_FREE || slot_at((int)i)->version & 1)
            md_demand_free((int)i);
}

int md_demand_place(const char *name)
{
    const uint64_t hash = name_hash(name);
    const int first = (int)(hash % table.sets) * TABLE_WAYS;
    table_head head = {.state = PLACE_PENDING, .touched = brg_monotonic_now()};

    BRG_ASSERT(strlen(name) < sizeof head.name);
    memcpy(head.name, name, strlen(name) + 1);
    for (int i = first; i < first + TABLE_WAYS; i++) {
        if (slot_at(i)->head.state != PLACE_FREE)
            continue;
        slot_put(i, &head, NULL);
        atomic_store(&slot_at(i)->hash, hash);
        return i;
    }
    return -1;
}

void md_demand_ready(int number, const unsigned char *record, size_t len, apr_time_t until)
{
    table_head head = slot_at(number)->head;

    BRG_ASSERT(len > 0 && len <= MD_DEMAND_RECORD);
    head.state = PLACE_READY;
    head.until = until;
    head.len = len;
    slot_put(number, &head, record);
}

/* Without a new version: handshakes go on with the certificate that they have. */
void md_demand_touch(int number)
{
    __atomic_store_n(&slot_at(number)->head.touched, brg_monotonic_now(), __ATOMIC_RELAXED);
}

void md_demand_refuse(const char *name, int seconds)
{
    const uint64_t hash = name_hash(name);
    table_refused *refused = refused_find(table_write(), hash);

    BRG_ASSERT(seconds > 0);
    atomic_store(&refused->hash, hash);
    atomic_store(&refused->until, brg_monotonic_now() + apr_time_from_sec(seconds));
}

/* ---- life ---- */

static apr_status_t table_end(void *unused)
{
    tls_namer_set(NULL);
    for (int i = 0; i < 2; i++) {
        if (table.socket[i] >= 0)
            close(table.socket[i]);
        table.socket[i] = -1;
    }
    table.memory = NULL;
    return APR_SUCCESS;
}

apr_status_t md_demand_begin(apr_pool_t *p)
{
    static const tls_namer namer = {.find = table_find,
                                    .read = table_record,
                                    .most = MD_DEMAND_RECORD,
                                    .wait = &md_demand_limit.wait};
    apr_status_t rv;
    size_t heads;

    BRG_ASSERT(!table.memory && md_demand_limit.names > 0);
    table.sets = ((uint32_t)md_demand_limit.names * 2 + TABLE_WAYS - 1) / TABLE_WAYS;
    heads = sizeof(table_memory) + (size_t)table.sets * TABLE_WAYS * sizeof(table_slot);
    table.records = (heads + 4095) / 4096 * 4096;
    apr_pool_create(&table.pool, p);
    rv = brg_one_writer_create(&table.memory, "brigade-names",
                               table.records + (size_t)table.sets * TABLE_WAYS * MD_DEMAND_RECORD,
                               table.pool);
    if (rv != APR_SUCCESS)
        return rv;
    apr_pool_cleanup_register(table.pool, NULL, table_end, apr_pool_cleanup_null);
    if (RAND_bytes((unsigned char *)&table.salt, sizeof table.salt) != 1)
        return APR_EGENERAL;
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, table.socket))
        return errno;
    tls_namer_set(&namer);
    return APR_SUCCESS;
}

void md_demand_hand(int on)
{
    if (table.memory)
        brg_one_writer_hand(table.memory, on);
}

int md_demand_socket(void)
{
    return table.socket[0];
}

void md_demand_child(void)
{
    if (table.socket[0] >= 0)
        close(table.socket[0]);
    table.socket[0] = -1;
}

void md_demand_leave(void)
{
    if (table.memory)
        apr_pool_destroy(table.pool);
}
