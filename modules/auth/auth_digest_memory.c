/* SPDX-License-Identifier: Apache-2.0 */
#include "auth_digest_memory.h"
#include "auth_digest_private.h"
#include "auth_hashes.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include <stdlib.h>
#include <string.h>

/* A nonce that ends so soon is replaced, which is the full way's. */
#define MEMORY_NEXT_US apr_time_from_sec(30)

#define MEMORY_FIELD_MOST 640
#define MEMORY_CNONCE_MOST 128
#define MEMORY_HASH_LEN 32

/* ---- responses ---- */

static void memory_md5(char *out, apr_md5_ctx_t *sum)
{
    unsigned char digest[APR_MD5_DIGESTSIZE];

    apr_md5_final(digest, sum);
    ap_bin2hex(digest, sizeof digest, out);
}

void digest_response_put(char *out, const digest_field *field, const char *hash, const char *method,
                         apr_size_t method_len)
{
    const char *const parts[] = {hash, field->nonce, field->nc, field->cnonce, field->qop};
    char target[MEMORY_HASH_LEN + 1];
    apr_md5_ctx_t sum;

    apr_md5_init(&sum);
    apr_md5_update(&sum, method, method_len);
    apr_md5_update(&sum, ":", 1);
    apr_md5_update(&sum, field->uri, strlen(field->uri));
    memory_md5(target, &sum);
    apr_md5_init(&sum);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        apr_md5_update(&sum, parts[i], strlen(parts[i]));
        apr_md5_update(&sum, ":", 1);
    }
    apr_md5_update(&sum, target, MEMORY_HASH_LEN);
    memory_md5(out, &sum);
}

/* ---- the user ---- */

/* What is kept of a user in a realm: hash, lifetime of nonces, name of the realm. */
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

static int memory_find(memory_user *user, const apr_uint64_t realm[2], const char *name)
{
    char *end;
    auth_mark key;

    if (!memory_key(&key, realm, name) || !auth_hashes_get(&key, user->text))
        return 0;
    user->lifetime = strtoll(user->text + MEMORY_HASH_LEN, &end, 10);
    user->realm = end + 1;
    user->text[MEMORY_HASH_LEN] = '\0';
    return 1;
}

/* ---- a request ---- */

/* The field, for just this target, and without what the full way looks at. */
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

static int memory_nonce_is_good(const memory_user *user, const digest_field *field, apr_time_t now)
{
    char sum[DIGEST_NONCE_LEN + 1];
    apr_time_t time;

    if (strcmp(field->realm, user->realm) != 0 ||
        !digest_nonce_matches(user->realm, field, &time, sum))
        return 0;
    return user->lifetime < 0 || (now >= time && now - time <= user->lifetime - MEMORY_NEXT_US);
}

static int memory_equal(const char *a, const char *b)
{
    int differs = 0;

    if (strlen(b) != MEMORY_HASH_LEN)
        return 0;
    for (int i = 0; i < MEMORY_HASH_LEN; i++)
        differs |= a[i] ^ b[i];
    return !differs;
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
    char room[DIGEST_FIELD_ROOM(MEMORY_FIELD_MOST)], response[MEMORY_HASH_LEN + 1];
    digest_field field;
    memory_user user;

    if (!memory_read(&field, room, bearer) || !memory_find(&user, realm, field.username) ||
        !memory_nonce_is_good(&user, &field, bearer->now) ||
        (!auth_guess_is_quiet() && auth_guess_concerns(field.username)))
        return -1;
    digest_response_put(response, &field, user.text, bearer->method, bearer->method_len);
    if (!memory_equal(response, field.response))
        return -1;
    digest_response_put(response, &field, user.text, "", 0);
    return memory_info(added, &field, response);
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
