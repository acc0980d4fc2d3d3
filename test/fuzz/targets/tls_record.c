/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the server's own over a socket, both ways. The first byte chooses the cipher, the protocol, the
 * direction, and whether the connection was accepted or made by this server; the others are steps: records that a client makes with the right keys, bytes that are none, reads and
 * writes of any size. What is read is the beginning of what was sent, and all of it if nothing else came; what is
 * written comes out whole.
 * Covers: server/tls/tls_record.c server/tls/tls_input.c server/tls/tls_bio.c
 */
#include "tls_client.h"
#include "tls_record_private.h"
#include "connection.h"
#include "test_config.h"
#include "transport.h"
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST (256 * 1024) /* bytes of data in a run */

typedef struct ends {
    brg_conn bc;
    tls_conn *t;
    tls_records peer; /* the client: in.ctx opens what the server sends */
    int fd;
    size_t sent, got; /* bytes of data */
    int spoiled;      /* something came that is no data */
    int over;         /* the server reads no further */
} ends;

static tls_loop loop;
static brg_loop of_clients = {.layer = &loop};
static const tls_client_context *context;

static void check(int right)
{
    if (!right)
        abort();
}

/* The byte of the stream of data at @a at. */
static unsigned char byte_at(size_t at)
{
    return (unsigned char)(at * 31 + (at >> 8));
}

/* ---- both ends ---- */

static void begin_once(void)
{
    if (loop.lib)
        return;
    check(!test_config_setup(NULL) && test_config_read("SSLProxyEngine on"));
    loop.lib = OSSL_LIB_CTX_new();
    tls_keys_begin(&loop);
    tls_bio_begin();
    context = tls_client_context_make(ap_server_conf->process->pconf, ap_server_conf, NULL);
    check(context != NULL);
}

static void keys(tls_records *rec, int aead, int v13, int server)
{
    unsigned char key[32];

    memset(key, 7, sizeof key);
    rec->aead = loop.aead[aead];
    rec->v13 = (uint8_t)v13;
    rec->explicit_iv = !v13 && aead != TLS_CHACHA20;
    rec->secret_len = 32;
    memset(server ? rec->out.secret : rec->in.secret, 9, 32);
    check(!tls_half_key(&rec->in, rec->aead, key, 0) &&
          !tls_half_key(&rec->out, rec->aead, key, 1));
}

static void begin_accepted(ends *e)
{
    e->t = calloc(1, sizeof *e->t);
    e->t->tag = TLS_CONN_TAG;
    e->t->bc = &e->bc;
    e->t->loop = &loop;
    e->t->server = ap_server_conf;
    e->bc.base = ap_server_conf;
    e->bc.below = e->t;
    e->bc.transport = &tls_transport;
    tls_keys_expect(e->t);
    e->t->established = 1;
}

/* Without what OpenSSL makes of a server's messages: it had no handshake. */
static void begin_made(ends *e)
{
    e->bc.loop = &of_clients;
    check(!tls_client_begin(&e->bc, context, "localhost", NULL, NULL));
    e->t = e->bc.below;
    e->t->established = 1;
    tls_client_settle(e->t);
}

static void ends_begin(ends *e, unsigned flags)
{
    int fds[2], aead = (int)(flags % TLS_AEADS), v13 = (flags >> 2) & 1;

    memset(e, 0, sizeof *e);
    check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
    e->fd = fds[1];
    e->bc.tag = CONN_TAG;
    e->bc.fd = fds[0];
    if (flags & 16)
        begin_made(e);
    else
        begin_accepted(e);
    keys(e->t->records, aead, v13, 1);
    keys(&e->peer, aead, v13, 0);
}

static void ends_end(ends *e)
{
    int fd = e->bc.fd;

    tls_release(&e->bc);
    e->peer.aead->release(e->peer.in.ctx);
    e->peer.aead->release(e->peer.out.ctx);
    close(fd);
    close(e->fd);
}

/* ---- the server reads ---- */

static void server_reads(ends *e, size_t len)
{
    static char buf[2 * TLS_RECORD];
    ssize_t n;

    e->bc.rd_ready = 0;
    errno = 0;
    n = tls_transport.recv(&e->bc, buf, len);
    check(n <= (ssize_t)len);
    for (ssize_t i = 0; i < n; i++)
        check((unsigned char)buf[i] == byte_at(e->got++));
    check(e->got <= e->sent);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        e->over = 1;
}

static void server_reads_all(ends *e)
{
    do
        server_reads(e, TLS_RECORD);
    while (!e->over && e->bc.rd_ready);
}

