/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to another server with TLS: an input and an output filter at its socket's end of the
 * chains. The first that is read or written makes the handshake. All of it is on one worker thread,
 * which may wait.
 *
 * OpenSSL's records gather in a brigade that is passed on when OpenSSL wants to read, and at the end
 * of each output. */
#include "tls_proxy_private.h"
#include "http_connection.h"
#include "http_log.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <arpa/inet.h>
#include <openssl/err.h>
#include <pthread.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

#define PX_BUFFER 16384        /* decrypted bytes that wait */
#define PX_SMALL 4096          /* pieces of output up to this are joined */
#define PX_RECORDS (64 * 1024) /* ciphertext that is passed on at once */
#define PX_TAG 0x50584353u

typedef struct px_conn {
    uint32_t tag; /* PX_TAG */
    conn_rec *c;
    SSL *ssl;
    tls_proxy_conf conf;
    ap_filter_t *in, *out;
    apr_bucket_brigade *bb_in, *bb_out;
    apr_off_t queued;      /* bytes in bb_out */
    apr_read_type_e block; /* of this read */
    apr_status_t rv;       /* of the last input or output */
    char *data;            /* decrypted; PX_BUFFER */
    size_t off, len;
    char *piece; /* output to be joined; PX_SMALL */
    size_t piece_len;
    unsigned ready : 1, failed : 1, eof : 1;
} px_conn;

static ap_filter_rec_t *px_in_rec, *px_out_rec;
static BIO_METHOD *px_method;

/* ---- records to the server ---- */

static apr_status_t px_send(px_conn *pc, int flush)
{
    BRG_ASSERT_TAG(pc, PX_TAG);
    if (flush)
        APR_BRIGADE_INSERT_TAIL(pc->bb_out, apr_bucket_flush_create(pc->c->bucket_alloc));
    if (APR_BRIGADE_EMPTY(pc->bb_out))
        return APR_SUCCESS;
    pc->queued = 0;
    pc->rv = ap_pass_brigade(pc->out->next, pc->bb_out);
    apr_brigade_cleanup(pc->bb_out);
    if (pc->rv != APR_SUCCESS)
        pc->failed = 1;
    return pc->rv;
}

static int px_bio_write(BIO *bio, const char *data, int len)
{
    px_conn *pc = BIO_get_data(bio);

    BRG_ASSERT_TAG(pc, PX_TAG);
    BIO_clear_retry_flags(bio);
    if (len <= 0 || pc->failed)
        return -1;
    if (apr_brigade_write(pc->bb_out, NULL, NULL, data, (apr_size_t)len) != APR_SUCCESS)
        return -1;
    pc->queued += len;
    return len;
}

/* ---- records from it ---- */

/* @return what is in the first bucket; NULL: nothing, pc->rv says why */
static const char *px_first(px_conn *pc, apr_size_t *len)
{
    const char *data;

    while (!APR_BRIGADE_EMPTY(pc->bb_in)) {
        apr_bucket *e = APR_BRIGADE_FIRST(pc->bb_in);

        if (APR_BUCKET_IS_EOS(e))
            pc->eof = 1;
        if (!APR_BUCKET_IS_METADATA(e)) {
            pc->rv = apr_bucket_read(e, &data, len, pc->block);
            if (pc->rv != APR_SUCCESS)
                return NULL;
            if (*len)
                return data;
        }
        apr_bucket_delete(e);
    }
    pc->rv = pc->eof ? APR_EOF : APR_EAGAIN;
    return NULL;
}

static const char *px_more(px_conn *pc, apr_size_t *len)
{
    const char *data = px_first(pc, len);

    if (data || !APR_BRIGADE_EMPTY(pc->bb_in) || pc->eof)
        return data;
    pc->rv = ap_get_brigade(pc->in->next, pc->bb_in, AP_MODE_READBYTES, pc->block, PX_BUFFER);
    if (pc->rv == APR_SUCCESS && APR_BRIGADE_EMPTY(pc->bb_in) && pc->block == APR_BLOCK_READ)
        pc->eof = 1;
    return pc->rv == APR_SUCCESS ? px_first(pc, len) : NULL;
}

