/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of session tickets. They lie in memory that the supervisor made before its first server
 * process and that all of them share, so they last over reloads and upgrades. A key is used for
 * TICKET_SECONDS, and tickets of the two before it are still taken. Whoever finds the current key
 * too old makes the next one; readers look at the number of keys made, and at slots that are not
 * written any more. Any server process can write there: numbers are checked before use. */
#include "tls_certificate.h"
#include "tls_context_private.h"
#include "kept_memory.h"
#include "brigade/assert.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

APLOG_USE_MODULE(ssl);

#define TICKET_SECONDS (8 * 3600)
#define TICKET_SLOTS 4 /* the current one, two before it, one that may be written */
#define TICKET_TAKEN 3
#define TICKET_WRITE_SECONDS 10 /* a writer that takes longer has died */

typedef struct ticket_key {
    _Atomic int64_t born; /* ticket_now() */
    unsigned char name[16], aes[32], hmac[32];
} ticket_key;

typedef struct ticket_keys {
    /* keys made so far; the current one is in slot (made - 1) % TICKET_SLOTS */
    _Atomic uint32_t made;
    _Atomic int64_t writer; /* 0, or since when somebody makes the next one */
    ticket_key key[TICKET_SLOTS];
} ticket_keys;

static ticket_keys *tickets;

/* Seconds since the machine started, sleep included: by the date, a key would be used for as long as that was set back. */
static int64_t ticket_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec;
}

/* A time in the future was never put. */
static int ticket_is_within(int64_t then, int64_t now, int64_t seconds)
{
    return then <= now && now - then < seconds;
}

/* ---- making ---- */

static int ticket_make(ticket_key *key)
{
    unsigned char random[sizeof key->name + sizeof key->aes + sizeof key->hmac];

    if (RAND_priv_bytes(random, sizeof random) != 1)
        return -1;
    memcpy(key->name, random, sizeof key->name);
    memcpy(key->aes, random + sizeof key->name, sizeof key->aes);
    memcpy(key->hmac, random + sizeof key->name + sizeof key->aes, sizeof key->hmac);
    OPENSSL_cleanse(random, sizeof random);
    atomic_store(&key->born, ticket_now());
    return 0;
}

static void ticket_rotate(uint32_t made)
{
    int64_t now = ticket_now(), writer = atomic_load(&tickets->writer);

    if (writer && ticket_is_within(writer, now, TICKET_WRITE_SECONDS))
        return;
    if (!atomic_compare_exchange_strong(&tickets->writer, &writer, now))
        return;
    if (atomic_load(&tickets->made) == made && !ticket_make(&tickets->key[made % TICKET_SLOTS]))
        atomic_store(&tickets->made, made + 1);
    atomic_store(&tickets->writer, 0);
}

/* ---- SSLSessionTicketKeyFile: as mod_ssl has it, 16 bytes each of name, HMAC key and AES key ---- */

typedef struct ticket_file {
    int n; /* of keys: tickets are made with the first and taken with both */
    unsigned char key[2][TLS_TICKET_KEY];
} ticket_file;

static int ticket_file_index = -1;

static void ticket_file_free(void *parent, void *file, CRYPTO_EX_DATA *ad, int index, long l,
                             void *p)
{
    OPENSSL_clear_free(file, sizeof(ticket_file));
}

/* Before there are loops. */
static void ticket_file_register(void)
{
    BRG_ASSERT(ticket_file_index >= 0 || !loop_self());
    if (ticket_file_index < 0)
        ticket_file_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, ticket_file_free);
}

int tls_tickets_begin(void)
{
    ticket_file_register();
    if (tickets)
        return 0;
    tickets = kept_memory_map("tls-tickets-2", sizeof *tickets);
    if (!tickets)
        return -1;
    if (!atomic_load(&tickets->made)) { /* else of the program that this one replaced */
        atomic_store(&tickets->writer, 0);
        ticket_rotate(0);
    }
    return atomic_load(&tickets->made) ? 0 : -1;
}

/* ---- use ---- */

