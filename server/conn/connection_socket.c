/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of a connection as modules see it, and the effect of closing it.
 *
 * The event loop owns a connection's descriptor. If a module closed it (mod_security2's "drop"), the
 * next connection could get the same number, and the rest of this one's response with it. So the
 * program has its own apr_socket_close(), which takes the place of libapr's: it shuts the connection
 * down, and the loop closes the descriptor when the worker is done.
 *
 * For a new apr_socket_t, APR needs two calls of fcntl() to learn what accept4() has set already.
 * So sockets are used again, where all modules are the server's own: others may leave options and
 * data at theirs.
 */
#include "connection.h"
#include "configuration.h"
#include "http_connection.h"
#include "http_core.h"
#include "mpm_common.h"
#include "brigade/assert.h"
#include "brigade/memory.h"

#include "apr_portable.h"
#include "stock_function.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define SOCKET_KEY "brigade connection"
#define SOCKETS_MOST 1024 /* that a process keeps; further ones end with their connection's pool */

/* The owner of a connection's apr_socket_t: its data of SOCKET_KEY. */
typedef struct socket_owner {
    apr_socket_t *csd;
    brg_conn *bc; /* NULL: the descriptor is gone */
    struct socket_owner *next;
    int family;
    unsigned stays : 1; /* it is used again, by whichever thread is done with it */
} socket_owner;

static _Thread_local socket_owner *sockets_kept[2]; /* of IPv4, and of others */

static pthread_mutex_t sockets_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static apr_pool_t *sockets_pool;
static int sockets_n;

static socket_owner *socket_owner_of(apr_socket_t *csd)
{
    void *data = NULL;

    apr_socket_data_get(&data, SOCKET_KEY, csd);
    return data;
}

brg_conn *connection_of_socket(apr_socket_t *csd)
{
    const socket_owner *o = csd ? socket_owner_of(csd) : NULL;

    return o ? o->bc : NULL;
}

static apr_status_t socket_make(socket_owner **out, apr_pool_t *p, apr_os_sock_info_t *info)
{
    socket_owner *o = apr_pcalloc(p, sizeof *o);
    apr_status_t rv = apr_os_sock_make(&o->csd, info, p);

    o->family = info->family;
    *out = o;
    return rv == APR_SUCCESS ? apr_socket_data_set(o->csd, o, SOCKET_KEY, NULL) : rv;
}

/* @return APR_ENOMEM: there are as many as may be */
static apr_status_t socket_make_lasting(socket_owner **out, apr_os_sock_info_t *info)
{
    apr_status_t rv = APR_ENOMEM;

    pthread_mutex_lock(&sockets_lock);
    if (sockets_n < SOCKETS_MOST &&
        (sockets_pool ||
         brg_pool_create_scoped(&sockets_pool, NULL, BRG_SCOPE_CONNECTION) == APR_SUCCESS) &&
        (rv = socket_make(out, sockets_pool, info)) == APR_SUCCESS) {
        (*out)->stays = 1;
        sockets_n++;
    }
    pthread_mutex_unlock(&sockets_lock);
    return rv;
}

static socket_owner *socket_again(int family, apr_os_sock_t fd)
{
    socket_owner **kept = &sockets_kept[family != APR_INET], *o = *kept;

    if (!o || o->family != family)
        return NULL;
    *kept = o->next;
    apr_os_sock_put(&o->csd, &fd, sockets_pool);
    return o;
}

/* The addresses are in the conn_rec: a module that asks the socket has the kernel asked. */
static apr_status_t socket_take(socket_owner **out, const brg_conn *bc, apr_os_sock_t fd)
{
    apr_os_sock_info_t info = {.os_sock = &fd, .type = SOCK_STREAM};

    if (!bc->listener || !bc->listener->addr || bc->listener->pretended || conf_has_module_files())
        return APR_ENOTIMPL;
    info.family = bc->listener->addr->family;
    if ((*out = socket_again(info.family, fd)) != NULL)
        return APR_SUCCESS;
    return socket_make_lasting(out, &info);
}

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
        if (bc->listener->pretended_client)
            info->remote = (struct sockaddr *)(uintptr_t)&bc->listener->pretended_client->sa;
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
    socket_owner *o = NULL;
    apr_status_t rv;

    BRG_ASSERT_TAG(bc, CONN_TAG);
    BRG_ASSERT(fd >= 0);
    rv = socket_take(&o, bc, fd);
    if (rv != APR_SUCCESS && (rv = connection_peer(bc, &info, &peer)) == APR_SUCCESS)
        rv = socket_make(&o, p, &info);
    if (rv != APR_SUCCESS)
        return rv;
    o->bc = bc;
    *csd = o->csd;
    return apr_socket_timeout_set(*csd, timeout);
}

static void socket_forget(socket_owner *o)
{
    apr_os_sock_t none = -1;

    apr_os_sock_put(&o->csd, &none, sockets_pool);
    o->bc = NULL;
}

void connection_disown(apr_socket_t *csd)
{
    socket_owner *o = socket_owner_of(csd), **kept;

    BRG_ASSERT(o && o->csd == csd);
    socket_forget(o);
    if (!o->stays)
        return;
    kept = &sockets_kept[o->family != APR_INET];
    o->next = *kept;
    *kept = o;
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
    socket_owner *o = socket_owner_of(csd);
    brg_conn *bc;

    if (!o)
        return socket_close_other(csd);
    if (!(bc = o->bc))
        return APR_SUCCESS; /* a second time */
    BRG_ASSERT_TAG(bc, CONN_TAG);
    if (!bc->borrows) /* others have that socket, too */
        shutdown(bc->fd, SHUT_RDWR);
    socket_forget(o);
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