static int px_bio_read(BIO *bio, char *buf, int want)
{
    px_conn *pc = BIO_get_data(bio);
    apr_size_t len, most = want > 0 ? (apr_size_t)want : 0;
    const char *data;
    apr_bucket *e;

    BRG_ASSERT_TAG(pc, PX_TAG);
    BIO_clear_retry_flags(bio);
    if (!most || pc->failed || (!APR_BRIGADE_EMPTY(pc->bb_out) && px_send(pc, 1) != APR_SUCCESS))
        return -1;
    if (!(data = px_more(pc, &len))) {
        if (APR_STATUS_IS_EAGAIN(pc->rv) || APR_STATUS_IS_EINTR(pc->rv))
            BIO_set_retry_read(bio);
        pc->eof |= APR_STATUS_IS_EOF(pc->rv);
        return pc->eof ? 0 : -1;
    }
    len = len < most ? len : most;
    memcpy(buf, data, len);
    e = APR_BRIGADE_FIRST(pc->bb_in);
    if (len < e->length)
        apr_bucket_split(e, len);
    apr_bucket_delete(e);
    return (int)len;
}

static long px_bio_ctrl(BIO *bio, int command, long n, void *p)
{
    switch (command) {
    case BIO_CTRL_FLUSH:
    case BIO_CTRL_DUP:
        return 1;
    case BIO_CTRL_EOF:
        return ((const px_conn *)BIO_get_data(bio))->eof;
    default:
        return 0;
    }
}

static int px_bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

/* ---- the handshake ---- */

static void px_server_name(px_conn *pc, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (!host || inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return; /* RFC 6066, section 3: names alone */
    if (SSL_set_tlsext_host_name(pc->ssl, host) != 1)
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, pc->c,
                      APLOGNO(02002) "Failed to set TLS extension 'server_name' to %s", host);
}

/* "h2,http/1.1" as mod_proxy_http2 has it. */
static void px_alpn(px_conn *pc, const char *names)
{
    unsigned char wire[256];
    size_t at = 0;

    while (names && *names) {
        size_t len = strcspn(names, ", ");

        if (len > 255 || at + 1 + len > sizeof wire)
            return;
        if (len) {
            wire[at++] = (unsigned char)len;
            memcpy(wire + at, names, len);
            at += len;
        }
        names += len + (names[len] != '\0');
    }
    if (at && SSL_set_alpn_protos(pc->ssl, wire, (unsigned)at))
        ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, pc->c,
                      APLOGNO(03309) "error setting alpn protos");
}

static apr_status_t px_handshake_failed(px_conn *pc)
{
    conn_rec *c = pc->c;

    (void)px_send(pc, 1); /* an alert */
    pc->failed = 1;
    c->aborted = 1;
    apr_table_setn(c->notes, "SSL_connect_rv", "err");
    return APR_ECONNABORTED;
}

static void px_tell_connect(px_conn *pc, const char *host)
{
    ap_log_cerror(APLOG_MARK, APLOG_INFO, pc->rv, pc->c,
                  APLOGNO(02003) "SSL Proxy connect failed%s%s", host ? ": " : "",
                  host ? host : "");
    tls_log_errors(pc->c->base_server, APLOG_INFO);
}

static int px_connect(px_conn *pc, const char *host)
{
    int rc;

    BRG_ASSERT(!pc->ready);
    pc->block = APR_BLOCK_READ;
    pc->rv = APR_SUCCESS;
    ERR_clear_error();
    do
        rc = SSL_connect(pc->ssl);
    while (rc <= 0 && SSL_get_error(pc->ssl, rc) == SSL_ERROR_WANT_READ &&
           !APR_STATUS_IS_TIMEUP(pc->rv) && !pc->failed && !pc->eof);
    if (rc != 1)
        px_tell_connect(pc, host);
    return rc == 1 && px_send(pc, 1) == APR_SUCCESS;
}

