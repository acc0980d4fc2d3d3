/* SPDX-License-Identifier: Apache-2.0 */
/* The form in which a target is looked up and sent: one path, encoded once. Bytes that a URL cannot have never reach a
 * backend (request splitting: CVE-2023-25690). */
#include "proxy_private.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_scan.h"
#include "brigade/assert.h"
#include "http_core.h"
#include "http_log.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(proxy);

/* Bytes that stand in a path as they are. */
static const uint8_t canon_plain[256] = {
    ['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['0' ... '9'] = 1, ['~'] = 1, ['$'] = 1, ['-'] = 1,
    ['_'] = 1,         ['.'] = 1,         ['+'] = 1,         ['!'] = 1, ['*'] = 1, ['\''] = 1,
    ['('] = 1,         [')'] = 1,         [','] = 1,         [';'] = 1, [':'] = 1, ['@'] = 1,
    ['&'] = 1,         ['='] = 1,         ['/'] = 1};

char *proxy_encode_path(apr_pool_t *p, const char *path, int keep_encoded_slash)
{
    static const char hex[] = "0123456789ABCDEF";
    char *to = apr_palloc(p, 3 * strlen(path) + 1), *out = to;

    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;

        if (canon_plain[c])
            *out++ = (char)c;
        else if (keep_encoded_slash && c == '%' &&
                 (!apr_isxdigit(path[1]) || !apr_isxdigit(path[2])))
            return NULL; /* a lone '%' cannot be told from one of "%2F" that was kept */
        else if (keep_encoded_slash && c == '%' && path[1] == '2' &&
                 (path[2] == 'F' || path[2] == 'f')) {
            memcpy(out, path, 3);
            out += 3;
            path += 2;
        } else {
            *out++ = '%';
            *out++ = hex[c >> 4];
            *out++ = hex[c & 15];
        }
    }
    *out = '\0';
    return to;
}

static void authority_port(char *to, unsigned port)
{
    char digits[5];
    int n = 0;

    for (; port; port /= 10)
        digits[n++] = (char)('0' + port % 10);
    *to++ = ':';
    while (n)
        *to++ = digits[--n];
    *to = '\0';
}

const char *proxy_authority(apr_pool_t *p, const char *host, apr_port_t port, apr_port_t usual)
{
    const apr_size_t len = strlen(host);
    const int v6 = memchr(host, ':', len) != NULL;
    char *text, *to;

    if ((port == usual || !port) && !v6)
        return host;
    text = to = apr_palloc(p, len + sizeof "[]:65535");
    if (v6)
        *to++ = '[';
    memcpy(to, host, len);
    to += len;
    if (v6)
        *to++ = ']';
    *to = '\0';
    if (port != usual && port)
        authority_port(to, port);
    return text;
}

static const char *netloc_port(char *text, apr_port_t *port)
{
    long n = 0;

    if (!*text)
        return NULL;
    for (const char *c = text; *c; c++) {
        if (!apr_isdigit(*c))
            return "Bad port number in URL";
        n = n * 10 + (*c - '0');
        if (n > 65535)
            return "Port number in URL > 65535";
    }
    *port = (apr_port_t)n;
    return NULL;
}

/* Characters of a host's name or address; brackets are off. */
static int netloc_host_is_wrong(const char *host)
{
    for (; *host; host++)
        if (!http_is(*host, HTTP_C_HOST) && *host != '.' &&
            (!apr_isgraph(*host) || strchr("%\"<>\\^`{|}#?/@[]", *host)))
            return 1;
    return 0;
}

const char *proxy_netloc(apr_pool_t *p, const char **url, const char **host, apr_port_t *port)
{
    char *name, *at, *colon;
    const char *end, *error = NULL;

    if (strncmp(*url, "//", 2) != 0)
        return "Malformed URL";
    end = *url + 2 + strcspn(*url + 2, "/");
    name = apr_pstrmemdup(p, *url + 2, (apr_size_t)(end - *url - 2));
    *url = *end ? end + 1 : end;
    at = strrchr(name, '@');
    if (at)
        name = at + 1;
    if (*name == '[') {
        char *close = strchr(name, ']');

        if (!close || (close[1] && close[1] != ':'))
            return "Bad IPv6 address in URL";
        *close = '\0';
        colon = close[1] ? close + 1 : NULL;
        name++;
    } else
        colon = strrchr(name, ':');
    if (colon) {
        *colon = '\0';
        error = netloc_port(colon + 1, port);
    }
    ap_str_tolower(name);
    if (!error && !*name)
        error = "Missing host in URL";
    if (!error && netloc_host_is_wrong(name))
        error = "Bad host name in URL";
    *host = name;
    return error;
}

/* ---- by scheme ---- */

static char *canon_put(char *to, const char *s, apr_size_t n)
{
    memcpy(to, s, n);
    return to + n;
}

#define CANON_FCGI 10414

typedef struct canon_kind {
    const char *scheme;
    int query;             /* r->args belong to the URL */
    int no_path, no_query; /* numbers of messages */
} canon_kind;

static const canon_kind canon_kinds[] = {
    {"http", 1, 10415, 10408},     {"https", 1, 10415, 10408}, {"h2", 1, 10420, 10412},
    {"h2c", 1, 10420, 10412},      {"ws", 1, 10419, 10409},    {"wss", 1, 10419, 10409},
    {"fcgi", 0, 10414, 0},         {"scgi", 0, 10418, 0},      {"uwsgi", 0, 10417, 0},
    {"balancer", 1, 10416, 10407},
};

static const canon_kind *canon_kind_of(const char *url, size_t len)
{
    for (size_t i = 0; i < sizeof canon_kinds / sizeof *canon_kinds; i++)
        if (strlen(canon_kinds[i].scheme) == len && !strncasecmp(canon_kinds[i].scheme, url, len))
            return &canon_kinds[i];
    return NULL;
}

