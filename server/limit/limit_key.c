/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys: a hash of the limit, of the parts that all requests of a target share (its host, its path,
 * an expression), of the client's address and of the request's own part. The secret of the hash is
 * in the shared memory, so that all processes have the same keys, and nobody outside can find two
 * of them.
 */
#include "limit_private.h"
#include "request_context.h"
#include "expr_depends.h"
#include "stock_policy.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include "apr_strings.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

APLOG_USE_MODULE(limit);

#define KEY_PIECE 256 /* bytes that are hashed in one go */

uint64_t limit_now(void)
{
    return (uint64_t)brg_monotonic_now() * 1000;
}

uint64_t limit_cost(const limit *l, apr_off_t bytes)
{
    const double cost = (double)bytes * (double)l->each / (double)(1 << 20);

    return cost < 1e18 ? (uint64_t)cost : UINT64_C(1000000000000000000);
}

/* ---- hashes ---- */

static uint64_t key_add(uint64_t number, const char *s, size_t len)
{
    const universal_hash_secret *secret = &limit_shared.header->secret;

    for (; len > KEY_PIECE; s += KEY_PIECE, len -= KEY_PIECE)
        number = universal_hash_by(secret, number, s, KEY_PIECE, "", 0);
    return universal_hash_by(secret, number, s, len, "", 0);
}

uint64_t limit_key_long(uint64_t number, const limit_subject *subject)
{
    uint64_t key;

    if (subject->what_len > KEY_PIECE)
        key = key_add(key_add(number, subject->who, subject->who_len), subject->what,
                      subject->what_len);
    else
        key = universal_hash_by(&limit_shared.header->secret, number, subject->who,
                                subject->who_len, subject->what, subject->what_len);
    return key ? key : 1;
}

/* ---- the address ---- */

static void who_prefix(const limit *l, limit_subject *subject, const uint8_t *address, size_t len)
{
    unsigned bits = l->bits[len == 16];

    for (size_t i = 0; i < len; i++, bits -= bits < 8 ? bits : 8)
        subject->room[i] = (char)(address[i] & (bits >= 8 ? 0xff : 0xff00 >> bits));
    subject->who = subject->room;
    subject->who_len = len;
}

/* As the table of networks is asked. 0: nobody knows. */
static __attribute__((noinline)) int who_network(const limit *l, limit_subject *subject,
                                                 const uint8_t *address, size_t len)
{
    APR_OPTIONAL_FN_TYPE(brg_client_network_put) *put =
        APR_RETRIEVE_OPTIONAL_FN(brg_client_network_put);
    char name[BRG_CLIENT_NETWORK_ROOM];
    apr_sockaddr_t client;
    int ready = 0;

    conn_sockaddr_put(&client, len == 4 ? APR_INET : APR_INET6, address);
    subject->who_len = put ? put(l->network, &client, name, &ready) : 0;
    if (!ready || !subject->who_len || subject->who_len >= LIMIT_WHO_ROOM || !strcmp(name, "-"))
        return 0;
    subject->who = memcpy(subject->room, name, subject->who_len);
    return 1;
}

int limit_subject_made(const limit *l, limit_subject *subject, const uint8_t *address, size_t len)
{
    BRG_ASSERT(len == 0 || len == 4 || len == 16);
    if (len && l->who == LIMIT_NETWORK)
        return who_network(l, subject, address, len);
    if (len)
        who_prefix(l, subject, address, len);
    return len != 0;
}

/* ---- a request, with a request_rec or without ---- */

/* Without a request_rec errors are left to the full way, which tells them. */
static limit_reading reads_failed(const limit *l, const transaction *t, const char *what,
                                  const char *err)
{
    if (!t->r)
        return LIMIT_READS_NOT;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, t->r, "RequestLimit %s: %s: %s", l->name, what, err);
    return LIMIT_HAS_NO_KEY;
}

static limit_reading reads_condition(const limit *l, const transaction *t)
{
    const char *err = NULL;
    const int rc = transaction_holds(t, l->when, &err);

    if (rc < 0)
        return reads_failed(l, t, "when", err ? err : "cannot be evaluated");
    return rc ? LIMIT_READS : LIMIT_HAS_NO_KEY;
}

static limit_reading reads_text(const limit *l, const transaction *t, uint64_t *fixed)
{
    const char *err = NULL, *text = transaction_text(t, l->key, &err);

    if (err || !text)
        return reads_failed(l, t, "key", err ? err : "no value");
    *fixed = key_add(*fixed + 3, text, strlen(text));
    return *text ? LIMIT_READS : LIMIT_HAS_NO_KEY;
}

static limit_reading reads_who(const limit *l, const transaction *t, limit_subject *subject)
{
    const uint8_t *address = NULL;
    const size_t len = l->who == LIMIT_ANYONE ? 0 : transaction_client(t, &address);

    if (!len && l->who != LIMIT_ANYONE && !t->r)
        return LIMIT_READS_NOT;
    return limit_subject_who(l, subject, address, len) ? LIMIT_READS : LIMIT_HAS_NO_KEY;
}

