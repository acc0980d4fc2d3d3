/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of session tickets over days, with a clock of the test's: they change, tickets of those before are taken for a
 * time, and threads agree while they change. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <openssl/evp.h>
#include "tls_context_private.h"

#define HOUR 3600
#define THREADS 4
#define ROTATIONS 12

static _Atomic int64_t ahead;     /* seconds */
static _Atomic int64_t date_step; /* the date was set by so many */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __real_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = __real_clock_gettime(clock, t);

    t->tv_sec += atomic_load(&ahead);
    if (clock == CLOCK_REALTIME)
        t->tv_sec += atomic_load(&date_step);
    return rc;
}

/* What a loop has, and a ticket. */
typedef struct ticket {
    SSL_CTX *ctx;
    SSL *ssl;
    EVP_MAC *mac;
    unsigned char name[16], iv[EVP_MAX_IV_LENGTH];
    unsigned char sealed[64], tag[32];
} ticket;

static void ticket_begin(ticket *t)
{
    t->ctx = SSL_CTX_new(TLS_server_method());
    t->ssl = SSL_new(t->ctx);
    t->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
}

static void ticket_end(ticket *t)
{
    EVP_MAC_free(t->mac);
    SSL_free(t->ssl);
    SSL_CTX_free(t->ctx);
}

/* As OpenSSL does it. @return what tls_ticket() said; -2: a ticket that was not sealed with these keys */
static int ticket_run(ticket *t, int seal)
{
    static const unsigned char plain[32] = "a session";
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(t->mac);
    unsigned char out[64], tag[32];
    int rc = tls_ticket(t->ssl, t->name, t->iv, cipher, mac, seal), n = 0, last = 0;
    size_t len = 0;

    if (rc > 0 && seal) {
        assert_true(EVP_EncryptUpdate(cipher, t->sealed, &n, plain, sizeof plain) &&
                    EVP_EncryptFinal_ex(cipher, t->sealed + n, &last));
        assert_true(EVP_MAC_init(mac, NULL, 0, NULL) && EVP_MAC_update(mac, t->sealed, 48) &&
                    EVP_MAC_final(mac, t->tag, &len, sizeof t->tag));
    } else if (rc > 0) {
        assert_true(EVP_MAC_init(mac, NULL, 0, NULL) && EVP_MAC_update(mac, t->sealed, 48) &&
                    EVP_MAC_final(mac, tag, &len, sizeof tag));
        if (memcmp(tag, t->tag, sizeof tag) != 0 ||
            !EVP_DecryptUpdate(cipher, out, &n, t->sealed, 48) ||
            !EVP_DecryptFinal_ex(cipher, out + n, &last) || memcmp(out, plain, sizeof plain) != 0)
            rc = -2;
    }
    EVP_CIPHER_CTX_free(cipher);
    EVP_MAC_CTX_free(mac);
    return rc;
}

static void a_day_and_an_hour(void **state)
{
    ticket old, now;

    ticket_begin(&old);
    ticket_begin(&now);
    assert_int_equal(ticket_run(&old, 1), 1);
    assert_true(ticket_run(&old, 0) > 0);
    for (int hour = 1; hour <= 25; hour++) {
        int said;

        atomic_fetch_add(&ahead, HOUR);
        assert_int_equal(ticket_run(&now, 1), 1);
        assert_int_equal(memcmp(now.name, old.name, 16) == 0, hour < 8);
        assert_true(ticket_run(&now, 0) > 0);
        said = ticket_run(&old, 0); /* a new one is to be given with it, in TLS 1.3 always */
        assert_int_equal(said, hour < 24 ? 2 : 0);
    }
    ticket_end(&old);
    ticket_end(&now);
}

/* A machine that began with a wrong date, say. */
static void a_key_does_not_last_when_the_date_is_set_back(void **state)
{
    ticket old, now;

    ticket_begin(&old);
    ticket_begin(&now);
    assert_int_equal(ticket_run(&old, 1), 1);
    atomic_store(&date_step, -365 * 24 * HOUR);
    atomic_fetch_add(&ahead, 9 * HOUR);
    assert_int_equal(ticket_run(&now, 1), 1);
    assert_int_not_equal(memcmp(now.name, old.name, 16), 0);
    assert_int_equal(ticket_run(&old, 0), 2);
    ticket_end(&old);
    ticket_end(&now);
}

static void unknown_names_are_not_taken(void **state)
{
    ticket t;

    ticket_begin(&t);
    assert_int_equal(ticket_run(&t, 1), 1);
    t.name[15] ^= 1;
    assert_int_equal(ticket_run(&t, 0), 0);
    ticket_end(&t);
}

/* ---- at once ---- */

static _Atomic unsigned rounds[THREADS];
static atomic_int over;

static void *use(void *which)
{
    ticket t;
    intptr_t wrong = 0;

    ticket_begin(&t);
    while (!atomic_load(&over)) {
        wrong += ticket_run(&t, 1) != 1;
        wrong += ticket_run(&t, 0) < 1;
        atomic_fetch_add((_Atomic unsigned *)which, 1);
    }
    ticket_end(&t);
    return (void *)wrong;
}

/* Every thread has used the keys of now. */
static void all_have_come_by(void)
{
    for (int i = 0; i < THREADS; i++)
        for (unsigned before = atomic_load(&rounds[i]); atomic_load(&rounds[i]) - before < 2;)
            sched_yield();
}

static void threads_agree_while_keys_change(void **state)
{
    pthread_t threads[THREADS];
    ticket first, last;
    void *wrong;

    ticket_begin(&first);
    ticket_begin(&last);
    assert_int_equal(ticket_run(&first, 1), 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, &rounds[i]), 0);
    for (int i = 0; i < ROTATIONS; i++) {
        atomic_fetch_add(&ahead, 8 * HOUR);
        all_have_come_by();
    }
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(ticket_run(&last, 1), 1);
    assert_memory_not_equal(last.name, first.name, 16);
    assert_int_equal(ticket_run(&first, 0), 0);
    ticket_end(&first);
    ticket_end(&last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_and_an_hour), cmocka_unit_test(unknown_names_are_not_taken),
        cmocka_unit_test(a_key_does_not_last_when_the_date_is_set_back),
        cmocka_unit_test(threads_agree_while_keys_change)};

    return tls_tickets_begin() ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