static apr_status_t px_handshake(px_conn *pc)
{
    const char *host = apr_table_get(pc->c->notes, "proxy-request-hostname");

    BRG_ASSERT_TAG(pc, PX_TAG);
    if (pc->ready)
        return APR_SUCCESS;
    if (pc->failed)
        return APR_ECONNABORTED;
    px_server_name(pc, host);
    px_alpn(pc, apr_table_get(pc->c->notes, "proxy-request-alpn-protos"));
    if (!px_connect(pc, host) || !tls_proxy_check(&pc->conf, pc->c, pc->ssl, host))
        return px_handshake_failed(pc);
    apr_table_setn(pc->c->notes, "SSL_connect_rv", "ok");
    pc->ready = 1;
    return APR_SUCCESS;
}

/* ---- the input filter ---- */

static apr_status_t px_read_status(px_conn *pc, int rc)
{
    switch (SSL_get_error(pc->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return APR_EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return APR_EOF;
    case SSL_ERROR_SYSCALL:
        if (pc->rv != APR_SUCCESS && !APR_STATUS_IS_EOF(pc->rv))
            return pc->rv;
        return APR_EOF;
    default:
        ap_log_cerror(APLOG_MARK, APLOG_INFO, 0, pc->c,
                      APLOGNO(01992) "SSL library error %d reading data", rc);
        tls_log_errors(pc->c->base_server, APLOG_INFO);
        return pc->eof ? APR_EOF : APR_EGENERAL;
    }
}

/* Decrypt some. @return APR_SUCCESS with more than there was */
static apr_status_t px_fill(px_conn *pc, apr_read_type_e block)
{
    apr_status_t rv;
    int n;

    BRG_ASSERT(pc->off <= pc->len && pc->len - pc->off < PX_BUFFER);
    memmove(pc->data, pc->data + pc->off, pc->len - pc->off);
    pc->len -= pc->off;
    pc->off = 0;
    pc->block = block;
    pc->rv = APR_SUCCESS;
    do {
        ERR_clear_error();
        n = SSL_read(pc->ssl, pc->data + pc->len, (int)(PX_BUFFER - pc->len));
        rv = n > 0 ? APR_SUCCESS : px_read_status(pc, n);
    } while (block == APR_BLOCK_READ && APR_STATUS_IS_EAGAIN(rv));
    if (n > 0)
        pc->len += (size_t)n;
    if (!APR_BRIGADE_EMPTY(pc->bb_out)) /* a new key, an alert */
        (void)px_send(pc, 1);
    return rv;
}

/* How much of what waits is a line; 0: its end is not here. */
static size_t px_line(const px_conn *pc)
{
    const char *at = pc->data + pc->off;
    const char *end = pc->len > pc->off ? memchr(at, '\n', pc->len - pc->off) : NULL;

    return end ? (size_t)(end - at) + 1 : 0;
}

static apr_status_t px_fill_for(px_conn *pc, ap_input_mode_t mode, apr_read_type_e block)
{
    apr_status_t rv = APR_SUCCESS;

    if (mode != AP_MODE_GETLINE)
        return pc->len > pc->off ? APR_SUCCESS : px_fill(pc, block);
    while (rv == APR_SUCCESS && !px_line(pc) && pc->len - pc->off < PX_BUFFER)
        rv = px_fill(pc, block);
    return pc->len > pc->off ? APR_SUCCESS : rv;
}

static apr_status_t px_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                             apr_read_type_e block, apr_off_t readbytes)
{
    px_conn *pc = f->ctx;
    apr_status_t rv;
    size_t n;

    BRG_ASSERT_TAG(pc, PX_TAG);
    if (mode != AP_MODE_READBYTES && mode != AP_MODE_GETLINE && mode != AP_MODE_SPECULATIVE &&
        mode != AP_MODE_INIT)
        return APR_ENOTIMPL;
    if (f->c->aborted)
        return APR_ECONNABORTED;
    rv = px_handshake(pc);
    if (rv != APR_SUCCESS || mode == AP_MODE_INIT)
        return rv;
    rv = px_fill_for(pc, mode, block);
    if (rv != APR_SUCCESS)
        return rv;
    n = mode == AP_MODE_GETLINE ? px_line(pc) : (size_t)readbytes;
    if (!n || n > pc->len - pc->off)
        n = pc->len - pc->off;
    APR_BRIGADE_INSERT_TAIL(bb,
                            apr_bucket_transient_create(pc->data + pc->off, n, f->c->bucket_alloc));
    if (mode != AP_MODE_SPECULATIVE)
        pc->off += n;
    return APR_SUCCESS;
}

