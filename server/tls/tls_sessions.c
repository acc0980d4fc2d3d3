/* SPDX-License-Identifier: Apache-2.0 */
/* SSLSessionCache shmcb: sessions in memory that all loops and processes share, for clients without
 * tickets and for configurations that do not give them.
 *
 * A table of slots of one size; a session may be in one of a few that its id leads to, and takes the
 * slot of the oldest. A slot is taken for a copy by one atomic exchange. Whoever finds it taken goes
 * on without: a session that is not found costs a handshake, and a loop never waits. A slot whose
 * holder died is free again after some seconds. */
#include "tls_context_private.h"
#include "kept_memory.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <openssl/rand.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

APLOG_USE_MODULE(ssl);

#define SESSION_WAYS 8
#define SESSION_DER 960 /* a session without a client's certificate has some 150 to 250 bytes */
#define SESSION_STUCK_SECONDS 5

typedef struct session_slot {
    _Atomic uint32_t taken; /* 0, or since when, in seconds of the monotonic clock */
    uint32_t len;           /* of der; 0 = free */
    int64_t until;          /* seconds of the monotonic clock */
    uint8_t id_len;
    unsigned char id[SSL_MAX_SSL_SESSION_ID_LENGTH];
    unsigned char der[SESSION_DER];
} session_slot;

static struct {
    session_slot *slot;
    size_t slots; /* a multiple of SESSION_WAYS */
} sessions;

/* Monotonic: a date that is set makes no session last. */
static int64_t session_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* ---- slots ---- */

static int slot_take(session_slot *s)
{
    uint32_t now = (uint32_t)session_seconds() + 1, held = atomic_load(&s->taken);

    if (held && now - held < SESSION_STUCK_SECONDS)
        return -1;
    if (!atomic_compare_exchange_strong_explicit(&s->taken, &held, now, memory_order_acquire,
                                                 memory_order_relaxed))
        return -1;
    if (held)
        s->len = 0; /* nobody knows how far its holder came */
    return 0;
}

static void slot_leave(session_slot *s)
{
    atomic_store_explicit(&s->taken, 0, memory_order_release);
}

/* Ids are random, except those that clients make up: these find nothing. */
static session_slot *slot_first(const unsigned char *id, unsigned len)
{
    uint64_t n = 0;

    BRG_ASSERT(sessions.slots % SESSION_WAYS == 0);
    memcpy(&n, id, len < sizeof n ? len : sizeof n);
    return &sessions.slot[n % (sessions.slots / SESSION_WAYS) * SESSION_WAYS];
}

/* Any server process can write there at any time: it is read once, and in bounds. */
static uint32_t slot_length(const session_slot *s)
{
    const uint32_t len = __atomic_load_n(&s->len, __ATOMIC_RELAXED);

    return len > sizeof s->der ? 0 : len;
}

static int slot_is(const session_slot *s, const unsigned char *id, unsigned len)
{
    return slot_length(s) && s->id_len == len && !memcmp(s->id, id, len);
}

/* ---- OpenSSL's callbacks ---- */

static void session_put(const unsigned char *id, unsigned id_len, const unsigned char *der,
                        size_t len, int64_t until)
{
    session_slot *first = slot_first(id, id_len), *to = NULL;

    for (session_slot *s = first; s < first + SESSION_WAYS; s++) {
        if (slot_take(s))
            continue;
        if (!to || !s->len || (to->len && s->until < to->until)) {
            if (to)
                slot_leave(to);
            to = s;
        } else {
            slot_leave(s);
        }
    }
    if (!to)
        return;
    BRG_ASSERT(len <= sizeof to->der && id_len <= sizeof to->id);
    memcpy(to->id, id, id_len);
    to->id_len = (uint8_t)id_len;
    memcpy(to->der, der, len);
    to->len = (uint32_t)len;
    to->until = until;
    slot_leave(to);
}

