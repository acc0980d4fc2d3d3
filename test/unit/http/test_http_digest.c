/* SPDX-License-Identifier: Apache-2.0 */
/* Known digests: what is found is what was kept for that state of that file, whoever writes meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "http_digest.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILES 40000 /* more than there is room for */
#define THREADS 4

static file_identity identity_of(unsigned n)
{
    return (file_identity){.dev = 1, .ino = n, .size = n * 3, .mtime_ns = n + 1, .ctime_ns = n + 2};
}

static void digest_for(unsigned n, unsigned char digest[APR_SHA1_DIGESTSIZE])
{
    for (unsigned i = 0; i < APR_SHA1_DIGESTSIZE; i++)
        digest[i] = (unsigned char)(n * 31 + i * (n >> 8));
}

static int is_right(unsigned n, const unsigned char *found)
{
    unsigned char want[APR_SHA1_DIGESTSIZE];

    digest_for(n, want);
    return memcmp(found, want, sizeof want) == 0;
}

static void test_states(void **state)
{
    unsigned char digest[APR_SHA1_DIGESTSIZE], found[APR_SHA1_DIGESTSIZE];
    file_identity id = identity_of(7);

    assert_false(http_digest_find(&id, found));
    digest_for(7, digest);
    http_digest_keep(&id, digest);
    assert_true(http_digest_find(&id, found) && is_right(7, found));
    id.ctime_ns++;
    assert_false(http_digest_find(&id, found));
    digest_for(8, digest);
    http_digest_keep(&id, digest);
    assert_true(http_digest_find(&id, found) && is_right(8, found));
}

static void *hammer(void *wrong)
{
    unsigned char digest[APR_SHA1_DIGESTSIZE], found[APR_SHA1_DIGESTSIZE];

    for (unsigned i = 0; i < 4 * FILES; i++) {
        const unsigned n = 100 + i * 7919 % FILES;
        const file_identity id = identity_of(n);

        if (http_digest_find(&id, found) && !is_right(n, found))
            ++*(int *)wrong;
        digest_for(n, digest);
        http_digest_keep(&id, digest);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0};

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, &wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

static void test_files(void **state)
{
    static const unsigned char abc[] = {0xa9, 0x99, 0x3e, 0x36}; /* FIPS 180-2, A.1 */
    unsigned char digest[APR_SHA1_DIGESTSIZE];
    FILE *f = tmpfile();
    file_identity id;
    int64_t now;

    assert_non_null(f);
    assert_int_equal(pwrite(fileno(f), "abc", 3, 0), 3);
    assert_int_equal(file_identity_take(&id, fileno(f), NULL), 0);
    now = id.ctime_ns / 1000;
    assert_true(http_digest_of(fileno(f), now + 900000, digest)); /* it may still change unseen */
    assert_memory_equal(digest, abc, sizeof abc);
    assert_false(http_digest_find(&id, digest));
    assert_true(http_digest_of(fileno(f), now + 1100000, digest));
    assert_true(http_digest_find(&id, digest));
    assert_memory_equal(digest, abc, sizeof abc);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_files)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
