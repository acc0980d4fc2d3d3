/* SPDX-License-Identifier: Apache-2.0 */
/* Between OpenSSL and the socket.
 *
 * Output: records are put one behind the other into a buffer of the thread, and leave in one call
 * when the last of them is made. That one is not copied. Records that the socket does not take are
 * held with the connection.
 *
 * Input: the thread's buffer is filled with as much as the socket gives, and OpenSSL takes from
 * there no more than it needs: so bytes behind the handshake are ours. A read that got less than it
 * asked for has emptied the socket, and no further call is made to learn that. */
#include "tls_conn_private.h"
#include "transport.h"
#include "brigade/assert.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Not thread-local arrays: those are part of the stack of every thread of the process. */
static _Thread_local tls_scratch *bio_scratch;
static pthread_key_t bio_key;
static BIO_METHOD *bio_method;

tls_scratch *tls_scratch_of_thread(void)
{
    if (bio_scratch)
        return bio_scratch;
    bio_scratch = calloc(1, sizeof *bio_scratch);
    if (bio_scratch)
        pthread_setspecific(bio_key, bio_scratch);
    return bio_scratch;
}

/* ---- output ---- */

static ssize_t bio_send(tls_conn *t, const struct iovec *iov, int n)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
    ssize_t sent;

    BRG_ASSERT(t->bc->fd >= 0 && n > 0);
    if (__builtin_expect(t->sink != NULL, 0))
        return t->sink->take(t->sink, iov, n);
    do
        sent = sendmsg(t->bc->fd, &msg, MSG_NOSIGNAL | (t->more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    return sent;
}

static int bio_hold(tls_conn *t, const unsigned char *data, size_t len)
{
    unsigned char *bigger;

    BRG_ASSERT(t->held_off <= t->held_len && len > 0);
    bigger = realloc(t->held, t->held_len + len);
    if (!bigger) {
        t->failed = 1;
        return -1;
    }
    memcpy(bigger + t->held_len, data, len);
    t->held = bigger;
    t->held_len += len;
    return 0;
}

/* Write the thread's buffer, and data behind it. */
static int bio_write_out(tls_conn *t, tls_scratch *out, const unsigned char *data, size_t len)
{
    struct iovec iov[2] = {{out->data, out->len}, {(void *)(uintptr_t)data, len}};
    size_t first = out->len, sent = 0;
    ssize_t n = 0;

    BRG_ASSERT(out->len <= sizeof out->data);
    out->len = 0;
    if (!t->held_len && first + len)
        n = bio_send(t, iov + !first, first && len ? 2 : 1);
    if (n < 0 && errno != EAGAIN) {
        t->failed = 1;
        return -1;
    }
    if (n > 0)
        sent = (size_t)n;
    if (sent < first && bio_hold(t, out->data + sent, first - sent))
        return -1;
    sent = sent > first ? sent - first : 0;
    return sent < len ? bio_hold(t, data + sent, len - sent) : 0;
}

static int bio_write(BIO *bio, const char *data, int len)
{
    tls_conn *t = BIO_get_data(bio);
    tls_scratch *out = tls_scratch_of_thread();

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BIO_clear_retry_flags(bio);
    if (len <= 0 || t->failed || !out)
        return -1;
    if (!t->last && out->len + (size_t)len <= sizeof out->data) {
        memcpy(out->data + out->len, data, (size_t)len);
        out->len += (size_t)len;
        return len;
    }
    return bio_write_out(t, out, (const unsigned char *)data, (size_t)len) ? -1 : len;
}

static int bio_flush_held(tls_conn *t)
{
    BRG_ASSERT(t->held != NULL && t->held_off <= t->held_len);
    while (t->held_len > t->held_off) {
        struct iovec iov = {t->held + t->held_off, t->held_len - t->held_off};
        ssize_t n = bio_send(t, &iov, 1);

        if (n < 0) {
            t->failed |= errno != EAGAIN;
            return -1;
        }
        t->held_off += (size_t)n;
    }
    free(t->held);
    t->held = NULL;
    t->held_len = t->held_off = 0;
    return 0;
}

int tls_flush(tls_conn *t)
{
    tls_scratch *out = bio_scratch;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    if (out && out->len && bio_write_out(t, out, NULL, 0)) {
        errno = errno ? errno : EPIPE;
        return -1;
    }
    return t->held_len ? bio_flush_held(t) : 0;
}

/* ---- input ---- */

tls_scratch *tls_input_begin(tls_conn *t)
{
    tls_scratch *in = tls_scratch_of_thread();

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    t->drained = 0;
    t->reads_left = TLS_READS;
    if (!in) {
        t->failed = 1;
        return NULL;
    }
    BRG_ASSERT(!in->input_of);
    in->input_of = t;
    in->input_off = in->input_len = 0;
    if (t->kept) { /* plaintext stays where it is */
        in->input_len = t->kept_len - t->kept_off - t->kept_plain;
        BRG_ASSERT(in->input_len <= sizeof in->input);
        memcpy(in->input, t->kept + t->kept_off + t->kept_plain, in->input_len);
        t->kept_len -= (uint32_t)in->input_len;
        if (!t->kept_plain)
            tls_kept_drop(t);
    }
    return in;
}

void tls_kept_drop(tls_conn *t)
{
    free(t->kept);
    t->kept = NULL;
    t->kept_off = t->kept_plain = t->kept_len = 0;
}

static int tls_kept_add(tls_conn *t, const void *data, size_t len)
{
    unsigned char *bigger = realloc(t->kept, t->kept_len + len);

    BRG_ASSERT(t->kept_off + t->kept_plain <= t->kept_len);
    if (!bigger)
        return -1;
    memcpy(bigger + t->kept_len, data, len);
    t->kept = bigger;
    t->kept_len += (uint32_t)len;
    return 0;
}

void tls_input_end(tls_conn *t)
{
    tls_scratch *in = bio_scratch;
    size_t left = in->input_len - in->input_off;

    BRG_ASSERT(in->input_of == t && in->input_off <= in->input_len);
    in->input_of = NULL;
    if (left && !t->failed && tls_kept_add(t, in->input + in->input_off, left))
        t->failed = 1;
    t->reads_left = 0;
}

static void input_to_front(tls_scratch *in)
{
    BRG_ASSERT_DEBUG(in->input_off <= in->input_len && in->input_len <= sizeof in->input);
    in->input_len -= in->input_off;
    memmove(in->input, in->input + in->input_off, in->input_len);
    in->input_off = 0;
}

ssize_t tls_input_more(tls_conn *t, tls_scratch *in)
{
    size_t room;
    ssize_t n;

    BRG_ASSERT(in->input_of == t && t->bc->below == t);
    if (t->drained || t->reads_left <= 0) {
        errno = EAGAIN;
        return -1;
    }
    if (in->input_off)
        input_to_front(in);
    room = sizeof in->input - in->input_len;
    BRG_ASSERT(room > 0);
    t->reads_left--;
    do
        n = recv(t->bc->fd, in->input + in->input_len, room, 0);
    while (n < 0 && errno == EINTR);
    /* While a server's end may have come with its bytes, nothing tells of it once more. */
    t->drained = n < (t->client && !t->established ? 0 : (ssize_t)room);
    t->eof = n == 0;
    if (n > 0)
        in->input_len += (size_t)n;
    return n;
}

static int bio_read(BIO *bio, char *buf, int len)
{
    tls_conn *t = BIO_get_data(bio);
    tls_scratch *in = bio_scratch;
    ssize_t n = 1;

    BRG_ASSERT_TAG(t, TLS_CONN_TAG);
    BIO_clear_retry_flags(bio);
    if (len <= 0)
        return 0;
    /* Of a handshake that is to go on at a worker the loop reads nothing more: a client may send its certificate before it is
     * asked for. */
    if (!in || in->input_of != t || (__builtin_expect(t->waits, 0) && conn_on_loop())) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (in->input_off == in->input_len)
        n = tls_input_more(t, in);
    if (n < 0 && errno == EAGAIN)
        BIO_set_retry_read(bio);
    if (n <= 0)
        return n < 0 ? -1 : 0;
    if ((size_t)len > in->input_len - in->input_off)
        len = (int)(in->input_len - in->input_off);
    memcpy(buf, in->input + in->input_off, (size_t)len);
    in->input_off += (size_t)len;
    return len;
}

/* ---- the method ---- */

static long bio_ctrl(BIO *bio, int command, long n, void *p)
{
    switch (command) {
    case BIO_CTRL_FLUSH:
    case BIO_CTRL_DUP:
        return 1;
    case BIO_CTRL_EOF:
        return ((const tls_conn *)BIO_get_data(bio))->eof;
    default:
        return 0;
    }
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

int tls_bio_begin(void)
{
    if (bio_method)
        return 0;
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "brigade connection");
    if (!bio_method)
        return -1;
    pthread_key_create(&bio_key, free);
    BIO_meth_set_write(bio_method, bio_write);
    BIO_meth_set_read(bio_method, bio_read);
    BIO_meth_set_ctrl(bio_method, bio_ctrl);
    BIO_meth_set_create(bio_method, bio_create);
    return 0;
}

BIO *tls_bio_new(tls_conn *t)
{
    BIO *bio = bio_method ? BIO_new(bio_method) : NULL;

    BRG_ASSERT(bio == NULL || bio_method != NULL);
    if (bio)
        BIO_set_data(bio, t);
    return bio;
}