/* @param user  room for its name */
static limit_reading reads_what(const limit *l, const transaction *t, limit_subject *subject,
                                char *user)
{
    apr_ssize_t len = 0;

    subject->what = "";
    if (l->what == LIMIT_USER) {
        subject->what = t->r ? t->r->user : t->user(t, user);
        if (!subject->what && !t->r)
            return LIMIT_READS_NOT;
        len = subject->what ? (apr_ssize_t)strlen(subject->what) : 0;
    } else if (l->what == LIMIT_FIELD) {
        len = transaction_field(t, l->field_id, l->field, l->field_len, &subject->what);
    }
    if (len < 0)
        return LIMIT_READS_NOT;
    subject->what_len = (size_t)len;
    return len || l->what == LIMIT_NOTHING ? LIMIT_READS : LIMIT_HAS_NO_KEY;
}

/* A module may change the client's identity, which happens on the full way. */
static int reads_what_changes(const limit *l, const transaction *t)
{
    return !t->r && limit_clients_change &&
           (l->who != LIMIT_ANYONE || l->what == LIMIT_FIELD || l->key_of_head ||
            l->when_of_head) &&
           changed_fields_in(t->head);
}

limit_reading limit_reads(const limit *l, const transaction *t, uint64_t fixed,
                          limit_subject *subject, uint64_t *key)
{
    limit_reading is = reads_what_changes(l, t) ? LIMIT_READS_NOT : LIMIT_READS;

    if (is == LIMIT_READS && l->when_of_head)
        is = reads_condition(l, t);
    if (is == LIMIT_READS && l->key_of_head)
        is = reads_text(l, t, &fixed);
    if (is == LIMIT_READS)
        is = reads_who(l, t, subject);
    if (is == LIMIT_READS)
        is = reads_what(l, t, subject, subject->user);
    if (is == LIMIT_READS)
        *key = limit_key_of(l, fixed, subject);
    return is;
}

int limit_fixed(request_rec *r, const limit *l, uint64_t *fixed)
{
    const transaction t = {.r = r};

    *fixed = 0;
    if (l->when && !l->when_of_head) {
        if (expr_depends(l->when))
            request_mark_volatile(r, "mod_limit.c",
                                  "the condition of a RequestLimit looks at the request");
        if (reads_condition(l, &t) != LIMIT_READS)
            return 0;
    }
    if (l->by_host)
        *fixed = key_add(1, r->hostname ? r->hostname : "", r->hostname ? strlen(r->hostname) : 0);
    if (l->by_path) {
        brg_cache_depends_on_name(r);
        *fixed = key_add(*fixed + 2, r->uri, strlen(r->uri));
    }
    if (!l->key || l->key_of_head)
        return 1;
    if (expr_depends(l->key))
        request_mark_volatile(r, "mod_limit.c", "the key of a RequestLimit looks at the request");
    return reads_text(l, &t, fixed) == LIMIT_READS;
}

/* ---- for people ---- */

/* inet_ntop() prints, which takes long. */
static void text_ipv4(const unsigned char *address, char *out)
{
    for (int i = 0; i < 4; i++) {
        const unsigned n = address[i];

        if (n > 99)
            *out++ = (char)('0' + n / 100);
        if (n > 9)
            *out++ = (char)('0' + n / 10 % 10);
        *out++ = (char)('0' + n % 10);
        *out++ = i < 3 ? '.' : '\0';
    }
}

static size_t text_address(const limit *l, const limit_subject *subject, char *out)
{
    const int family = subject->who_len == 4 ? AF_INET : AF_INET6;

    if (family == AF_INET)
        text_ipv4((const unsigned char *)subject->who, out);
    else if (!inet_ntop(family, subject->who, out, INET6_ADDRSTRLEN))
        return 0;
    if (l->who == LIMIT_PREFIX)
        apr_snprintf(out + strlen(out), 8, "/%u", l->bits[family == AF_INET6]);
    return strlen(out);
}

/* Control characters and quotes of a field do not reach pages and figures as such. */
static size_t text_add(char *out, size_t at, size_t room, const char *s, size_t len)
{
    for (size_t i = 0; i < len && at + 1 < room; i++)
        out[at++] = s[i] < ' ' || s[i] == '"' || s[i] == '\\' || s[i] == 127 ? '?' : s[i];
    return at;
}

size_t limit_text(const limit *l, const limit_subject *subject, char *out, size_t room)
{
    char address[INET6_ADDRSTRLEN + 8];
    size_t at = 0;

    BRG_ASSERT(room > 1);
    if (l->who == LIMIT_NETWORK)
        at = text_add(out, at, room, subject->who, subject->who_len);
    else if (l->who != LIMIT_ANYONE)
        at = text_add(out, at, room, address, text_address(l, subject, address));
    if (at && subject->what_len)
        at = text_add(out, at, room, " ", 1);
    at = text_add(out, at, room, subject->what, subject->what_len);
    if (!at)
        at = text_add(out, at, room, "all", 3);
    out[at] = '\0';
    return at;
}
