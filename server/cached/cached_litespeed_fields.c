/* SPDX-License-Identifier: Apache-2.0 */
/* LiteSpeedCache: the fields of an answer. They count where PHP sent them, and go to no client. */
#include "cached_litespeed_private.h"
#include "cached_named_private.h"
#include "cached_save_private.h"
#include "fresh_vary.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include "http_log.h"
#include "http_protocol.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

APLOG_USE_MODULE(cache);

#define LS_FIELD "X-LiteSpeed-Cache-Control"
#define LS_ALL "*" /* the tag of all answers of a site, or of a session */

static const char *const ls_fields[] = {LS_FIELD, "X-LiteSpeed-Tag", "X-LiteSpeed-Vary",
                                        "X-LiteSpeed-Purge", "X-LiteSpeed-Purge2"};

/* The next item of a list with commas, without blanks around it. @return 0: the end */
static int ls_item(apr_pool_t *p, const char **list, const char **item)
{
    const char *at = *list + strspn(*list, ", \t"), *end;

    if (!*at)
        return 0;
    *list = end = at + strcspn(at, ",");
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *item = apr_pstrmemdup(p, at, (size_t)(end - at));
    return 1;
}

/* ---- control ---- */

static void ls_control_word(cached_ls_control *to, const char *word, size_t len)
{
    static const struct {
        const char *word;
        size_t at;
    } flags[] = {{"no-cache", offsetof(cached_ls_control, no_store)},
                 {"no-store", offsetof(cached_ls_control, no_store)},
                 {"private", offsetof(cached_ls_control, is_private)},
                 {"shared", offsetof(cached_ls_control, is_shared)},
                 {"no-vary", offsetof(cached_ls_control, no_vary)},
                 {"esi=on", offsetof(cached_ls_control, has_esi)},
                 {"public", offsetof(cached_ls_control, has)}};

    if (len > 8 && !strncasecmp(word, "max-age=", 8)) {
        to->has = 1;
        to->max_age = atoll(word + 8);
        if (to->max_age <= 0)
            to->no_store = 1;
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strlen(flags[i].word) == len && !strncasecmp(flags[i].word, word, len)) {
            to->has = 1;
            *((uint8_t *)to + flags[i].at) = 1;
        }
}

void cached_ls_control_read(cached_ls_control *to, const char *list)
{
    while (*list) {
        const size_t len = strcspn(list, ", \t");

        ls_control_word(to, list, len);
        list += len;
        list += strspn(list, ", \t");
    }
}

/* ---- purges ---- */

const char *cached_ls_private_tag(apr_pool_t *p, const char *session, const char *tag)
{
    return apr_pstrcat(p, session, "\r", tag, NULL); /* no field has such a byte */
}

static void ls_purge_tag(request_rec *r, const char *tag, int soft)
{
    cached_named named = {.what = CACHED_TAG};

    named.text = cached_tag_text(r->pool, r->server, tag, strlen(tag), &named.len);
    (void)cached_purge_named(&named, soft);
}

/* A path of the host that was asked for, by http and https. */
static void ls_purge_url(request_rec *r, const char *path, int soft)
{
    static const char *const schemes[] = {"http", "https"};
    const char *authority = cached_request_authority(r), *query = ap_strchr_c(path, '?');

    path = query ? apr_pstrmemdup(r->pool, path, (size_t)(query - path)) : path;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const fresh_target target = {.scheme = schemes[i],
                                     .authority = authority,
                                     .authority_len = strlen(authority),
                                     .base = cached_server_of(r->server)->base};
        cached_named named = {.what = CACHED_TARGET};

        named.text = cached_key_text(r->pool, cached_server_of(r->server), &target, path,
                                     query ? query + 1 : NULL, &named.len);
        if (named.text)
            (void)cached_purge_named(&named, soft);
    }
}

typedef struct ls_purge {
    int is_private, soft;
} ls_purge;

