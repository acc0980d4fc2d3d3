/* SPDX-License-Identifier: Apache-2.0 */
/* Reading with records of our own: plaintext goes to where the caller wants it. Other records after
 * a handshake are dealt with here: alerts, KeyUpdate (TLS 1.3), attempts to renegotiate (TLS 1.2).
 * A peer that sends such records without end is given up. */
#include "tls_record_private.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define IDLE_MOST 32    /* records without data in a row, as OpenSSL has it */
#define WARNINGS_MOST 5 /* alerts */

enum {
    HANDSHAKE_HELLO_REQUEST = 0,
    HANDSHAKE_CLIENT_HELLO = 1,
    HANDSHAKE_NEW_SESSION_TICKET = 4,
    HANDSHAKE_KEY_UPDATE = 24
};

/* ---- sending other records ---- */

int tls_records_say(tls_conn *t, unsigned type, const void *data, size_t len)
{
    tls_scratch *out = tls_scratch_of_thread();
    struct iovec iov = {(void *)(uintptr_t)data, len};
    size_t n;

    BRG_ASSERT(t->records != NULL && len <= TLS_ADDED_MOST);
    if (!out)
        return -1;
    BRG_ASSERT(out->len + len + TLS_ADDED_MOST <= sizeof out->data);
    n = tls_seal(t->records, type, &iov, 0, len, out->data + out->len);
    out->len += n;
    return n ? 0 : -1;
}

static void input_tell(tls_conn *t, const char *why)
{
    if (t->client)
        tls_client_tell(t, why);
    else
        ap_log_error(APLOG_MARK, APLOG_INFO, 0, t->server,
                     APLOGNO(02008) "SSL library error in read: %s (server %s)", why,
                     t->server->server_hostname ? t->server->server_hostname : "");
}

__attribute__((cold)) static ssize_t input_refuse(tls_conn *t, unsigned alert, const char *why)
{
    const unsigned char data[2] = {SSL3_AL_FATAL, (unsigned char)alert};

    input_tell(t, why);
    if (!t->held_len) {
        (void)tls_records_say(t, TLS_TYPE_ALERT, data, sizeof data);
        (void)tls_flush(t);
    }
    t->failed = 1;
    return -1;
}

int tls_records_due(tls_conn *t)
{
    static const unsigned char update[5] = {HANDSHAKE_KEY_UPDATE, 0, 0, 1, 0};
    tls_records *rec = t->records;

    if (!rec->update_due)
        return 0;
    BRG_ASSERT(rec->v13 && !t->held_len);
    rec->update_due = 0;
    if (tls_records_say(t, TLS_TYPE_HANDSHAKE, update, sizeof update) ||
        tls_key_update(t->loop, rec, &rec->out, 1)) {
        t->failed = 1;
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

/* ---- receiving other records ---- */

static ssize_t input_alert(tls_conn *t, const unsigned char *data, size_t len)
{
    tls_records *rec = t->records;

    if (len != 2)
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE, "an alert of another length");
    if (data[1] == SSL_AD_CLOSE_NOTIFY) {
        rec->ended = 1;
        return 0;
    }
    if (data[1] != SSL_AD_USER_CANCELLED && (rec->v13 || data[0] != SSL3_AL_WARNING)) {
        char why[64];

        apr_snprintf(why, sizeof why, "the %s sent alert %d", t->client ? "server" : "client",
                     data[1]);
        input_tell(t, why);
        t->failed = 1;
        return -1;
    }
    if (++rec->warnings > WARNINGS_MOST)
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE, "too many alerts");
    return 0;
}

static ssize_t input_key_update(tls_conn *t, const unsigned char *data, size_t len)
{
    tls_records *rec = t->records;

    BRG_ASSERT(rec->v13);
    if (len != 5 || data[0] != HANDSHAKE_KEY_UPDATE || data[1] || data[2] || data[3] != 1)
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE,
                            "a handshake message after the handshake");
    if (data[4] > 1)
        return input_refuse(t, SSL_AD_ILLEGAL_PARAMETER, "a KeyUpdate of another kind");
    if (tls_is_flood(t))
        return -1;
    if (tls_key_update(t->loop, rec, &rec->in, 0))
        return input_refuse(t, SSL_AD_INTERNAL_ERROR, "no memory");
    rec->update_due |= data[4];
    return 0;
}

