/* SPDX-License-Identifier: Apache-2.0 */
/* A connection whose client left while its request has something to do for others. */
#include "transport.h"
#include "brigade/assert.h"

static ssize_t nobody_recv(brg_conn *bc, void *buf, size_t len)
{
    (void)bc;
    (void)buf;
    (void)len;
    return 0;
}

static ssize_t nobody_sendv(brg_conn *bc, const struct iovec *iov, int n, int more)
{
    ssize_t bytes = 0;

    (void)bc;
    (void)more;
    for (int i = 0; i < n; i++)
        bytes += (ssize_t)iov[i].iov_len;
    return bytes;
}

static int nobody_shut(brg_conn *bc)
{
    (void)bc;
    return 0;
}

const struct conn_transport conn_nobody = {
    .name = "nobody", .recv = nobody_recv, .sendv = nobody_sendv, .shut = nobody_shut};

int conn_outlive(brg_conn *bc)
{
    if (bc->transport == &conn_nobody)
        return 1;
    if (!bc->held.stays || bc->master || !bc->held.stays(bc->held.stays_baton))
        return 0;
    BRG_ASSERT(bc->fd >= 0);
    bc->failed = 1; /* whoever lies below has nobody to say goodbye to */
    transport_end(bc);
    bc->failed = 0;
    bc->read_eof = 1;
    bc->transport = &conn_nobody;
    return 1;
}