static void ls_purge_item(request_rec *r, ls_purge *how, const char *item)
{
    if (!strcasecmp(item, "public") || !strcasecmp(item, "private")) {
        how->is_private = (*item | 0x20) == 'p' && (item[1] | 0x20) == 'r';
        return;
    }
    if (!strcasecmp(item, "stale")) {
        how->soft = 1;
        return;
    }
    if (!strncasecmp(item, "tag=", 4))
        item += 4;
    if (how->is_private) {
        const char *session = cached_ls_session(r);

        if (session)
            ls_purge_tag(r, cached_ls_private_tag(r->pool, session, item), how->soft);
    } else if (*item == '/') {
        ls_purge_url(r, item, how->soft);
    } else {
        ls_purge_tag(r, item, how->soft);
    }
}

/* "public,stale,TAG,/URL;private,TAG": each part has words of its own. */
static void ls_purge_all(request_rec *r, const char *list)
{
    char *last, *part = apr_strtok(apr_pstrdup(r->pool, list), ";", &last);

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "cache: %s purges %s", r->unparsed_uri, list);
    for (; part; part = apr_strtok(NULL, ";", &last)) {
        ls_purge how = {0};
        const char *rest = part, *item;

        while (ls_item(r->pool, &rest, &item))
            ls_purge_item(r, &how, item);
    }
}

/* ---- taking the fields ---- */

static int ls_joins(void *list, const char *name, const char *value)
{
    const char **to = list;

    (void)name;
    *to = *to ? apr_pstrcat((apr_pool_t *)((void **)list)[1], *to, ",", value, NULL) : value;
    return 1;
}

/* All lines of a field, joined; they leave the answer. */
static const char *ls_field(request_rec *r, const char *name)
{
    void *list[2] = {NULL, r->pool};

    apr_table_do(ls_joins, list, r->headers_out, name, NULL);
    apr_table_do(ls_joins, list, r->err_headers_out, name, NULL);
    apr_table_unset(r->headers_out, name);
    apr_table_unset(r->err_headers_out, name);
    return list[0];
}

/* Scripts of this site, and not backends of HTTP, which may pass on answers of others. */
static int ls_is_of_php(const request_rec *r)
{
    if (r->filename && !strncmp(r->filename, "proxy:", 6))
        return !strncmp(r->filename + 6, "fcgi:", 5);
    return r->handler && (ap_strstr_c(r->handler, "php") || !strcmp(r->handler, "cgi-script") ||
                          !strcmp(r->handler, "fcgid-script"));
}

void cached_ls_take(request_rec *r, struct cached_ls *to)
{
    const int counts = ls_is_of_php(r) && cached_store();
    const char *value[sizeof ls_fields / sizeof *ls_fields];

    for (size_t i = 0; i < sizeof ls_fields / sizeof *ls_fields; i++)
        value[i] = ls_field(r, ls_fields[i]);
    if (!counts || !to)
        (void)ls_field(r,
                       CACHED_LS_COOKIE); /* else it is stored, and leaves the answer behind that */
    if (!counts)
        return;
    if (value[3])
        ls_purge_all(r, value[3]);
    if (value[4])
        ls_purge_all(r, value[4]);
    if (!to || to->took)
        return;
    to->took = 1;
    if (value[0])
        cached_ls_control_read(&to->said, value[0]);
    to->tags = value[1];
    to->cookies = value[2];
}

/* ---- storing ---- */

static int ls_forbids(void *cc, const char *name, const char *value)
{
    (void)name;
    fresh_cc_add(cc, value, strlen(value));
    return 1;
}

/* A rule knows nothing of the page: PHP's own fields of HTTP count. */
static const char *ls_rules_decide(request_rec *r)
{
    fresh_cc cc = {0};

    apr_table_do(ls_forbids, &cc, r->headers_out, "Cache-Control", NULL);
    apr_table_do(ls_forbids, &cc, r->err_headers_out, "Cache-Control", NULL);
    if (cc.has & (FRESH_CC_PRIVATE | FRESH_CC_NO_STORE | FRESH_CC_NO_CACHE |
                  FRESH_CC_PRIVATE_FIELDS | FRESH_CC_NO_CACHE_FIELDS))
        return "a rule's lifetime, and Cache-Control forbids it";
    if (apr_table_get(r->headers_out, "Set-Cookie") ||
        apr_table_get(r->err_headers_out, "Set-Cookie"))
        return "a rule's lifetime, and Set-Cookie";
    return apr_table_get(r->headers_in, "Authorization")
               ? "a rule's lifetime, and the request has Authorization"
               : NULL;
}

