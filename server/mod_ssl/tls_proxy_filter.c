/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to another server with TLS: an input and an output filter at its socket's end of the
 * chains. The first that is read or written makes the handshake. All of it is on one worker thread,
 * which may wait.
 */
#include "tls_proxy_filter_private.h"
#include "http_connection.h"
#include "http_log.h"
#include "util_filter.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <openssl/err.h>
#include <string.h>

APLOG_USE_MODULE(ssl);

static ap_filter_rec_t *px_in_rec, *px_out_rec;

/* ---- the handshake ---- */

/* "h2,http/1.1" as mod_proxy_http2 has it. */
static void px_alpn(tls_px *pc, const char *names)
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

static apr_status_t px_handshake_failed(tls_px *pc)
{
    conn_rec *c = pc->c;

    (void)tls_px_send(pc, 1); /* an alert */
    pc->failed = 1;
    c->aborted = 1;
    apr_table_setn(c->notes, "SSL_connect_rv", "err");
    return APR_ECONNABORTED;
}

static int px_connect(tls_px *pc, const char *host)
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
        tls_proxy_tell_connect(pc->c, pc->rv, host);
    return rc == 1 && tls_px_send(pc, 1) == APR_SUCCESS;
}

static apr_status_t px_handshake(tls_px *pc)
{
    const char *host = apr_table_get(pc->c->notes, "proxy-request-hostname");

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
    if (pc->ready)
        return APR_SUCCESS;
    if (pc->failed)
        return APR_ECONNABORTED;
    tls_proxy_server_name(pc->ssl, host);
    px_alpn(pc, apr_table_get(pc->c->notes, "proxy-request-alpn-protos"));
    if (!px_connect(pc, host) || !tls_proxy_check(&pc->conf, pc->ssl, host))
        return px_handshake_failed(pc);
    apr_table_setn(pc->c->notes, "SSL_connect_rv", "ok");
    pc->ready = 1;
    return APR_SUCCESS;
}

/* ---- the input filter ---- */

static apr_status_t px_read_status(tls_px *pc, int rc)
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
static apr_status_t px_fill(tls_px *pc, apr_read_type_e block)
{
    apr_status_t rv;
    int n;

    BRG_ASSERT(pc->off <= pc->len && pc->len - pc->off < TLS_PX_BUFFER);
    memmove(pc->data, pc->data + pc->off, pc->len - pc->off);
    pc->len -= pc->off;
    pc->off = 0;
    pc->block = block;
    pc->rv = APR_SUCCESS;
    do {
        ERR_clear_error();
        n = SSL_read(pc->ssl, pc->data + pc->len, (int)(TLS_PX_BUFFER - pc->len));
        rv = n > 0 ? APR_SUCCESS : px_read_status(pc, n);
    } while (block == APR_BLOCK_READ && APR_STATUS_IS_EAGAIN(rv));
    if (n > 0)
        pc->len += (size_t)n;
    BRG_ASSERT(pc->len <= TLS_PX_BUFFER);
    if (!APR_BRIGADE_EMPTY(pc->bb_out)) /* a new key, an alert */
        (void)tls_px_send(pc, 1);
    return rv;
}

/* Length of the first line of waiting bytes; 0: its end is not here. */
static size_t px_line(const tls_px *pc)
{
    const char *at = pc->data + pc->off;
    const char *end = pc->len > pc->off ? memchr(at, '\n', pc->len - pc->off) : NULL;

    return end ? (size_t)(end - at) + 1 : 0;
}

static apr_status_t px_fill_for(tls_px *pc, ap_input_mode_t mode, apr_read_type_e block)
{
    apr_status_t rv = APR_SUCCESS;

    if (mode != AP_MODE_GETLINE)
        return pc->len > pc->off ? APR_SUCCESS : px_fill(pc, block);
    while (rv == APR_SUCCESS && !px_line(pc) && pc->len - pc->off < TLS_PX_BUFFER)
        rv = px_fill(pc, block);
    return pc->len > pc->off ? APR_SUCCESS : rv;
}

static apr_status_t px_input(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                             apr_read_type_e block, apr_off_t readbytes)
{
    tls_px *pc = f->ctx;
    apr_status_t rv;
    size_t n;

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
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
    BRG_ASSERT(pc->ready && n > 0 && pc->off + n <= pc->len);
    APR_BRIGADE_INSERT_TAIL(bb,
                            apr_bucket_transient_create(pc->data + pc->off, n, f->c->bucket_alloc));
    if (mode != AP_MODE_SPECULATIVE)
        pc->off += n;
    return APR_SUCCESS;
}