static void client_sends(ends *e, const void *data, size_t len)
{
    const char *at = data;

    while (len && !e->over) {
        ssize_t n = send(e->fd, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            return;
        if (n < 0) {
            server_reads_all(e);
            continue;
        }
        at += n;
        len -= (size_t)n;
    }
}

static void client_record(ends *e, unsigned type, const void *content, size_t len)
{
    static unsigned char record[TLS_RECORD + TLS_ADDED_MOST];
    struct iovec iov = {(void *)(uintptr_t)content, len};
    size_t n = tls_seal(&e->peer, type, &iov, 0, len, record);

    check(n > len);
    client_sends(e, record, n);
}

static void client_data(ends *e, size_t len)
{
    static unsigned char content[TLS_RECORD];

    if (!len || len > TLS_RECORD || e->sent + len > MOST)
        return;
    for (size_t i = 0; i < len; i++)
        content[i] = byte_at(e->sent + i);
    e->sent += len;
    client_record(e, TLS_TYPE_DATA, content, len);
}

/* TLS 1.3: what stands before padding may be data. @return how much */
static size_t inner_data(const uint8_t *content, size_t len)
{
    while (len && !content[len - 1])
        len--;
    return len && content[len - 1] == TLS_TYPE_DATA ? len - 1 : 0;
}

/* Of any type. A KeyUpdate changes the client's keys; type 0 is padding in TLS 1.3. */
static void client_other(ends *e, unsigned type, const uint8_t *content, size_t len)
{
    unsigned char copy[UINT8_MAX];
    size_t inner = e->peer.v13 && !type ? inner_data(content, len) : 0;

    e->spoiled = 1;
    if (!len || type == TLS_TYPE_DATA)
        return;
    memcpy(copy, content, len);
    for (size_t i = 0; i < inner; i++)
        copy[i] = byte_at(e->sent++);
    client_record(e, type, copy, len);
    if (e->peer.v13 && type == TLS_TYPE_HANDSHAKE && len == 5 && !memcmp(content, "\x18\0\0\1", 4))
        check(!tls_key_update(&loop, &e->peer, &e->peer.out, 1));
}

static void receive(ends *e, const uint8_t *data, size_t size)
{
    while (size >= 4 && !e->over) {
        unsigned what = data[0] & 3, value = (unsigned)data[1] << 8 | data[2];
        size_t len = data[3] < size - 4 ? data[3] : size - 4;

        if (what == 0) {
            client_data(e, value % (TLS_RECORD + 1));
        } else if (what == 1) {
            server_reads(e, value % TLS_RECORD + 1);
        } else if (what == 2) {
            client_other(e, data[1], data + 4, len);
        } else {
            e->spoiled = 1;
            client_sends(e, data + 4, len);
        }
        if (what > 1) {
            data += len;
            size -= len;
        }
        data += 4;
        size -= 4;
    }
    shutdown(e->fd, SHUT_WR);
    while (!e->over)
        server_reads_all(e);
    check(e->spoiled || e->got == e->sent);
}

/* ---- the server writes ---- */

static unsigned char wire[TLS_RECORD + TLS_ADDED_MOST + TLS_HEADER];
static size_t wire_len;

static void client_takes_record(ends *e, size_t len)
{
    unsigned char *out = NULL;
    unsigned type = 0;
    ssize_t n = tls_open(&e->peer, wire, len, &out, &type);

    check(n >= 0);
    if (type == TLS_TYPE_HANDSHAKE) { /* the KeyUpdate that was asked for */
        check(e->peer.v13 && n == 5 && !memcmp(out, "\x18\0\0\1\0", 5));
        check(!tls_key_update(&loop, &e->peer, &e->peer.in, 0));
        return;
    }
    check(type == TLS_TYPE_DATA || type == TLS_TYPE_ALERT);
    for (ssize_t i = 0; type == TLS_TYPE_DATA && i < n; i++)
        check(out[i] == byte_at(e->got++));
}

/* @return 0: nothing is there */
static int client_takes(ends *e, size_t most)
{
    ssize_t need, n;

    if (most > sizeof wire - wire_len)
        most = sizeof wire - wire_len;
    n = recv(e->fd, wire + wire_len, most, 0);
    if (n > 0)
        wire_len += (size_t)n;
    while ((need = tls_record_length(wire, wire_len)) > 0 && (size_t)need <= wire_len) {
        client_takes_record(e, (size_t)need);
        wire_len -= (size_t)need;
        memmove(wire, wire + need, wire_len);
    }
    check(need >= 0);
    return n > 0;
}

/* @return bytes that were taken, or -1 */
static ssize_t server_writes(ends *e, unsigned char *text, size_t left, size_t first, size_t second,
                             int more)
{
    struct iovec iov[3];

    first = first < left ? first : left;
    second = second < left - first ? second : left - first;
    iov[0] = (struct iovec){text, first};
    iov[1] = (struct iovec){text + first, second};
    iov[2] = (struct iovec){text + first + second, left - first - second};
    return tls_transport.sendv(&e->bc, iov, 3, more);
}

static void server_writes_some(ends *e, const uint8_t *step)
{
    static unsigned char text[MOST];
    size_t left = (size_t)step[1] << 8 | step[2];

    if (!left || e->sent + left > MOST)
        return;
    for (size_t i = 0; i < left; i++)
        text[i] = byte_at(e->sent + i);
    for (size_t at = 0; left;) {
        ssize_t n = server_writes(e, text + at, left, step[3], (size_t)step[2] << 6, step[0] & 4);

        check(n != 0 && n <= (ssize_t)left && (n > 0 || errno == EAGAIN));
        if (n > 0) {
            at += (size_t)n;
            e->sent += (size_t)n;
            left -= (size_t)n;
        } else {
            check(client_takes(e, (size_t)step[3] * 64 + 61));
        }
    }
}

static void transmit(ends *e, const uint8_t *data, size_t size)
{
    int small = 4096;

    wire_len = 0;
    setsockopt(e->bc.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    for (; size >= 4; data += 4, size -= 4)
        if ((data[0] & 3) < 2)
            server_writes_some(e, data);
        else if ((data[0] & 3) == 2)
            client_takes(e, (size_t)data[1] * 64 + 1);
        else
            e->t->records->update_due = e->peer.v13;
    while (client_takes(e, sizeof wire) || tls_flush(e->t))
        ;
    if (!tls_transport.shut(&e->bc)) /* by which all of it leaves */
        while (client_takes(e, sizeof wire))
            ;
    check(e->got == e->sent && !wire_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ends e;

    begin_once();
    if (!size)
        return 0;
    ends_begin(&e, data[0]);
    if (data[0] & 8)
        transmit(&e, data + 1, size - 1);
    else
        receive(&e, data + 1, size - 1);
    ends_end(&e);
    return 0;
}