/* ---- the output filter ---- */

static apr_status_t px_write(px_conn *pc, const char *data, size_t len)
{
    while (len) {
        int most = (int)(len < TLS_RECORD ? len : TLS_RECORD), n;

        ERR_clear_error();
        pc->block = APR_BLOCK_READ;
        n = SSL_write(pc->ssl, data, most);
        if (n <= 0 && SSL_get_error(pc->ssl, n) == SSL_ERROR_WANT_READ && !pc->failed)
            continue;
        if (n <= 0) {
            ap_log_cerror(APLOG_MARK, APLOG_INFO, pc->rv, pc->c,
                          APLOGNO(01993) "SSL output filter write failed.");
            tls_log_errors(pc->c->base_server, APLOG_INFO);
            return pc->rv != APR_SUCCESS ? pc->rv : APR_EGENERAL;
        }
        data += n;
        len -= (size_t)n;
        if (pc->queued >= PX_RECORDS && px_send(pc, 0) != APR_SUCCESS)
            return pc->rv;
    }
    return APR_SUCCESS;
}

static apr_status_t px_write_piece(px_conn *pc)
{
    size_t len = pc->piece_len;

    pc->piece_len = 0;
    return px_write(pc, pc->piece, len);
}

static apr_status_t px_put(px_conn *pc, const char *data, size_t len)
{
    apr_status_t rv = APR_SUCCESS;

    if (pc->piece_len + len > PX_SMALL)
        rv = px_write_piece(pc);
    if (rv != APR_SUCCESS || len > PX_SMALL)
        return rv == APR_SUCCESS ? px_write(pc, data, len) : rv;
    memcpy(pc->piece + pc->piece_len, data, len);
    pc->piece_len += len;
    return APR_SUCCESS;
}

/* Metadata keeps its place among the data. It is taken over. mod_proxy's FLUSH and EOS buckets are of the
 * client's connection. */
static apr_status_t px_put_metadata(px_conn *pc, apr_bucket *e)
{
    apr_status_t rv = px_write_piece(pc);
    int flush = APR_BUCKET_IS_FLUSH(e), end = APR_BUCKET_IS_EOS(e);

    if (rv != APR_SUCCESS)
        return rv;
    if (AP_BUCKET_IS_EOC(e)) {
        ERR_clear_error();
        (void)SSL_shutdown(pc->ssl);
    }
    if (flush || end)
        apr_bucket_delete(e);
    else
        APR_BUCKET_REMOVE(e);
    if (end)
        e = apr_bucket_eos_create(pc->c->bucket_alloc);
    if (!flush)
        APR_BRIGADE_INSERT_TAIL(pc->bb_out, e);
    return flush ? px_send(pc, 1) : APR_SUCCESS;
}

static apr_status_t px_put_data(px_conn *pc, apr_bucket *e)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) { /* what is here leaves before the wait */
        rv = px_write_piece(pc);
        if (rv == APR_SUCCESS)
            rv = px_send(pc, 1);
        if (rv == APR_SUCCESS)
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
    }
    if (rv == APR_SUCCESS)
        rv = px_put(pc, data, len);
    apr_bucket_delete(e);
    return rv;
}