/* A client of TLS 1.3 that gets tickets never asks for the session by its id. */
static int session_is_in_ticket(const SSL *ssl, const SSL_SESSION *session)
{
    return SSL_SESSION_get_protocol_version(session) == TLS1_3_VERSION &&
           !(SSL_get_options(ssl) & SSL_OP_NO_TICKET);
}

static int session_new(SSL *ssl, SSL_SESSION *session)
{
    unsigned char der[SESSION_DER], *at = der;
    unsigned id_len;
    const unsigned char *id = SSL_SESSION_get_id(session, &id_len);
    int len = session_is_in_ticket(ssl, session) ? 0 : i2d_SSL_SESSION(session, NULL);

    if (!id_len || len <= 0 || (size_t)len > sizeof der)
        return 0;
    i2d_SSL_SESSION(session, &at);
    /* Both clocks count whole seconds: not too early; tls_resume_allows() looks again. */
    session_put(id, id_len, der, (size_t)len,
                session_seconds() + SSL_SESSION_get_timeout(session) + 1);
    OPENSSL_cleanse(der, (size_t)len);
    return 0; /* no reference is kept */
}

static size_t session_copy(const unsigned char *id, unsigned id_len, unsigned char *der)
{
    session_slot *first = slot_first(id, id_len);

    for (session_slot *s = first; s < first + SESSION_WAYS; s++) {
        size_t len = 0;

        if (slot_take(s))
            continue;
        if (slot_is(s, id, id_len) && s->until > session_seconds()) {
            len = slot_length(s);
            memcpy(der, s->der, len);
        }
        slot_leave(s);
        if (len)
            return len;
    }
    return 0;
}

static SSL_SESSION *session_get(SSL *ssl, const unsigned char *id, int id_len, int *copy)
{
    unsigned char der[SESSION_DER];
    const unsigned char *at = der;
    SSL_SESSION *session;
    size_t len;

    *copy = 0;
    if (id_len <= 0 || id_len > SSL_MAX_SSL_SESSION_ID_LENGTH)
        return NULL;
    len = session_copy(id, (unsigned)id_len, der);
    session = len ? d2i_SSL_SESSION(NULL, &at, (long)len) : NULL;
    OPENSSL_cleanse(der, len);
    if (session && !tls_resume_allows(ssl, session)) {
        SSL_SESSION_free(session);
        return NULL;
    }
    return session;
}

static void session_remove(SSL_CTX *ctx, SSL_SESSION *session)
{
    unsigned id_len;
    const unsigned char *id = SSL_SESSION_get_id(session, &id_len);
    session_slot *first;

    if (!id_len)
        return;
    first = slot_first(id, id_len);
    for (session_slot *s = first; s < first + SESSION_WAYS; s++) {
        if (slot_take(s))
            continue;
        if (slot_is(s, id, id_len)) {
            OPENSSL_cleanse(s->der, slot_length(s));
            s->len = 0;
        }
        slot_leave(s);
    }
}

/* ---- the whole ---- */

/* The first size that was asked for stays: reloads keep the sessions. */
int tls_sessions_begin(apr_size_t bytes)
{
    size_t slots = bytes / sizeof(session_slot) / SESSION_WAYS * SESSION_WAYS;

    if (sessions.slot || !bytes)
        return 0;
    if (slots < SESSION_WAYS)
        slots = SESSION_WAYS;
    BRG_ASSERT(slots > 0 && slots % SESSION_WAYS == 0);
    sessions.slot = kept_memory_map("tls-sessions-1", slots * sizeof(session_slot));
    if (!sessions.slot)
        return -1;
    sessions.slots = slots;
    return 0;
}

void tls_sessions_use(SSL_CTX *ctx)
{
    if (!sessions.slot || !tls_settings.cache_bytes) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        return;
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL |
                                            SSL_SESS_CACHE_NO_AUTO_CLEAR);
    SSL_CTX_sess_set_new_cb(ctx, session_new);
    SSL_CTX_sess_set_get_cb(ctx, session_get);
    SSL_CTX_sess_set_remove_cb(ctx, session_remove);
}