/* NULL: no valid key */
static const ticket_key *ticket_current(void)
{
    uint32_t made = atomic_load_explicit(&tickets->made, memory_order_acquire);
    const ticket_key *key = &tickets->key[(made - 1) % TICKET_SLOTS];

    if (made && ticket_is_within(atomic_load(&key->born), ticket_now(), TICKET_SECONDS))
        return key;
    ticket_rotate(made);
    made = atomic_load_explicit(&tickets->made, memory_order_acquire);
    return made ? &tickets->key[(made - 1) % TICKET_SLOTS] : NULL;
}

/* @return how many keys were made after it, -1: it is not known */
static int ticket_find(const unsigned char *name, const ticket_key **found)
{
    uint32_t made = atomic_load_explicit(&tickets->made, memory_order_acquire);

    for (uint32_t age = 0; age < TICKET_TAKEN && age < made; age++) {
        const ticket_key *key = &tickets->key[(made - 1 - age) % TICKET_SLOTS];

        if (!memcmp(key->name, name, sizeof key->name) &&
            ticket_is_within(atomic_load(&key->born), ticket_now(),
                             TICKET_TAKEN * TICKET_SECONDS)) {
            *found = key;
            return (int)age;
        }
    }
    return -1;
}

static int ticket_mac_with(EVP_MAC_CTX *mac, const unsigned char *key, size_t len)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)key, len),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_end()};

    return EVP_MAC_CTX_set_params(mac, params);
}

static int ticket_mac(EVP_MAC_CTX *mac, const ticket_key *key)
{
    return ticket_mac_with(mac, key->hmac, sizeof key->hmac);
}

static int ticket_seal(unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                       EVP_MAC_CTX *mac)
{
    const ticket_key *key = ticket_current();

    if (!key)
        return 0;
    if (RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1)
        return -1;
    memcpy(name, key->name, sizeof key->name);
    return EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->aes, iv) && ticket_mac(mac, key)
               ? 1
               : -1;
}

int tls_tickets_use(SSL_CTX *ctx, const tls_der *key, const SSL_CTX *like)
{
    const ticket_file *before;
    ticket_file *file;

    ticket_file_register();
    if (!key)
        return 0;
    before = like ? SSL_CTX_get_ex_data(like, ticket_file_index) : NULL;
    BRG_ASSERT(key->len == TLS_TICKET_KEY);
    if (!(file = OPENSSL_zalloc(sizeof *file)) ||
        !SSL_CTX_set_ex_data(ctx, ticket_file_index, file)) {
        OPENSSL_free(file);
        return -1;
    }
    file->n = 1;
    memcpy(file->key[0], key->data, TLS_TICKET_KEY);
    if (before && memcmp(before->key[0], key->data, TLS_TICKET_KEY) != 0)
        memcpy(file->key[file->n++], before->key[0], TLS_TICKET_KEY);
    else if (before && before->n > 1)
        memcpy(file->key[file->n++], before->key[1], TLS_TICKET_KEY);
    return 0;
}

static int ticket_file_use(const ticket_file *file, SSL *ssl, unsigned char *name,
                           unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seal)
{
    int n = 0;

    BRG_ASSERT(file->n >= 1 && file->n <= 2); /* tls_tickets_use() */
    if (seal) {
        memcpy(name, file->key[0], 16);
        if (RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1)
            return -1;
    }
    while (!seal && n < file->n && memcmp(file->key[n], name, 16) != 0)
        n++;
    if (n == file->n)
        return 0;
    if (!EVP_CipherInit_ex(cipher, EVP_aes_128_cbc(), NULL, file->key[n] + 32, iv, seal) ||
        !ticket_mac_with(mac, file->key[n] + 16, 16))
        return -1;
    return !seal && (n || SSL_version(ssl) == TLS1_3_VERSION) ? 2 : 1;
}

/* 0: not known; 1; 2: taken, and a new one is to be given */
int tls_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
               EVP_MAC_CTX *mac, int seal)
{
    const ticket_file *file = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ticket_file_index);
    const ticket_key *key;
    int age;

    BRG_ASSERT(tickets != NULL);
    if (file)
        return ticket_file_use(file, ssl, name, iv, cipher, mac, seal);
    if (seal)
        return ticket_seal(name, iv, cipher, mac);
    if ((age = ticket_find(name, &key)) < 0)
        return 0;
    if (!EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->aes, iv) || !ticket_mac(mac, key))
        return -1;
    return age || SSL_version(ssl) == TLS1_3_VERSION ? 2 : 1;
}
