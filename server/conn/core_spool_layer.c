/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output on disk of a connection with a layer over its socket (TLS): the file holds the layer's
 * output, so that the loop sends it without the layer, which the worker goes on using. Whatever the
 * layer makes meanwhile, answers to the client's messages included, goes the same way, and its
 * order stays.
 *
 * A sink that takes less than it is given is a full socket to the layer: it holds the rest, and writes it
 * first when it has the socket again, after all that is in the file was sent.
 */
#include "core_spool_private.h"

#include "brigade/assert.h"

#include <errno.h>
#include <stddef.h>

static ssize_t layer_refuses(const struct core_spool *sp)
{
    errno = sp->sink_error ? ECONNABORTED : EAGAIN;
    return -1;
}

/* transport_sink.take */
static ssize_t layer_take(struct transport_sink *sink, const struct iovec *iov, int n)
{
    struct core_spool *sp =
        (struct core_spool *)(void *)((char *)sink - offsetof(struct core_spool, sink));
    apr_status_t rv = APR_SUCCESS;
    apr_size_t taken, done = 0;

    BRG_ASSERT(sp->out != NULL && n > 0);
    if (conn_on_loop() || !sp->active || sp->failed || sp->sink_error)
        return layer_refuses(sp);
    for (int i = 0; i < n && rv == APR_SUCCESS; i++) {
        rv = spool_append_bytes(sp->out, iov[i].iov_base, iov[i].iov_len, &taken);
        done += taken;
    }
    if (rv != CORE_SPOOL_NONE)
        sp->sink_error = rv;
    return done ? (ssize_t)done : layer_refuses(sp);
}

void spool_layer_begin(struct core_spool *sp)
{
    BRG_ASSERT(sp->active && transport_diverts(sp->out->bc));
    sp->sink.take = layer_take;
    sp->sink_error = APR_SUCCESS;
    transport_divert(sp->out->bc, &sp->sink);
}

apr_status_t spool_layer_append(struct core_spool *sp, const char *data, apr_size_t len,
                                apr_size_t *taken)
{
    struct iovec iov = {(void *)(uintptr_t)data, len};
    ssize_t n = transport_sendv(sp->out->bc, &iov, 1, 0);
    int error = errno;

    BRG_ASSERT(n <= (ssize_t)len);
    *taken = n > 0 ? (apr_size_t)n : 0;
    sp->data += (spool_pos)*taken;
    if (sp->sink_error)
        return sp->sink_error;
    if (n < 0 && error != EAGAIN && error != EINTR)
        return error;
    if (*taken == len)
        return APR_SUCCESS;
    sp->failed = 1;
    return CORE_SPOOL_NONE;
}

spool_pos spool_layer_sent(const struct core_spool *sp)
{
    spool_pos rd = atomic_load(&sp->rd), wr = atomic_load(&sp->wr);

    BRG_ASSERT(rd <= wr);
    return rd == wr ? sp->data : (spool_pos)((double)sp->data * (double)rd / (double)wr);
}
