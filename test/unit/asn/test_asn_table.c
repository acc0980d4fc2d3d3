/* SPDX-License-Identifier: Apache-2.0 */
/* The table of prefixes against one that looks at all of them, and under readers that never wait. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "test_pool.h"
#include "asn_private.h"

#define NAIVE 400

typedef struct naive_route {
    brg_asn_prefix prefix;
    uint32_t origin; /* 0: not there */
} naive_route;

static uint64_t seed = 0x1234567;

static uint32_t chance(uint32_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static brg_asn_table *new_table(apr_pool_t *p, size_t bytes)
{
    brg_asn_table *t;

    assert_int_equal(brg_asn_table_create(&t, bytes, p), APR_SUCCESS);
    return t;
}

static brg_asn_ref ref_of(brg_asn_writer *w, uint32_t origin)
{
    unsigned char path[6] = {2,
                             1,
                             (unsigned char)(origin >> 24),
                             (unsigned char)(origin >> 16),
                             (unsigned char)(origin >> 8),
                             (unsigned char)origin};
    uint32_t communities[2] = {origin << 16 | 7, origin};
    brg_asn_attributes a = {.origin = origin,
                            .path = path,
                            .path_bytes = 6,
                            .communities = communities,
                            .communities_count = origin % 3};
    brg_asn_ref ref;

    assert_int_equal(brg_asn_attributes_hold(w, &a, &ref), APR_SUCCESS);
    return ref;
}

static apr_status_t announce(brg_asn_writer *w, int rib, const brg_asn_prefix *p, uint32_t origin)
{
    brg_asn_ref ref = ref_of(w, origin);
    apr_status_t rv = brg_asn_announce(w, rib, p, ref);

    brg_asn_attributes_release(w, ref);
    return rv;
}

/* Addresses that share much: few values of each byte, so that nodes fill, split and collapse. */
static void some_address(unsigned char *to)
{
    static const unsigned char values[] = {0, 1, 127, 128, 255, 64};

    for (int i = 0; i < 16; i++)
        to[i] = values[chance(i < 2 || i > 4 ? 2 : 6)];
}

static brg_asn_prefix some_prefix(void)
{
    brg_asn_prefix p = {.family = (unsigned char)chance(2)};

    p.length =
        (unsigned char)(chance(4) ? chance(p.family ? 129 : 33) : 8 * chance(p.family ? 17 : 5));
    some_address(p.address);
    return p;
}

static int same_prefix(const brg_asn_prefix *a, const brg_asn_prefix *b)
{
    return a->family == b->family && a->length == b->length &&
           asn_covers(a->address, b->address, a->length);
}

static naive_route *naive_find(naive_route *routes, const brg_asn_prefix *p)
{
    naive_route *hole = NULL;

    for (int i = 0; i < NAIVE; i++) {
        if (routes[i].origin && same_prefix(&routes[i].prefix, p))
            return &routes[i];
        if (!routes[i].origin)
            hole = &routes[i];
    }
    return hole;
}

static const naive_route *naive_lookup(const naive_route *routes, int family,
                                       const unsigned char *address)
{
    const naive_route *best = NULL;

    for (int i = 0; i < NAIVE; i++)
        if (routes[i].origin && routes[i].prefix.family == family &&
            asn_covers(routes[i].prefix.address, address, routes[i].prefix.length) &&
            (!best || routes[i].prefix.length > best->prefix.length))
            best = &routes[i];
    return best;
}

static void compare(const brg_asn_table *t, const naive_route *routes, int times)
{
    for (int i = 0; i < times; i++) {
        unsigned char address[16];
        brg_asn_route r;
        brg_asn_detail d;
        int family = (int)chance(2);
        const naive_route *n;

        some_address(address);
        n = naive_lookup(routes, family, address);
        assert_int_equal(brg_asn_lookup(t, family, address, &r, &d), n != NULL);
        if (!n)
            continue;
        assert_int_equal(r.origin, n->origin);
        assert_int_equal(r.length, n->prefix.length);
        assert_int_equal(d.path_bytes, 6);
        assert_int_equal(brg_asn_path_origin((unsigned char *)d.path, 6), n->origin);
        assert_int_equal(d.communities_count, n->origin % 3);
    }
}

static void one_change(brg_asn_writer *w, naive_route *routes)
{
    brg_asn_prefix p = some_prefix();
    naive_route *n = naive_find(routes, &p);

    if (chance(5) < 2 && n && n->origin)
        p = n->prefix;
    else if (chance(3) == 0)
        p = routes[chance(NAIVE)].prefix;
    n = naive_find(routes, &p);
    if (chance(2) && n) {
        uint32_t origin = 1 + chance(50);

        assert_int_equal(announce(w, 0, &p, origin), APR_SUCCESS);
        *n = (naive_route){p, origin};
    } else {
        assert_int_equal(brg_asn_withdraw(w, 0, &p), n && n->origin ? APR_SUCCESS : APR_NOTFOUND);
        if (n)
            n->origin = 0;
    }
}

static void test_as_a_naive_table(void **state)
{
    apr_pool_t *p = test_pool;
    brg_asn_table *t = new_table(p, 8 << 20);
    brg_asn_writer *w = brg_asn_writer_begin(t);
    naive_route *routes = calloc(NAIVE, sizeof *routes);
    uint32_t there[2] = {0, 0};

    for (int i = 0; i < 60000; i++) {
        one_change(w, routes);
        if (i % 20 == 0)
            compare(t, routes, 10);
    }
    for (int i = 0; i < NAIVE; i++)
        if (routes[i].origin)
            there[routes[i].prefix.family]++;
    assert_int_equal(brg_asn_rib_routes(w, 0, ASN_IPV4), there[0]);
    assert_int_equal(brg_asn_rib_routes(w, 0, ASN_IPV6), there[1]);
    for (int i = 0; i < NAIVE; i++)
        if (routes[i].origin)
            assert_int_equal(brg_asn_withdraw(w, 0, &routes[i].prefix), APR_SUCCESS);
    assert_int_equal(asn_get(&t->shared->ribs[0].root[0]) | asn_get(&t->shared->ribs[0].root[1]), 0);
    assert_int_equal(w->interned_count, 0);
    free(routes);
    brg_asn_writer_end(w);
}

/* Memory does not grow when the same routes come and go. */
static void test_memory_is_used_again(void **state)
{
    apr_pool_t *p = test_pool;
    brg_asn_table *t = new_table(p, 8 << 20);
    brg_asn_writer *w = brg_asn_writer_begin(t);
    size_t before = 0;

    for (int round = 0; round < 40; round++) {
        seed = 99;
        for (int i = 0; i < 2000; i++) {
            brg_asn_prefix x = some_prefix();

            assert_int_equal(announce(w, 0, &x, 1 + chance(50)), APR_SUCCESS);
        }
        brg_asn_rib_clear(w, 0);
        if (round == 20)
            before = brg_asn_table_bytes(t);
    }
    assert_int_equal(brg_asn_table_bytes(t), before);
    brg_asn_writer_end(w);
}

static void test_a_full_table_says_so_and_keeps_what_it_has(void **state)
{
    apr_pool_t *p = test_pool;
    brg_asn_table *t = new_table(p, 0);
    brg_asn_writer *w = brg_asn_writer_begin(t);
    brg_asn_prefix x = {ASN_IPV6, 128, {0x20, 1}};
    brg_asn_route r;
    uint32_t n = 0;

    while (memcpy(x.address + 4, &(uint32_t){n * 2654435761u}, 4),
           announce(w, 0, &x, 5) == APR_SUCCESS)
        n++;
    assert_true(n > 1000);
    assert_int_equal(brg_asn_rib_routes(w, 0, ASN_IPV6), n);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(x.address + 4, &(uint32_t){i * 2654435761u}, 4);
        assert_true(brg_asn_lookup(t, ASN_IPV6, x.address, &r, NULL));
        assert_int_equal(brg_asn_withdraw(w, 0, &x), APR_SUCCESS);
    }
    brg_asn_writer_end(w);
}

