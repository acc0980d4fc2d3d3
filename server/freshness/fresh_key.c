/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of targets (section 2), and the targets that an unsafe request ends (section 4.4). */
#include "fresh_vary.h"
#include "brigade/assert.h"

#include <string.h>
#include <strings.h>

/* The authority without a port that is the scheme's own. */
static size_t fresh_authority(const char *scheme, const char *authority, size_t len)
{
    const char *port = strcmp(scheme, "https") ? ":80" : ":443";
    const size_t n = strlen(port);

    if (len > n && !memcmp(authority + len - n, port, n))
        return len - n;
    return len && authority[len - 1] == ':' ? len - 1 : len;
}

void fresh_key(fresh_text *key, const fresh_target *target, const fresh_policy *policy)
{
    const char *query = memchr(target->path, '?', target->path_len);
    static const char hex[] = "0123456789abcdef";

    BRG_ASSERT(target->path_len && target->scheme);
    if (target->base) {
        fresh_text_add(key, target->base, strlen(target->base));
        if (key->len && key->at[key->len - 1] == '/')
            key->len--;
    } else {
        fresh_text_add(key, target->scheme, strlen(target->scheme));
        FRESH_TEXT_ADD(key, "://");
        fresh_text_lower(key, target->authority,
                         fresh_authority(target->scheme, target->authority, target->authority_len));
    }
    fresh_text_add(key, target->path,
                   query && policy->ignore_query ? (size_t)(query - target->path)
                                                 : target->path_len);
    if (!target->body_hash)
        return;
    FRESH_TEXT_ADD(key, " QUERY "); /* a blank cannot stand in a target */
    for (int i = 0; i < 32; i++) {
        fresh_text_add(key, &hex[target->body_hash[i] >> 4], 1);
        fresh_text_add(key, &hex[target->body_hash[i] & 15], 1);
    }
}

size_t fresh_key_target(const char *text, size_t len)
{
    const char *blank = memchr(text, ' ', len);

    return blank ? (size_t)(blank - text) : len;
}

int fresh_invalidates(fresh_method method, int code)
{
    return method == FRESH_UNSAFE && code >= 200 && code < 400;
}

/* The length of a scheme with its colon; 0: no scheme. */
static size_t fresh_scheme(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (p[i] == ':')
            return i ? i + 1 : 0;
        if (!((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z') &&
            !(i && ((p[i] >= '0' && p[i] <= '9') || p[i] == '+' || p[i] == '-' || p[i] == '.')))
            return 0;
    }
    return 0;
}

/* Step over "scheme://authority". @return 1: it was there, and is the target's origin; 0: not
 * there; -1: another origin */
static int fresh_own_origin(const fresh_target *target, const char **value, size_t *len)
{
    const char *p = *value, *end = p + *len, *begin;
    const size_t scheme = fresh_scheme(p, *len), ours = strlen(target->scheme);
    size_t host;

    if (scheme) {
        if (scheme != ours + 1 || strncasecmp(p, target->scheme, ours) ||
            end - p < (long)scheme + 2 || memcmp(p + scheme, "//", 2))
            return -1;
        p += scheme;
    }
    if (end - p < 2 || memcmp(p, "//", 2)) {
        *len = (size_t)(end - p);
        *value = p;
        return 0;
    }
    begin = p += 2;
    while (p < end && *p != '/' && *p != '?' && *p != '#')
        p++;
    host = fresh_authority(target->scheme, begin, (size_t)(p - begin));
    if (host != fresh_authority(target->scheme, target->authority, target->authority_len) ||
        strncasecmp(begin, target->authority, host))
        return -1;
    *len = (size_t)(end - p);
    *value = p;
    return 1;
}

/* Remove "." and ".." of a path that begins with "/", in place: RFC 3986, 5.2.4. */
static size_t fresh_undot(char *path, size_t len)
{
    size_t to = 0;

    for (size_t i = 0; i < len;) {
        size_t next = i + 1;

        while (next < len && path[next] != '/')
            next++;
        if (next - i == 2 && path[i + 1] == '.') {
            if (next == len)
                path[to++] = '/';
        } else if (next - i == 3 && path[i + 1] == '.' && path[i + 2] == '.') {
            while (to && path[--to] != '/')
                ;
            if (next == len)
                path[to++] = '/';
        } else {
            memmove(path + to, path + i, next - i);
            to += next - i;
        }
        i = next;
    }
    BRG_ASSERT(to <= len);
    return to;
}

size_t fresh_invalidated_path(char *room, size_t room_len, const fresh_target *target,
                              const char *value, size_t len)
{
    const char *fragment = memchr(value, '#', len), *query;
    fresh_text out = {room, 0, room_len, 0};
    const char *base_query = memchr(target->path, '?', target->path_len);
    size_t base = base_query ? (size_t)(base_query - target->path) : target->path_len, path;
    int origin;

    if (fragment)
        len = (size_t)(fragment - value);
    origin = fresh_own_origin(target, &value, &len);
    if (origin < 0)
        return 0;
    if (origin && (!len || *value != '/'))
        FRESH_TEXT_ADD(&out, "/");
    else if (!origin && len && *value == '?')
        fresh_text_add(&out, target->path, base);
    else if (!origin && (!len || *value != '/')) {
        while (len && base && target->path[base - 1] != '/')
            base--;
        fresh_text_add(&out, target->path, len ? base : target->path_len);
    }
    fresh_text_add(&out, value, len);
    if (out.over || !out.len || *room != '/')
        return 0;
    query = memchr(room, '?', out.len);
    path = query ? (size_t)(query - room) : out.len;
    base = fresh_undot(room, path);
    memmove(room + base, room + path, out.len - path);
    BRG_ASSERT(base <= path && path <= out.len);
    return base + out.len - path;
}