const char *cached_ls_decide(cached_request *q)
{
    struct cached_ls *ls = q->ls;
    const cached_ls_control *c = ls->said.has ? &ls->said : &ls->rules;
    const char *refused;

    if (c->has_esi && !ls->raw)
        return LS_FIELD ": esi=on, and SSIEsi is not on";
    if (!c->has)
        return LS_FIELD " is not there";
    if (c->no_store)
        return LS_FIELD ": no-cache";
    if (!ls->said.has && (refused = ls_rules_decide(q->r)) != NULL)
        return refused;
    if (c->max_age < 0 && ls->rules.max_age < 0)
        return LS_FIELD " has no max-age";
    if (c->is_private && !c->is_shared && !ls->session)
        return LS_FIELD ": private, and the client has no session";
    if (c->is_private && c->is_shared && !ls->session && !*ls->vary)
        return LS_FIELD ": shared, and nothing tells the client from others";
    cached_ls_use_key(q, c->is_private && c->is_shared ? CACHED_LS_SHARED
                         : c->is_private               ? CACHED_LS_PRIVATE
                         : c->no_vary                  ? CACHED_LS_NO_VARY
                                                       : CACHED_LS_PUBLIC);
    return NULL;
}

void cached_ls_response(cached_request *q, http_field *field, uint32_t *n)
{
    static const char *const names[] = {LS_FIELD};
    const struct cached_ls *ls = q->ls;
    const char **ignored;
    const int64_t age = ls->said.max_age >= 0 ? ls->said.max_age : ls->rules.max_age;
    const char *value = apr_psprintf(q->r->pool, "max-age=%" APR_INT64_T_FMT ", public", age);

    BRG_ASSERT(age > 0);
    field[(*n)++] = (http_field){.name = LS_FIELD,
                                 .name_len = sizeof LS_FIELD - 1,
                                 .value = value,
                                 .value_len = (uint32_t)strlen(value)};
    q->policy.targeted = (fresh_names){names, 1};
    ignored = apr_palloc(q->r->pool, (q->policy.ignored_fields.n + 1) * sizeof *ignored);
    for (uint32_t i = 0; i < q->policy.ignored_fields.n; i++)
        ignored[i] = q->policy.ignored_fields.name[i];
    ignored[q->policy.ignored_fields.n] = LS_FIELD;
    q->policy.ignored_fields = (fresh_names){ignored, q->policy.ignored_fields.n + 1};
}

void cached_ls_vary_names(fresh_text *names, const char *list)
{
    while (*list) {
        const size_t n = strcspn(list, ", ");

        if (n > 7 && !strncmp(list, "cookie=", 7)) {
            if (names->len)
                FRESH_TEXT_ADD(names, ",");
            fresh_text_add(names, list, n);
        }
        list += n;
        list += strspn(list, ", ");
    }
}

void cached_ls_tags(const cached_request *q, void (*fn)(void *to, const char *tag, size_t len),
                    void *to)
{
    const struct cached_ls *ls = q->ls;
    const int is_private = ls->kind == CACHED_LS_PRIVATE;
    const char *list = ls->tags ? ls->tags : "", *tag;
    request_rec *r = q->r;
    const char *all[] = {LS_ALL,
                         is_private ? cached_ls_private_tag(r->pool, ls->session, LS_ALL) : NULL};
    uint32_t n;

    for (int i = 0; i < 2 && all[i]; i++) {
        const char *text = cached_tag_text(r->pool, r->server, all[i], strlen(all[i]), &n);

        fn(to, text, n);
    }
    while (ls_item(r->pool, &list, &tag)) {
        const char *text;

        if (!strncasecmp(tag, "public:", 7))
            tag += 7;
        else if (is_private)
            tag = cached_ls_private_tag(r->pool, ls->session, tag);
        text = cached_tag_text(r->pool, r->server, tag, strlen(tag), &n);
        fn(to, text, n);
    }
}
