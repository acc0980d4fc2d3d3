/* SPDX-License-Identifier: Apache-2.0 */
/* Between OpenSSL and the filters below it, for connections to other servers. Records gather in a
 * brigade that is passed on when OpenSSL wants to read, and at the end of each output. */
#include "tls_proxy_filter_private.h"
#include "util_filter.h"
#include "brigade/assert.h"
#include <string.h>

static BIO_METHOD *px_method;

/* ---- records to the server ---- */

apr_status_t tls_px_send(tls_px *pc, int flush)
{
    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
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
    tls_px *pc = BIO_get_data(bio);

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
    BIO_clear_retry_flags(bio);
    if (len <= 0 || pc->failed)
        return -1;
    if (apr_brigade_write(pc->bb_out, NULL, NULL, data, (apr_size_t)len) != APR_SUCCESS)
        return -1;
    pc->queued += len;
    return len;
}

/* ---- records from it ---- */

/* @return the bytes of the first bucket; NULL: nothing, pc->rv says why */
static const char *px_first(tls_px *pc, apr_size_t *len)
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

static const char *px_more(tls_px *pc, apr_size_t *len)
{
    const char *data = px_first(pc, len);

    if (data || !APR_BRIGADE_EMPTY(pc->bb_in) || pc->eof)
        return data;
    pc->rv = ap_get_brigade(pc->in->next, pc->bb_in, AP_MODE_READBYTES, pc->block, TLS_PX_BUFFER);
    if (pc->rv == APR_SUCCESS && APR_BRIGADE_EMPTY(pc->bb_in) && pc->block == APR_BLOCK_READ)
        pc->eof = 1;
    return pc->rv == APR_SUCCESS ? px_first(pc, len) : NULL;
}

static int px_bio_read(BIO *bio, char *buf, int want)
{
    tls_px *pc = BIO_get_data(bio);
    apr_size_t len, most = want > 0 ? (apr_size_t)want : 0;
    const char *data;
    apr_bucket *e;

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
    BIO_clear_retry_flags(bio);
    if (!most || pc->failed ||
        (!APR_BRIGADE_EMPTY(pc->bb_out) && tls_px_send(pc, 1) != APR_SUCCESS))
        return -1;
    if (!(data = px_more(pc, &len))) {
        if (APR_STATUS_IS_EAGAIN(pc->rv) || APR_STATUS_IS_EINTR(pc->rv))
            BIO_set_retry_read(bio);
        pc->eof |= APR_STATUS_IS_EOF(pc->rv);
        return pc->eof ? 0 : -1;
    }
    BRG_ASSERT(len > 0 && !APR_BRIGADE_EMPTY(pc->bb_in)); /* px_first() */
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
        return ((const tls_px *)BIO_get_data(bio))->eof;
    default:
        return 0;
    }
}

static int px_bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

/* ---- the method ---- */

void tls_px_bio_begin(void)
{
    if (!px_method)
        px_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "brigade proxied");
    if (!px_method)
        return;
    BIO_meth_set_write(px_method, px_bio_write);
    BIO_meth_set_read(px_method, px_bio_read);
    BIO_meth_set_ctrl(px_method, px_bio_ctrl);
    BIO_meth_set_create(px_method, px_bio_create);
}

BIO *tls_px_bio_new(tls_px *pc)
{
    BIO *bio = px_method ? BIO_new(px_method) : NULL;

    BRG_ASSERT_TAG(pc, TLS_PX_TAG);
    if (bio)
        BIO_set_data(bio, pc);
    return bio;
}
