/* SPDX-License-Identifier: Apache-2.0 */
/* Requests with Digest that memory answers (auth_digest_memory.h). */
#include "auth_digest_memory.h"
#include "auth_digest_sums.h"
#include "auth_hashes.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include <string.h>

/* A nonce that ends so soon is replaced, which is the full way's. */
#define MEMORY_NEXT_US apr_time_from_sec(30)

#define MEMORY_FIELD_MOST 640
#define MEMORY_CNONCE_MOST 128
#define MEMORY_HASH_LEN DIGEST_HASH_LEN

/* ---- responses ---- */

void digest_response_put(char *out, const digest_field *field, const char *hash, const char *method,
                         apr_size_t method_len)
{
    const char *const parts[] = {hash, field->nonce, field->nc, field->cnonce, field->qop};
    unsigned char sum[APR_MD5_DIGESTSIZE];
    char target[MEMORY_HASH_LEN];
    apr_md5_ctx_t md5;

    BRG_ASSERT(field->qop && field->nc && field->cnonce);
    digest_target_put(target, method, method_len, field->uri);
    apr_md5_init(&md5);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        apr_md5_update(&md5, parts[i], strlen(parts[i]));
        apr_md5_update(&md5, ":", 1);
    }
    apr_md5_update(&md5, target, MEMORY_HASH_LEN);
    apr_md5_final(sum, &md5);
    digest_hex_put(out, sum);
    out[MEMORY_HASH_LEN] = '\0';
}

/* ---- the user ---- */

/* Facts kept of a user in a realm: hash, lifetime of nonces, name of the realm. */
typedef struct memory_user {
    char text[AUTH_HASH_MOST];
    const char *realm;
    apr_interval_time_t lifetime;
} memory_user;

static int memory_key(auth_mark *key, const apr_uint64_t realm[2], const char *user)
{
    const auth_piece piece[] = {{realm, 2 * sizeof *realm}, {user, strlen(user)}};

    return auth_mark_make(key, 'd', piece, 2);
}

int auth_digest_learn(request_rec *r, const auth_note *note)
{
    const char *text = apr_psprintf(r->pool, "%s%" APR_TIME_T_FMT " %s", note->proof,
                                    note->lifetime, ap_auth_name(r));
    char known[AUTH_HASH_MOST];
    auth_mark key;

    if (strlen(note->proof) != MEMORY_HASH_LEN || strlen(text) >= AUTH_HASH_MOST ||
        !memory_key(&key, note->realm, r->user))
        return 0;
    return auth_hashes_get(&key, known) || auth_hashes_put(&key, text, note->until);
}

static int memory_find(memory_user *user, const auth_mark *key)
{
    char *at = user->text + MEMORY_HASH_LEN;
    int is_endless;

    if (!auth_hashes_get(key, user->text))
        return 0;
    is_endless = *at == '-';
    user->lifetime = 0;
    for (at += is_endless; *at != ' '; at++) /* as auth_digest_learn() wrote it */
        user->lifetime = user->lifetime * 10 + (*at - '0');
    if (is_endless)
        user->lifetime = -1;
    BRG_ASSERT(*at == ' ');
    user->realm = at + 1;
    user->text[MEMORY_HASH_LEN] = '\0';
    return 1;
}

/* ---- a request ---- */

/* The field, for just this target, and without parameters for the full way. */
static int memory_read(digest_field *field, char *room, const brg_cache_bearer *bearer)
{
    char text[MEMORY_FIELD_MOST + 1];

    if (bearer->len > MEMORY_FIELD_MOST)
        return 0;
    memcpy(text, bearer->value, bearer->len);
    text[bearer->len] = '\0';
    return digest_field_parse(room, text, field) == DIGEST_WHOLE && field->qop && !field->opaque &&
           !strcasecmp(field->qop, "auth") &&
           (!field->algorithm || !strcasecmp(field->algorithm, "MD5")) &&
           strlen(field->uri) == bearer->target_len &&
           !memcmp(field->uri, bearer->target, bearer->target_len) &&
           strlen(field->cnonce) <= MEMORY_CNONCE_MOST && strlen(field->nc) <= 16 &&
           !strpbrk(field->cnonce, "\"\\");
}

/* A nonce that was good once for a realm stays so, but for its lifetime. */
static int memory_nonce_is_good(digest_session *session, const memory_user *user,
                                const digest_field *field, apr_time_t now)
{
    char sum[DIGEST_NONCE_LEN + 1];

    if (strcmp(field->realm, user->realm) != 0)
        return 0;
    if (!session->nonce_is_good)
        session->nonce_is_good =
            digest_nonce_matches(user->realm, field, &session->nonce_time, sum);
    return session->nonce_is_good &&
           (user->lifetime < 0 || (now >= session->nonce_time &&
                                   now - session->nonce_time <= user->lifetime - MEMORY_NEXT_US));
}

static int memory_info(char *out, const digest_field *field, const char *rspauth)
{
    const char *const parts[] = {"rspauth=\"", rspauth,   "\", cnonce=\"", field->cnonce,
                                 "\", nc=",    field->nc, ", qop=",        field->qop};
    char *to = out;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(to, parts[i], strlen(parts[i]));
        to += strlen(parts[i]);
    }
    return (int)(to - out);
}

static int memory_knows(const apr_uint64_t realm[2], const brg_cache_bearer *bearer, char *added)
{
    char room[DIGEST_FIELD_ROOM(MEMORY_FIELD_MOST)];
    char client[MEMORY_HASH_LEN + 1], server[MEMORY_HASH_LEN + 1];
    digest_session *session;
    digest_field field;
    memory_user user;

    if (!memory_read(&field, room, bearer) || !(session = digest_session_of(realm, &field)) ||
        !memory_find(&user, &session->key) ||
        !memory_nonce_is_good(session, &user, &field, bearer->now) ||
        (!auth_guess_is_quiet() && auth_guess_concerns(field.username)))
        return -1;
    digest_session_proofs(session, user.text, &field, bearer->method, bearer->method_len, client,
                          server);
    return digest_equal(client, field.response) ? memory_info(added, &field, server) : -1;
}

static int memory_name(const char *value, apr_size_t len, char *out)
{
    char text[MEMORY_FIELD_MOST + 1], room[DIGEST_FIELD_ROOM(MEMORY_FIELD_MOST)];
    digest_field field;

    if (len > MEMORY_FIELD_MOST)
        return 0;
    memcpy(text, value, len);
    text[len] = '\0';
    if (digest_field_parse(room, text, &field) != DIGEST_WHOLE ||
        strlen(field.username) >= BRG_CACHE_USER_ROOM)
        return 0;
    memcpy(out, field.username, strlen(field.username) + 1);
    return 1;
}

const brg_cache_users auth_digest_users = {memory_knows, memory_name, "Digest",
                                           "Authentication-Info"};