static apr_status_t px_output(ap_filter_t *f, apr_bucket_brigade *bb)
{
    px_conn *pc = f->ctx;
    apr_status_t rv;

    BRG_ASSERT_TAG(pc, PX_TAG);
    if (f->c->aborted) {
        apr_brigade_cleanup(bb);
        return APR_ECONNABORTED;
    }
    rv = px_handshake(pc);
    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);

        rv = APR_BUCKET_IS_METADATA(e) ? px_put_metadata(pc, e) : px_put_data(pc, e);
    }
    if (rv == APR_SUCCESS)
        rv = px_write_piece(pc);
    if (rv == APR_SUCCESS)
        rv = px_send(pc, 0);
    apr_brigade_cleanup(bb);
    return rv;
}

/* ---- begin and end ---- */

static apr_status_t px_free(void *data)
{
    px_conn *pc = data;

    BRG_ASSERT_TAG(pc, PX_TAG);
    SSL_free(pc->ssl);
    pc->ssl = NULL;
    pc->tag = 0;
    return APR_SUCCESS;
}

static SSL *px_ssl(px_conn *pc, const tls_proxy_ctx *px)
{
    SSL *ssl = SSL_new(px->ctx);
    BIO *bio = ssl && px_method ? BIO_new(px_method) : NULL;

    if (!bio || !SSL_set_app_data(ssl, pc->c)) {
        BIO_free(bio);
        SSL_free(ssl);
        return NULL;
    }
    BIO_set_data(bio, pc);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_connect_state(ssl);
    return ssl;
}

int tls_proxy_begin(conn_rec *c, const tls_proxy_conf *conf)
{
    const tls_proxy_ctx *px = tls_proxy_context(conf, c->base_server);
    px_conn *pc = px ? apr_pcalloc(c->pool, sizeof *pc) : NULL;

    BRG_ASSERT(c->outgoing);
    if (!pc)
        return -1;
    pc->tag = PX_TAG;
    pc->c = c;
    pc->conf = *conf;
    if (!(pc->ssl = px_ssl(pc, px))) {
        tls_log_errors(c->base_server, APLOG_ERR);
        return -1;
    }
    pc->data = apr_palloc(c->pool, PX_BUFFER);
    pc->piece = apr_palloc(c->pool, PX_SMALL);
    pc->bb_in = apr_brigade_create(c->pool, c->bucket_alloc);
    pc->bb_out = apr_brigade_create(c->pool, c->bucket_alloc);
    apr_pool_cleanup_register(c->pool, pc, px_free, apr_pool_cleanup_null);
    pc->in = ap_add_input_filter_handle(px_in_rec, pc, NULL, c);
    pc->out = ap_add_output_filter_handle(px_out_rec, pc, NULL, c);
    ap_set_module_config(c->conn_config, &ssl_module, pc);
    return 0;
}

void tls_proxy_end(conn_rec *c)
{
    px_conn *pc = c->outgoing ? ap_get_module_config(c->conn_config, &ssl_module) : NULL;

    if (!pc || pc->ready)
        return;
    ap_remove_input_filter(pc->in);
    ap_remove_output_filter(pc->out);
    ap_set_module_config(c->conn_config, &ssl_module, NULL);
}

SSL *tls_proxy_ssl(conn_rec *c)
{
    const px_conn *pc = c && c->outgoing ? ap_get_module_config(c->conn_config, &ssl_module) : NULL;

    return pc ? pc->ssl : NULL;
}

static void px_method_make(void)
{
    px_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "brigade proxied");
    if (!px_method)
        return;
    BIO_meth_set_write(px_method, px_bio_write);
    BIO_meth_set_read(px_method, px_bio_read);
    BIO_meth_set_ctrl(px_method, px_bio_ctrl);
    BIO_meth_set_create(px_method, px_bio_create);
}

void tls_proxy_filters(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, px_method_make);
    px_in_rec = ap_register_input_filter("SSL/TLS Filter", px_input, NULL, AP_FTYPE_CONNECTION + 5);
    px_out_rec =
        ap_register_output_filter("SSL/TLS Filter", px_output, NULL, AP_FTYPE_CONNECTION + 5);
}
