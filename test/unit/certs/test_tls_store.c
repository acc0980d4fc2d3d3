/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates on their way to the loops: what comes out is what was put last, or what was put before it, whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <apr_general.h>
#include "tls_certificate.h"

#define READERS 3
#define PUTS 300

static apr_pool_t *pool;

static tls_der *der(unsigned char byte, int len)
{
    tls_der *d = apr_palloc(pool, sizeof *d);

    d->data = apr_palloc(pool, (apr_size_t)len);
    d->len = len;
    memset(d->data, byte, (size_t)len);
    return d;
}

/* Two pairs whose bytes tell the version. */
static apr_array_header_t *pairs_of(unsigned char version, int len)
{
    apr_array_header_t *pairs = apr_array_make(pool, 2, sizeof(tls_pair));

    for (int i = 0; i < 2; i++) {
        tls_pair *pair = apr_array_push(pairs);

        memset(pair, 0, sizeof *pair);
        pair->cert_file = "cert";
        pair->key_file = "key";
        pair->key = der(version, len);
        pair->ticket = i ? NULL : der(version, 48);
        pair->chain = apr_array_make(pool, 2, sizeof(tls_der *));
        APR_ARRAY_PUSH(pair->chain, tls_der *) = der(version, len + 1);
        APR_ARRAY_PUSH(pair->chain, tls_der *) = der(version, len + 2);
    }
    return pairs;
}

static int der_is(const tls_der *d, int version)
{
    for (int i = 0; i < d->len; i++)
        if (d->data[i] != version)
            return 0;
    return 1;
}

/* @return the version that all of it is of, or -1 */
static int version_of(const tls_stored *stored)
{
    int version = APR_ARRAY_IDX(stored->pairs, 0, tls_pair).key->data[0];

    for (int i = 0; i < stored->pairs->nelts; i++) {
        const tls_pair *pair = &APR_ARRAY_IDX(stored->pairs, i, tls_pair);

        if (!der_is(pair->key, version) || pair->chain->nelts != 2 || pair->dh ||
            (pair->ticket == NULL) != i)
            return -1;
        for (int k = 0; k < 2; k++)
            if (!der_is(APR_ARRAY_IDX(pair->chain, k, const tls_der *), version))
                return -1;
    }
    return stored->pairs->nelts == 2 ? version : -1;
}

static void what_was_put_comes_out(void **state)
{
    const apr_array_header_t *one = pairs_of(1, 100), *two = pairs_of(2, 5000);
    tls_stored stored;
    apr_pool_t *p;

    apr_pool_create(&p, pool);
    assert_int_equal(tls_store_begin(p, 2), 0);
    assert_int_equal(tls_store_get(0, p, &stored), -1);
    assert_int_equal(tls_store_put(0, one), 0);
    assert_int_equal(tls_store_put(1, two), 0);
    assert_int_equal(tls_store_get(0, p, &stored), 0);
    assert_int_equal(version_of(&stored), 1);
    assert_int_equal(stored.version, tls_store_version(0));
    assert_true(tls_store_has(0, one) && !tls_store_has(0, two) && tls_store_has(1, two));
    assert_int_equal(tls_store_put(0, two), 0);
    assert_int_not_equal(stored.version, tls_store_version(0));
    assert_int_equal(tls_store_get(0, p, &stored), 0);
    assert_int_equal(version_of(&stored), 2);
    apr_pool_destroy(p);
}

static void too_much_is_refused_and_what_was_there_stays(void **state)
{
    tls_stored stored;
    apr_pool_t *p;

    apr_pool_create(&p, pool);
    assert_int_equal(tls_store_begin(p, 1), 0);
    assert_int_equal(tls_store_put(0, pairs_of(3, 10)), 0);
    assert_int_equal(tls_store_put(0, pairs_of(4, 1 << 19)), -1);
    assert_int_equal(tls_store_get(0, p, &stored), 0);
    assert_int_equal(version_of(&stored), 3);
    apr_pool_destroy(p);
}

/* ---- readers while it changes ---- */

static atomic_int over;
static _Atomic unsigned taken;

static void *take(void *unused)
{
    intptr_t wrong = 0;
    int last = 0;

    while (!atomic_load(&over)) {
        tls_stored stored;
        apr_pool_t *p;

        apr_pool_create(&p, NULL);
        if (!tls_store_get(0, p, &stored)) {
            int version = version_of(&stored);

            wrong += version < last; /* torn, or older than before */
            last = version;
            atomic_fetch_add(&taken, 1);
        }
        apr_pool_destroy(p);
    }
    return (void *)wrong;
}

static void readers_see_whole_ones(void **state)
{
    pthread_t threads[READERS];
    apr_pool_t *p;
    void *wrong;

    apr_pool_create(&p, pool);
    assert_int_equal(tls_store_begin(p, 1), 0);
    tls_store_open();
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take, NULL), 0);
    for (int i = 0; i < PUTS; i++)
        assert_int_equal(tls_store_put(0, pairs_of((unsigned char)(i * 255 / PUTS), 64 + i * 20)),
                         0);
    for (unsigned before = atomic_load(&taken); atomic_load(&taken) - before < READERS;)
        sched_yield();
    atomic_store(&over, 1);
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    apr_pool_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_comes_out),
        cmocka_unit_test(too_much_is_refused_and_what_was_there_stays),
        cmocka_unit_test(readers_see_whole_ones)};
    int failed;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    apr_pool_destroy(pool);
    return failed;
}