static ssize_t input_renegotiation(tls_conn *t, const unsigned char *data, size_t len)
{
    static const unsigned char no[2] = {SSL3_AL_WARNING, SSL_AD_NO_RENEGOTIATION};

    BRG_ASSERT(!t->records->v13);
    if (!len || data[0] != (t->records->client ? HANDSHAKE_HELLO_REQUEST : HANDSHAKE_CLIENT_HELLO))
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE,
                            "a handshake message after the handshake");
    if (tls_is_flood(t))
        return -1;
    if (!t->held_len && (tls_records_say(t, TLS_TYPE_ALERT, no, sizeof no) || tls_flush(t))) {
        t->failed |= errno != EAGAIN;
        return t->failed ? -1 : 0;
    }
    return 0;
}

/* Go over messages of a server, which are NewSessionTickets alone. @return 0, or -1 */
static int input_messages(tls_records *rec, const unsigned char *data, size_t len)
{
    while (len) {
        size_t n = rec->message_left < len ? rec->message_left : len;

        rec->message_left -= (uint32_t)n;
        data += n;
        len -= n;
        while (len && !rec->message_left && rec->head_n < sizeof rec->head) {
            rec->head[rec->head_n++] = *data++;
            len--;
        }
        if (rec->message_left || rec->head_n < sizeof rec->head)
            continue;
        if (rec->head[0] != HANDSHAKE_NEW_SESSION_TICKET)
            return -1;
        rec->message_left =
            (uint32_t)rec->head[1] << 16 | (uint32_t)rec->head[2] << 8 | rec->head[3];
        rec->head_n = 0;
    }
    return 0;
}

/* OpenSSL makes sessions of a server's messages. It takes no more than this record. */
static void input_session(tls_conn *t, tls_scratch *in, unsigned char *record, size_t len)
{
    const size_t off = in->input_off, input_len = in->input_len;
    const int reads = t->reads_left;
    char byte;
    int n;

    BRG_ASSERT(t->records->tickets && t->ssl && in->input_of == t);
    in->input_off = (size_t)(record - in->input);
    in->input_len = in->input_off + len;
    t->reads_left = 0;
    ERR_clear_error();
    n = SSL_read(t->ssl, &byte, 1);
    if (n > 0 || SSL_get_error(t->ssl, n) != SSL_ERROR_WANT_READ || in->input_off != in->input_len)
        tls_client_settle(t);
    else
        SSL_free_buffers(t->ssl);
    ERR_clear_error();
    in->input_off = off;
    in->input_len = input_len;
    t->reads_left = reads;
}

/* @param record  as it came, or NULL: it was decrypted in place */
static ssize_t input_of_server(tls_conn *t, tls_scratch *in, unsigned char *record, size_t size,
                               const unsigned char *data, size_t len)
{
    tls_records *rec = t->records;

    BRG_ASSERT(rec->client && rec->v13);
    if (!record || !len || (!rec->message_left && !rec->head_n && *data == HANDSHAKE_KEY_UPDATE))
        tls_client_settle(t);
    if (len && !rec->message_left && !rec->head_n && *data == HANDSHAKE_KEY_UPDATE)
        return input_key_update(t, data, len);
    if (!len || input_messages(rec, data, len))
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE,
                            "a handshake message after the handshake");
    if (tls_is_flood(t))
        return -1;
    if (rec->tickets)
        input_session(t, in, record, size);
    return 0;
}

static ssize_t input_other(tls_conn *t, unsigned type, const unsigned char *data, size_t len)
{
    if (type != TLS_TYPE_HANDSHAKE && ++t->records->idle > IDLE_MOST)
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE, "too many records without data");
    switch (type) {
    case TLS_TYPE_DATA: /* an empty one */
        return 0;
    case TLS_TYPE_ALERT:
        return input_alert(t, data, len);
    case TLS_TYPE_HANDSHAKE:
        return t->records->v13 ? input_key_update(t, data, len) : input_renegotiation(t, data, len);
    default:
        return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE, "a record of an unexpected type");
    }
}

/* ---- data ---- */

/* A record that is larger than the room of a caller with nothing yet: the rest is kept. */
static ssize_t input_split(tls_conn *t, tls_scratch *in, const unsigned char *data, size_t len,
                           char *buf, size_t room)
{
    size_t rest = len - room, raw = in->input_len - in->input_off;

    BRG_ASSERT(len > room && !t->kept);
    memcpy(buf, data, room);
    if (!(t->kept = malloc(rest + raw))) {
        t->failed = 1;
        return -1;
    }
    memcpy(t->kept, data + room, rest);
    memcpy(t->kept + rest, in->input + in->input_off, raw);
    t->kept_plain = (uint32_t)rest;
    t->kept_len = (uint32_t)(rest + raw);
    in->input_off = in->input_len;
    return (ssize_t)room;
}

/* Where a record goes that the caller has no room for, if OpenSSL may want it, too; NULL: nowhere, it is decrypted in place. */
static unsigned char *input_aside(const tls_records *rec, tls_scratch *in, size_t len)
{
    return rec->tickets && tls_record_room(rec, len) <= sizeof in->staged
               ? (unsigned char *)in->staged
               : NULL;
}