static void test_sets_of_routes(void **state)
{
    apr_pool_t *p = test_pool;
    brg_asn_table *t = new_table(p, 0);
    brg_asn_writer *w = brg_asn_writer_begin(t);
    brg_asn_prefix wide = {ASN_IPV4, 8, {10}}, narrow = {ASN_IPV4, 16, {10, 1}};
    unsigned char address[16] = {10, 1, 2, 3};
    brg_asn_route r;

    assert_false(brg_asn_ready(t));
    assert_int_equal(announce(w, 0, &wide, 8), APR_SUCCESS);
    assert_int_equal(announce(w, 3, &narrow, 16), APR_SUCCESS);
    assert_true(brg_asn_lookup(t, ASN_IPV4, address, &r, NULL));
    assert_int_equal(r.origin, 16); /* the longest of all sets */
    assert_int_equal(r.rib, 3);
    assert_int_equal(brg_asn_rib_begin(w, 3), APR_SUCCESS);
    assert_int_equal(announce(w, 3, &narrow, 17), APR_SUCCESS);
    assert_true(brg_asn_lookup(t, ASN_IPV4, address, &r, NULL));
    assert_int_equal(r.origin, 16); /* the new set is not seen before it is whole */
    brg_asn_rib_commit(w, 3);
    assert_true(brg_asn_lookup(t, ASN_IPV4, address, &r, NULL));
    assert_int_equal(r.origin, 17);
    assert_true(brg_asn_ready(t));
    brg_asn_rib_clear(w, 3);
    assert_false(brg_asn_ready(t));
    assert_true(brg_asn_lookup(t, ASN_IPV4, address, &r, NULL));
    assert_int_equal(r.origin, 8);
    assert_int_equal(announce(w, 0, &narrow, 4), APR_SUCCESS);
    assert_int_equal(announce(w, 1, &narrow, 5), APR_SUCCESS);
    assert_true(brg_asn_lookup(t, ASN_IPV4, address, &r, NULL));
    assert_int_equal(r.origin, 4); /* of equal ones the first */
    brg_asn_writer_end(w);
}

