/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of a connection as modules see it, and what it means to close it.
 *
 * The event loop owns a connection's descriptor. If a module closed it (mod_security2's "drop"), the
 * next connection could get the same number, and the rest of this one's response with it. So the
 * program has its own apr_socket_close(), which takes the place of libapr's: it shuts the connection
 * down, and the loop closes the descriptor when the worker is done.
 */
#include "connection.h"
#include "http_connection.h"
#include "http_core.h"
#include "mpm_common.h"
#include "brigade/assert.h"

#include "apr_portable.h"
#include "stock_function.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define SOCKET_KEY "brigade connection"

static apr_status_t connection_peer(const brg_conn *bc, apr_os_sock_info_t *info,
                                    struct sockaddr_storage *peer)
{
    const apr_sockaddr_t *pretended = bc->listener ? bc->listener->pretended : NULL;
    socklen_t len = sizeof *peer;

    info->type = SOCK_STREAM;
    if (pretended) {
        memcpy(peer, &pretended->sa, sizeof pretended->sa);
        info->local = info->remote = (struct sockaddr *)peer;
        info->family = pretended->family;
        return APR_SUCCESS;
    }
    if (bc->listener &&
        bc->listener->addr) { /* APR asks the kernel for the rest, whatever it is told here */
        info->family = bc->listener->addr->family;
        return APR_SUCCESS;
    }
    if (getpeername(bc->fd, (struct sockaddr *)peer, &len) < 0)
        return errno;
    info->remote = (struct sockaddr *)peer;
    info->family = peer->ss_family;
    return APR_SUCCESS;
}

apr_status_t connection_socket(apr_socket_t **csd, brg_conn *bc, apr_pool_t *p,
                               apr_interval_time_t timeout)
{
    apr_os_sock_t fd = bc->fd;
    apr_os_sock_info_t info = {.os_sock = &fd};
    struct sockaddr_storage peer;
    apr_status_t rv;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(fd >= 0);
    rv = connection_peer(bc, &info, &peer);
    if (rv == APR_SUCCESS)
        rv = apr_os_sock_make(csd, &info, p);
    if (rv == APR_SUCCESS)
        rv = apr_socket_data_set(*csd, bc, SOCKET_KEY, NULL);
    return rv == APR_SUCCESS ? apr_socket_timeout_set(*csd, timeout) : rv;
}

void connection_disown(apr_socket_t *csd, apr_pool_t *p)
{
    apr_os_sock_t none = -1;

    apr_os_sock_put(&csd, &none, p);
    apr_socket_data_set(csd, NULL, SOCKET_KEY, NULL);
}

static apr_status_t socket_close_other(apr_socket_t *csd)
{
    static _Atomic(void *) found; /* by whichever thread comes first, or several: the same */
    void *at = atomic_load_explicit(&found, memory_order_acquire);
    apr_status_t (*of_apr)(apr_socket_t *);

    if (!at) {
        at = stock_function("apr_socket_close");
        atomic_store_explicit(&found, at, memory_order_release);
    }
    *(void **)&of_apr = at;
    return of_apr ? of_apr(csd) : APR_ENOTIMPL;
}

__attribute__((visibility("default"))) APR_DECLARE(apr_status_t) apr_socket_close(apr_socket_t *csd)
{
    void *data = NULL;
    brg_conn *bc;

    apr_socket_data_get(&data, SOCKET_KEY, csd);
    if (!(bc = data))
        return socket_close_other(csd);
    BRG_ASSERT_TAG(bc, CONN_TAG);
    shutdown(bc->fd, SHUT_RDWR);
    connection_disown(csd, apr_socket_pool_get(csd));
    if (bc->c)
        connection_abort(bc->c);
    bc->failed = 1;
    return APR_SUCCESS;
}

apr_status_t connection_get_pollfd(conn_rec *c, struct apr_pollfd_t *pfd,
                                   apr_interval_time_t *timeout)
{
    apr_socket_t *csd = ap_get_conn_socket(c);

    if (c->master || !csd)
        return APR_ENOTIMPL;
    pfd->p = c->pool;
    pfd->desc_type = APR_POLL_SOCKET;
    pfd->desc.s = csd;
    if (timeout)
        apr_socket_timeout_get(csd, timeout);
    return APR_SUCCESS;
}

AP_CORE_DECLARE(apr_status_t)
ap_get_pollfd_from_conn(conn_rec *c, struct apr_pollfd_t *pfd, apr_interval_time_t *ptimeout)
{
    return ap_run_get_pollfd_from_conn(c, pfd, ptimeout);
}