/* Bytes of data, 0: the record held none; -1 with t->failed */
static ssize_t input_record(tls_conn *t, tls_scratch *in, size_t len, char *buf, size_t room)
{
    tls_records *rec = t->records;
    unsigned char *record = in->input + in->input_off;
    int fits = tls_record_room(rec, len) <= room;
    unsigned char *out = fits ? (unsigned char *)buf : input_aside(rec, in, len);
    const int in_place = !out;
    unsigned type = 0;
    ssize_t n = tls_open(rec, record, len, &out, &type);

    BRG_ASSERT_DEBUG(in->input_of == t && len <= in->input_len - in->input_off);
    in->input_off += len;
    if (n < 0)
        return input_refuse(t, (unsigned)-n,
                            n == -SSL_AD_BAD_RECORD_MAC ? "a record that cannot be decrypted"
                                                        : "a record of another kind or length");
    if (__builtin_expect(rec->client, 0)) {
        if (type == TLS_TYPE_HANDSHAKE && rec->v13)
            return input_of_server(t, in, in_place ? NULL : record, len, out, (size_t)n);
        if (rec->message_left || rec->head_n)
            return input_refuse(t, SSL_AD_UNEXPECTED_MESSAGE, "half a handshake message");
        if (t->ssl)
            tls_client_settle(t);
    }
    if (type != TLS_TYPE_DATA || !n)
        return input_other(t, type, out, (size_t)n);
    rec->idle = 0;
    if (fits)
        return n;
    if ((size_t)n > room)
        return input_split(t, in, out, (size_t)n, buf, room);
    memcpy(buf, out, (size_t)n);
    return n;
}

/* The next whole record's length; 0: not here yet; less: invalid */
static ssize_t input_next(tls_conn *t, tls_scratch *in)
{
    ssize_t need = tls_record_length(in->input + in->input_off, in->input_len - in->input_off);

    if (need < 0)
        return input_refuse(t, (unsigned)-need, "no record of TLS");
    return need && (size_t)need <= in->input_len - in->input_off ? need : 0;
}

/* @return bytes; the cause of its end is in t->failed, records->ended, t->drained */
static size_t input_fill(tls_conn *t, tls_scratch *in, char *buf, size_t len)
{
    tls_records *rec = t->records;
    size_t got = 0;

    while (got < len && !rec->ended && !t->kept) {
        ssize_t record = input_next(t, in), n;

        if (record < 0)
            break;
        if (!record) {
            if ((n = tls_input_more(t, in)) > 0)
                continue;
            rec->ended |= !n;
            if (n < 0 && errno != EAGAIN) {
                t->failed = 1;
                if (got && !t->client) /* the caller of the next call is told of an end alone */
                    conn_fail(t->bc, errno, "cannot read from the client");
            }
            break;
        }
        if (got && tls_record_room(rec, (size_t)record) > len - got) {
            t->drained = 0; /* it waits for the next call */
            break;
        }
        if ((n = input_record(t, in, (size_t)record, buf + got, len - got)) < 0)
            break;
        got += (size_t)n;
    }
    return got;
}

ssize_t tls_kept_take(tls_conn *t, char *buf, size_t len)
{
    size_t n = t->kept_plain < len ? t->kept_plain : len;

    BRG_ASSERT(t->kept_plain > 0 && t->kept_off + t->kept_plain <= t->kept_len);
    memcpy(buf, t->kept + t->kept_off, n);
    t->kept_off += (uint32_t)n;
    t->kept_plain -= (uint32_t)n;
    if (t->kept_off == t->kept_len)
        tls_kept_drop(t);
    t->bc->rd_ready = 1;
    return (ssize_t)n;
}

ssize_t tls_records_recv(tls_conn *t, char *buf, size_t len)
{
    tls_scratch *in;
    size_t got;
    int error;

    BRG_ASSERT(t->established && t->records && len > 0 && !t->kept_plain);
    t->more = 0;
    if (t->records->ended || !(in = tls_input_begin(t)))
        return 0;
    got = input_fill(t, in, buf, len);
    error = errno;
    tls_input_end(t);
    if (t->records->update_due && !t->held_len && !t->failed && !tls_records_due(t))
        (void)tls_flush(t);
    if (!t->drained || t->kept_plain || (got && (t->failed || t->records->ended)))
        t->bc->rd_ready = 1;
    if (got || (t->records->ended && !t->failed))
        return (ssize_t)got;
    errno = !t->failed ? EAGAIN : error && error != EAGAIN ? error : ECONNABORTED;
    return -1;
}