/* ---- readers while the writer writes: also under the thread sanitizer ---- */

#define HALVES \
    64 /* routes: 10.n.0.0/16 is always there, of AS n + 1; what is below comes and goes, of AS 1000 + n */

typedef struct race {
    brg_asn_table *table;
    _Atomic int over;
    _Atomic unsigned long looked;
} race;

static void *reader(void *data)
{
    race *c = data;
    uint64_t s = (uintptr_t)&s;

    while (!atomic_load(&c->over)) {
        unsigned char address[16] = {10};
        brg_asn_route r;
        brg_asn_detail d;

        s = s * 6364136223846793005ull + 1442695040888963407ull;
        address[1] = (unsigned char)((s >> 33) % HALVES);
        address[2] = (unsigned char)(s >> 41);
        assert_true(brg_asn_lookup(c->table, ASN_IPV4, address, &r, &d));
        assert_true(r.length == 16 ? r.origin == address[1] + 1u : r.origin == 1000u + address[1]);
        assert_int_equal(brg_asn_path_origin((unsigned char *)d.path, d.path_bytes), r.origin);
        atomic_fetch_add_explicit(&c->looked, 1, memory_order_relaxed);
    }
    return NULL;
}

static void churn(brg_asn_writer *w)
{
    brg_asn_prefix x = {
        ASN_IPV4, 0, {10, (unsigned char)chance(HALVES), (unsigned char)chance(256)}};

    x.length = (unsigned char)(17 + chance(12));
    if (chance(2))
        assert_int_equal(announce(w, 0, &x, 1000u + x.address[1]), APR_SUCCESS);
    else
        brg_asn_withdraw(w, 0, &x);
}

static void test_readers_never_see_half_a_change(void **state)
{
    apr_pool_t *p = test_pool;
    race c = {.table = new_table(p, 8 << 20)};
    brg_asn_writer *w = brg_asn_writer_begin(c.table);
    pthread_t threads[2];

    for (int i = 0; i < HALVES; i++)
        assert_int_equal(announce(w, 0, &(brg_asn_prefix){ASN_IPV4, 16, {10, (unsigned char)i}},
                                  (uint32_t)i + 1),
                         APR_SUCCESS);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, reader, &c);
    for (int i = 0; i < 100000 || atomic_load(&c.looked) < 10000; i++)
        churn(w);
    atomic_store(&c.over, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    brg_asn_writer_end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_POOL(test_as_a_naive_table),
        TEST_WITH_POOL(test_memory_is_used_again),
        TEST_WITH_POOL(test_a_full_table_says_so_and_keeps_what_it_has),
        TEST_WITH_POOL(test_sets_of_routes),
        TEST_WITH_POOL(test_readers_never_see_half_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
