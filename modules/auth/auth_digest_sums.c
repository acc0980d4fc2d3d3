/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that a client's proofs share (auth_digest_sums.h). */
#include "auth_digest_sums.h"
#include <string.h>
#include <sys/mman.h>

#define SUMS_BITS 6 /* of the number of places */
#define SUMS_PLACES (1 << SUMS_BITS)
#define SUMS_TARGET_MOST 240
#define SUMS_METHOD_MOST 8
#define SUMS_TAIL_MOST 256 /* count, the client's nonce, qop */

/* A target with a method, and without one. */
typedef struct sums_target {
    char method[SUMS_METHOD_MOST], uri[SUMS_TARGET_MOST];
    char client[DIGEST_HASH_LEN], server[DIGEST_HASH_LEN];
} sums_target;

typedef struct sums_memory {
    digest_session sessions[SUMS_PLACES];
    sums_target targets[SUMS_PLACES];
} sums_memory;

/* As long as the process: threads that ask are its loops. */
static sums_memory *sums_mine(void)
{
    static _Thread_local sums_memory *mine;

    if (!mine) {
        void *memory =
            mmap(NULL, sizeof *mine, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
            return NULL;
        (void)madvise(memory, sizeof *mine, MADV_DONTDUMP);
        (void)madvise(memory, sizeof *mine, MADV_WIPEONFORK);
        (void)mlock(memory, sizeof *mine);
        mine = memory;
    }
    return mine;
}

/* ---- sums ---- */

void digest_hex_put(char *out, const unsigned char sum[APR_MD5_DIGESTSIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < APR_MD5_DIGESTSIZE; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
}

int digest_equal(const char *hash, const char *given)
{
    int differs = 0;

    if (strlen(given) != DIGEST_HASH_LEN)
        return 0;
    for (int i = 0; i < DIGEST_HASH_LEN; i++)
        differs |= hash[i] ^ given[i];
    return !differs;
}

static void sums_end(char *out, const apr_md5_ctx_t *begun, const char *text, apr_size_t len)
{
    unsigned char sum[APR_MD5_DIGESTSIZE];
    apr_md5_ctx_t md5 = *begun;

    apr_md5_update(&md5, text, len);
    apr_md5_final(sum, &md5);
    digest_hex_put(out, sum);
}

void digest_target_put(char *out, const char *method, apr_size_t method_len, const char *uri)
{
    unsigned char sum[APR_MD5_DIGESTSIZE];
    apr_md5_ctx_t md5;

    apr_md5_init(&md5);
    apr_md5_update(&md5, method, method_len);
    apr_md5_update(&md5, ":", 1);
    apr_md5_update(&md5, uri, strlen(uri));
    apr_md5_final(sum, &md5);
    digest_hex_put(out, sum);
}

/* ---- places ---- */

static unsigned sums_place(const char *text, apr_size_t len)
{
    apr_uint64_t word[2] = {len, 0};

    if (len >= sizeof word)
        memcpy(word, text + len - sizeof word, sizeof word);
    else
        memcpy(&word[1], text, len < sizeof *word ? len : sizeof *word);
    return (unsigned)(((word[0] * 31 + word[1]) * 0x9E3779B97F4A7C15u) >> (64 - SUMS_BITS));
}

digest_session *digest_session_of(const apr_uint64_t realm[2], const digest_field *field)
{
    const size_t user_len = strlen(field->username);
    sums_memory *mine = sums_mine();
    digest_session *s;
    auth_piece piece[2] = {{realm, 2 * sizeof *realm}, {field->username, user_len}};

    if (!mine || user_len >= DIGEST_USER_MOST)
        return NULL;
    s = &mine->sessions[sums_place(field->nonce, DIGEST_NONCE_LEN)];
    if (!memcmp(s->nonce, field->nonce, DIGEST_NONCE_LEN) && s->realm[0] == realm[0] &&
        s->realm[1] == realm[1] && !memcmp(s->user, field->username, user_len + 1))
        return s;
    memset(s, 0, sizeof *s);
    if (!auth_mark_make(&s->key, 'd', piece, 2))
        return NULL;
    memcpy(s->realm, realm, sizeof s->realm);
    memcpy(s->user, field->username, user_len + 1);
    memcpy(s->nonce, field->nonce, DIGEST_NONCE_LEN);
    return s;
}

static int target_is(const sums_target *t, const char *method, apr_size_t method_len,
                     const char *uri, apr_size_t len)
{
    return !memcmp(t->uri, uri, len + 1) && !memcmp(t->method, method, method_len) &&
           !t->method[method_len];
}

/* @return @a own if it cannot be kept */
static const sums_target *sums_target_of(sums_target *own, const char *method,
                                         apr_size_t method_len, const char *uri)
{
    const apr_size_t len = strlen(uri);
    sums_memory *mine = sums_mine();
    sums_target *t = own;

    if (mine && len < SUMS_TARGET_MOST && method_len && method_len < SUMS_METHOD_MOST) {
        t = &mine->targets[sums_place(uri, len)];
        if (target_is(t, method, method_len, uri, len))
            return t;
        memset(t, 0, sizeof *t);
        memcpy(t->method, method, method_len);
        memcpy(t->uri, uri, len + 1);
    }
    digest_target_put(t->client, method, method_len, uri);
    digest_target_put(t->server, "", 0, uri);
    return t;
}

/* ---- proofs ---- */

static void session_begin(digest_session *s, const char *hash)
{
    memcpy(s->hash, hash, DIGEST_HASH_LEN);
    apr_md5_init(&s->begun);
    apr_md5_update(&s->begun, hash, DIGEST_HASH_LEN);
    apr_md5_update(&s->begun, ":", 1);
    apr_md5_update(&s->begun, s->nonce, DIGEST_NONCE_LEN);
    apr_md5_update(&s->begun, ":", 1);
}

void digest_session_proofs(digest_session *session, const char *hash, const digest_field *field,
                           const char *method, apr_size_t method_len, char *client, char *server)
{
    const char *const parts[] = {field->nc, field->cnonce, field->qop};
    char tail[SUMS_TAIL_MOST + DIGEST_HASH_LEN], *to = tail;
    sums_target own;
    const sums_target *target = sums_target_of(&own, method, method_len, field->uri);

    if (memcmp(session->hash, hash, DIGEST_HASH_LEN) != 0)
        session_begin(session, hash);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t len = strlen(parts[i]);

        memcpy(to, parts[i], len);
        to[len] = ':';
        to += len + 1;
    }
    memcpy(to, target->client, DIGEST_HASH_LEN);
    sums_end(client, &session->begun, tail, (apr_size_t)(to - tail) + DIGEST_HASH_LEN);
    memcpy(to, target->server, DIGEST_HASH_LEN);
    sums_end(server, &session->begun, tail, (apr_size_t)(to - tail) + DIGEST_HASH_LEN);
    client[DIGEST_HASH_LEN] = server[DIGEST_HASH_LEN] = '\0';
}
