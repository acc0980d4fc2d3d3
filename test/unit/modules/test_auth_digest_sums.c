/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs of Digest by sums that are kept are those that are computed anew, whoever asks for what in between. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apr_general.h"
#include "auth_digest_sums.h"

#define NONCE "AAAAAAAAAAA="

static unsigned sums_next(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345;
    return *seed / 65536 % below;
}

static void check(unsigned *seed)
{
    static const char *const methods[] = {"GET", "HEAD", "PROPPATCH"};
    const apr_uint64_t realm[2] = {sums_next(seed, 2), 1};
    const char *method = methods[sums_next(seed, 3)];
    char user[80], nonce[DIGEST_NONCE_LEN + 1], uri[400], hash[DIGEST_HASH_LEN + 1];
    char client[DIGEST_HASH_LEN + 1], server[DIGEST_HASH_LEN + 1], expected[DIGEST_HASH_LEN + 1];
    digest_field field = {.username = user, .nonce = nonce, .uri = uri, .qop = "auth", .nc = "1"};
    digest_session *session;

    field.cnonce = sums_next(seed, 2) ? "c" : "another one";
    snprintf(user, sizeof user, "user%u", sums_next(seed, 3));
    snprintf(nonce, sizeof nonce, "%s%040u", NONCE, sums_next(seed, 300));
    snprintf(uri, sizeof uri, "/%0*u", sums_next(seed, 20) ? 4 : 300, sums_next(seed, 300));
    snprintf(hash, sizeof hash, "%032u", sums_next(seed, 50) ? 7 : 8);
    session = digest_session_of(realm, &field);
    assert_non_null(session);
    assert_string_equal(session->user, user);
    digest_session_proofs(session, hash, &field, method, strlen(method), client, server);
    digest_response_put(expected, &field, hash, method, strlen(method));
    assert_string_equal(client, expected);
    digest_response_put(expected, &field, hash, "", 0);
    assert_string_equal(server, expected);
}

static void test_proofs(void **state)
{
    unsigned seed = 1;

    for (int i = 0; i < 20000; i++)
        check(&seed);
}

static void test_sessions(void **state)
{
    const apr_uint64_t one[2] = {1, 1}, other[2] = {1, 2};
    digest_field field = {.username = "joe",
                          .nonce = NONCE "0123456789012345678901234567890123456789"};
    char user[DIGEST_USER_MOST + 1];
    digest_session *session = digest_session_of(one, &field);

    assert_non_null(session);
    session->nonce_is_good = 1;
    assert_ptr_equal(digest_session_of(one, &field), session);
    assert_int_equal(session->nonce_is_good, 1);
    assert_int_equal(digest_session_of(other, &field)->nonce_is_good, 0);
    field.username = "joey";
    session = digest_session_of(one, &field);
    assert_int_equal(session->nonce_is_good, 0);
    memset(user, 'u', sizeof user);
    user[DIGEST_USER_MOST] = '\0';
    field.username = user;
    assert_null(digest_session_of(one, &field));
}

/* Of a hash whose first byte alone may be read: 1 if the rest is looked at, though that byte differs. */
static int equal_reads_all(const char *given)
{
    const long page = sysconf(_SC_PAGESIZE);
    char *two =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int status;

    assert_true(two != MAP_FAILED);
    two[page - 1] = '0';
    assert_int_equal(mprotect(two + page, (size_t)page, PROT_NONE), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        _exit(digest_equal(two + page - 1, given));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    munmap(two, 2 * (size_t)page);
    return !WIFEXITED(status) || WEXITSTATUS(status) > 1;
}

static void test_equal(void **state)
{
    const char *hash = "0123456789abcdef0123456789abcdef";

    assert_true(digest_equal(hash, "0123456789abcdef0123456789abcdef"));
    assert_false(digest_equal(hash, ""));
    assert_false(digest_equal(hash, "0123456789abcdef0123456789abcde"));
    assert_false(digest_equal(hash, "0123456789abcdef0123456789abcdef0"));
    assert_false(digest_equal(hash, "x123456789abcdef0123456789abcdef"));
    assert_false(digest_equal(hash, "0123456789abcdef0123456789abcdex"));
    assert_true(equal_reads_all("x123456789abcdef0123456789abcdef")); /* its time tells nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_proofs),
                                       cmocka_unit_test(test_sessions),
                                       cmocka_unit_test(test_equal)};

    apr_pool_t *p;

    apr_initialize();
    apr_pool_create(&p, NULL);
    auth_memory_open(p);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