/* ---- the output filter ---- */

static apr_status_t px_write(tls_px *pc, const char *data, size_t len)
{
    while (len) {
        int most = (int)(len < TLS_PX_RECORD ? len : TLS_PX_RECORD), n;

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
        if (pc->queued >= TLS_PX_RECORDS && tls_px_send(pc, 0) != APR_SUCCESS)
            return pc->rv;
    }
    return APR_SUCCESS;
}

static apr_status_t px_write_piece(tls_px *pc)
{
    size_t len = pc->piece_len;

    BRG_ASSERT(len <= TLS_PX_SMALL);
    pc->piece_len = 0;
    return px_write(pc, pc->piece, len);
}

static apr_status_t px_put(tls_px *pc, const char *data, size_t len)
{
    apr_status_t rv = APR_SUCCESS;

    if (pc->piece_len + len > TLS_PX_SMALL)
        rv = px_write_piece(pc);
    if (rv != APR_SUCCESS || len > TLS_PX_SMALL)
        return rv == APR_SUCCESS ? px_write(pc, data, len) : rv;
    BRG_ASSERT(pc->piece_len + len <= TLS_PX_SMALL);
    memcpy(pc->piece + pc->piece_len, data, len);
    pc->piece_len += len;
    return APR_SUCCESS;
}

/* Metadata keeps its place among the data. It is taken over. mod_proxy's FLUSH and EOS buckets are of the
 * client's connection. */
static apr_status_t px_put_metadata(tls_px *pc, apr_bucket *e)
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
    return flush ? tls_px_send(pc, 1) : APR_SUCCESS;
}

static apr_status_t px_put_data(tls_px *pc, apr_bucket *e)
{
    const char *data;
    apr_size_t len;
    apr_status_t rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);

    if (APR_STATUS_IS_EAGAIN(rv)) { /* bytes at hand leave before the wait */
        rv = px_write_piece(pc);
        if (rv == APR_SUCCESS)
            rv = tls_px_send(pc, 1);
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
    tls_px *pc = f->ctx;
    apr_status_t rv;

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
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
        rv = tls_px_send(pc, 0);
    apr_brigade_cleanup(bb);
    return rv;
}

/* ---- begin and end ---- */

static apr_status_t px_free(void *data)
{
    tls_px *pc = data;

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
    SSL_free(pc->ssl);
    pc->ssl = NULL;
    pc->tag = 0;
    return APR_SUCCESS;
}

static SSL *px_ssl(tls_px *pc, const tls_proxy_ctx *px)
{
    SSL *ssl = SSL_new(px->ctx);
    BIO *bio = ssl ? tls_px_bio_new(pc) : NULL;

    if (!bio || !SSL_set_app_data(ssl, pc->c)) {
        BIO_free(bio);
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_bio(ssl, bio, bio);
    SSL_set_connect_state(ssl);
    return ssl;
}

int tls_proxy_begin(conn_rec *c, const tls_proxy_conf *conf)
{
    const tls_proxy_ctx *px = tls_proxy_context(conf, c->base_server);
    tls_px *pc = px ? apr_pcalloc(c->pool, sizeof *pc) : NULL;

    BRG_ASSERT(c->outgoing);
    if (!pc)
        return -1;
    pc->tag = TLS_PX_TAG;
    pc->c = c;
    pc->conf = *conf;
    if (!(pc->ssl = px_ssl(pc, px))) {
        tls_log_errors(c->base_server, APLOG_ERR);
        return -1;
    }
    pc->data = apr_palloc(c->pool, TLS_PX_BUFFER);
    pc->piece = apr_palloc(c->pool, TLS_PX_SMALL);
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
    tls_px *pc = c->outgoing ? ap_get_module_config(c->conn_config, &ssl_module) : NULL;

    if (!pc || pc->ready)
        return;
    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
    ap_remove_input_filter(pc->in);
    ap_remove_output_filter(pc->out);
    ap_set_module_config(c->conn_config, &ssl_module, NULL);
}

SSL *tls_proxy_ssl(conn_rec *c)
{
    const tls_px *pc = c && c->outgoing ? ap_get_module_config(c->conn_config, &ssl_module) : NULL;

    return pc ? pc->ssl : NULL;
}

void tls_proxy_filters(void)
{
    tls_px_bio_begin();
    px_in_rec = ap_register_input_filter("SSL/TLS Filter", px_input, NULL, AP_FTYPE_CONNECTION + 5);
    px_out_rec =
        ap_register_output_filter("SSL/TLS Filter", px_output, NULL, AP_FTYPE_CONNECTION + 5);
}
