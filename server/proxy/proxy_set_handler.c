/* SPDX-License-Identifier: Apache-2.0 */
/* SetHandler "proxy:unix:/socket|fcgi://host": each loop works out once where that leads, and makes an origin for its connections. An
 * entry is never replaced, since requests refer to it. Beyond HANDLED_MOST handlers requests take the full way. */
#include "proxy_private.h"
#include "proxy_origin.h"
#include "loop.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

#define HANDLED_MOST 32

typedef struct handled {
    const server_rec *server;
    const char *handler; /* an expression may make the same one for each request */
    const char *socket;
    proxy_place place;
    upstream_origin *origin;
} handled;

static _Thread_local struct {
    struct loop_guest guest;
    brg_loop *loop;
    handled *at[HANDLED_MOST];
    int n;
} handled_all;

static void handled_end(struct loop_guest *guest)
{
    (void)guest;
    handled_all.loop = NULL;
    handled_all.n = 0;
}

static void handled_begin(brg_loop *loop)
{
    if (handled_all.loop == loop)
        return;
    BRG_ASSERT(!handled_all.loop);
    handled_all.loop = loop;
    handled_all.guest.end = handled_end;
    loop_guest_add(loop, &handled_all.guest);
}

/* @return the URL behind the socket, if it is one of FastCGI; else NULL */
static const char *handled_url(request_rec *r, const char **socket)
{
    const char *url = proxy_split_socket(r->pool, r->handler + strlen("proxy:"), socket);

    return url && !strncasecmp(url, "fcgi://", 7) ? url : NULL;
}

/* @return 0: it is no such URL */
static int handled_place(request_rec *r, const char *url, proxy_place *place)
{
    const char *rest = strchr(url, ':') + 1, *start;

    place->scheme = PROXY_SCHEME_FCGI;
    place->scheme_name = "fcgi";
    place->port = proxy_scheme_port(place->scheme);
    if (proxy_netloc(r->pool, &rest, &place->host, &place->port) || *proxy_file_end(rest))
        return 0;
    place->authority =
        proxy_authority(r->pool, place->host, place->port, proxy_scheme_port(place->scheme));
    start = apr_pstrcat(r->pool, "proxy:fcgi://", place->authority, NULL);
    place->path_at = strlen(start);
    place->start = rest[-1] == '/' ? apr_pstrcat(r->pool, start, "/", rest, NULL) : start;
    place->start_len = strlen(place->start);
    return 1;
}

static handled *handled_keep(request_rec *r, apr_pool_t *p, const proxy_place *place,
                             const char *socket)
{
    handled *h = apr_pcalloc(p, sizeof *h);

    h->server = r->server;
    h->handler = apr_pstrdup(p, r->handler);
    h->socket = apr_pstrdup(p, socket);
    h->place = *place;
    h->place.start = apr_pstrdup(p, place->start);
    h->place.host = apr_pstrdup(p, place->host);
    h->place.authority = apr_pstrdup(p, place->authority);
    h->origin = proxy_origin_of_handler(p, r->server, h->place.host, h->place.port, h->socket);
    return h;
}

static const handled *handled_make(request_rec *r)
{
    const char *socket, *url = handled_url(r, &socket);
    proxy_place place = {0};

    if (handled_all.n == HANDLED_MOST || !url || !handled_place(r, url, &place))
        return NULL;
    return handled_all.at[handled_all.n++] =
               handled_keep(r, handled_all.loop->pool, &place, socket);
}

static const handled *handled_find(request_rec *r)
{
    brg_loop *loop = loop_self();

    if (!loop)
        return NULL;
    handled_begin(loop);
    for (int i = 0; i < handled_all.n; i++) {
        const handled *h = handled_all.at[i];

        if (h->server == r->server && !strcmp(h->handler, r->handler))
            return h;
    }
    return handled_make(r);
}

int proxy_by_handler(request_rec *r, upstream_origin **origin)
{
    const handled *h;
    char *file = r->filename, *to;
    size_t len;

    if (*file != '/' || *proxy_file_end(file) || !(h = handled_find(r)))
        return 0;
    len = strlen(file);
    r->filename = to = apr_palloc(r->pool, h->place.start_len + len + 1);
    memcpy(to, h->place.start, h->place.start_len);
    memcpy(to + h->place.start_len, file, len + 1);
    if (h->socket)
        apr_table_setn(r->notes, PROXY_SOCKET_NOTE, h->socket);
    proxy_request_of(r)->place = &h->place;
    proxy_place_canonical(r);
    *origin = h->origin;
    return 1;
}