static int canon_refuse(request_rec *r, int number, const char *what, int log_url, const char *url)
{
    BRG_ASSERT(number > 0);
    if (log_url)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "AH%05d: To be forwarded %s contains control characters or '?' (%s)", number,
                      what, url);
    else
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "AH%05d: To be forwarded %s contains control characters or spaces", number,
                      what);
    return HTTP_FORBIDDEN;
}

const char *proxy_file_end(const char *path)
{
    const char *bad = ap_scan_vchar_obstext(path), *mark;

    while (*bad == ' ')
        bad = ap_scan_vchar_obstext(bad + 1);
    mark = memchr(path, '?', (size_t)(bad - path));
    return mark ? mark : bad;
}

/* SetHandler gives FastCGI a file's name, which may have spaces. Servers of scripts end the name of one at a question mark. */
static int canon_is_raw(request_rec *r, const canon_kind *kind, const char *path)
{
    if (kind->no_path == CANON_FCGI && apr_table_get(r->notes, "proxy-sethandler"))
        return *proxy_file_end(path) != '\0';
    return *ap_scan_vchar_obstext(path) || (kind->no_path == CANON_FCGI && strchr(path, '?'));
}

/* The path as it is sent, and the query. */
static int canon_path(request_rec *r, const canon_kind *kind, const char *url, const char **path,
                      const char **query)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const int reverse = r->proxyreq == PROXYREQ_REVERSE;

    BRG_ASSERT(kind->no_path > 0 && (!kind->query || kind->no_query > 0));
    *query = NULL;
    if (!reverse || apr_table_get(r->notes, "proxy-nocanon") ||
        (kind->no_path == CANON_FCGI && apr_table_get(r->notes, "proxy-sethandler")))
        *path = url; /* a query is still at its end */
    else if (apr_table_get(r->notes, "proxy-noencode")) {
        *path = url;
        *query = r->args;
    } else {
        *path = proxy_encode_path(r->pool, url,
                                  core->allow_encoded_slashes && !core->decode_encoded_slashes);
        *query = r->args;
    }
    if (!*path)
        return HTTP_BAD_REQUEST;
    if (!kind->query)
        *query = NULL;
    if (*path == url && canon_is_raw(r, kind, *path))
        return canon_refuse(r, kind->no_path, "path", kind->no_path == CANON_FCGI, *path);
    if (*query && *ap_scan_vchar_obstext(*query))
        return canon_refuse(r, kind->no_query, "query string", 0, NULL);
    return OK;
}

/* "proxy:SCHEME://AUTHORITY/PATH?QUERY" */
static char *canon_join(apr_pool_t *p, const char *scheme, const char *authority, const char *path,
                        const char *query)
{
    const apr_size_t scheme_len = strlen(scheme), authority_len = strlen(authority),
                     path_len = strlen(path), query_len = query ? strlen(query) : 0;
    char *text = apr_palloc(p, scheme_len + authority_len + path_len + query_len +
                                   sizeof "proxy::///?"),
         *to = text;

    memcpy(to, "proxy:", 6);
    to = canon_put(to + 6, scheme, scheme_len);
    memcpy(to, "://", 3);
    to = canon_put(to + 3, authority, authority_len);
    *to++ = '/';
    to = canon_put(to, path, path_len);
    if (query) {
        *to++ = '?';
        to = canon_put(to, query, query_len);
    }
    *to = '\0';
    return text;
}

/* The path begins with the target of a ProxyPass, whose form is known. @return DECLINED: it does not */
static int canon_of_place(request_rec *r)
{
    static const canon_kind kind = {"http", 1, 10415, 10408};
    const char *rest, *path, *query;
    const proxy_place *place = proxy_place_of(r, &rest);
    apr_size_t path_len, query_len;
    char *to;
    int rv;

    if (!place || apr_table_get(r->notes, "proxy-nocanon") ||
        apr_table_get(r->notes, "proxy-noencode"))
        return DECLINED;
    if ((rv = canon_path(r, &kind, rest, &path, &query)) != OK)
        return rv;
    path_len = strlen(path);
    query_len = query ? strlen(query) : 0;
    r->filename = to = apr_palloc(r->pool, place->start_len + path_len + query_len + 2);
    to = canon_put(canon_put(to, place->start, place->start_len), path, path_len);
    if (query) {
        *to++ = '?';
        to = canon_put(to, query, query_len);
    }
    *to = '\0';
    proxy_place_canonical(r);
    return OK;
}

static int canon_of_url(request_rec *r, const char *url)
{
    const char *colon = strchr(url, ':'), *host, *path, *query, *rest, *error;
    const size_t len = colon ? (size_t)(colon - url) : 0;
    const canon_kind *kind = canon_kind_of(url, len);
    const apr_port_t usual = proxy_scheme_port(proxy_scheme_of(url, len));
    apr_port_t port = usual;
    int rv;

    if (!kind)
        return DECLINED;
    rest = colon + 1;
    error = proxy_netloc(r->pool, &rest, &host, &port);
    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01083) "error parsing URL %s: %s", url,
                      error);
        return HTTP_BAD_REQUEST;
    }
    rv = canon_path(r, kind, rest, &path, &query);
    if (rv != OK)
        return rv;
    r->filename =
        canon_join(r->pool, kind->scheme, proxy_authority(r->pool, host, port, usual), path, query);
    return OK;
}

int proxy_canonical(request_rec *r, const char *url)
{
    const int rv = canon_of_place(r);

    BRG_ASSERT(r->proxyreq != PROXYREQ_NONE);
    return rv != DECLINED ? rv : canon_of_url(r, url);
}
