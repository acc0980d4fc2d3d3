/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for backends of scripts (proxy_plan.h): the variables that a request was sent with become text, but for those that each request has of its
 * own. Their order is that of script_vars.h: what modules set, fields of the request, and what the server says, which begins with PATH.
 * What stands elsewhere, or is not what it is known to be made of, has no plan. */
#include "proxy_plan.h"
#include "proxy_script_format.h"
#include "proxy_gateway_private.h"
#include "exchange_private.h"
#include "connection.h"
#include "request_context.h"
#include "http_core.h"
#include "script_vars.h"
#include "util_script.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

#define DRAFT_PARTS 32 /* parts of a plan, at most */
#define SCRIPT_STEPS_MOST \
    2 /* redirects of this server, from the access file of a folder to that of another one */

/* A plan that grows. */
typedef struct script_draft {
    const proxy_exchange *x;
    const script_format *format;
    script_part part[DRAFT_PARTS];
    int n;
    char *text;
    uint32_t len, room;
    int any_query;
    const char
        *path; /* that of the target, where each request has its own; NULL: it is the plan's */
    const char *rest; /* of path, behind the prefix that all have; NULL: there is none */
    const char *name; /* the same below a folder */
    int shown;        /* what it is made of is told by what a value shows */
} script_draft;

/* That of the client. */
static const request_rec *script_first(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    while (r->prev)
        r = r->prev;
    return r;
}

/* ---- who may have one ---- */

static int script_backend_is_plain(const proxy_exchange *x)
{
    const proxy_target *t = x->target;

    return x->codec->format && !t->balancer && !t->remotes_n && t->worker && x->origin &&
           (x->origin == t->worker->origin || x->origin == t->origin);
}

static int script_variables_are_fixed(const proxy_exchange *x)
{
    return proxy_fcgi_variables_are_fixed(x->r);
}

static int script_has_no_user(const proxy_exchange *x)
{
    return !x->r->user && !x->r->ap_auth_type;
}

static int script_client_is_plain(const proxy_exchange *x)
{
    return x->r->proto_num >= HTTP_VERSION(1, 1) &&
           proxy_settings_of(x->r->server)->max_forwards < 0;
}

/* Of those that name an answer of this server, one by Location is told by its head (script_head_parse()). */
static int script_answers_are_plain(const proxy_exchange *x)
{
    const proxy_codec *codec = x->codec;
    const char *path = codec->path_field ? codec->path_field(x) : NULL;

    return (!path || !strcasecmp(path, "Location")) &&
           (!codec->file_field || !codec->file_field(x)) &&
           apr_is_empty_table(x->r->err_headers_out) && apr_is_empty_table(x->r->headers_out) &&
           !x->r->content_encoding && apr_is_empty_array(x->r->content_languages);
}

/* Of rules: not the page of an error. */
static int script_way_is_plain(const proxy_exchange *x)
{
    int steps = 0;

    for (const request_rec *r = x->r; r->prev; r = r->prev)
        if (r->prev->status != HTTP_OK || ++steps > SCRIPT_STEPS_MOST)
            return 0;
    return 1;
}

int proxy_plan_script_is_plain(const proxy_exchange *x)
{
    static const proxy_plan_ask asks[] = {
        {script_backend_is_plain,
         "a script has no plan behind a balancer, or with variables in its URL"},
        {script_variables_are_fixed, "ProxyFCGISetEnvIf looks at the request, or is for a variable "
                                     "that each request has of its own"},
        {script_has_no_user, "the script is told the name of a user"},
        {script_client_is_plain, "the client speaks HTTP/1.0, or ProxyMaxForwards is on"},
        {script_answers_are_plain,
         "its answer may be another one of this server (ProxyFCGIInternalRedirect ...), or a "
         "module sets fields, a language or a coding of the answer"},
        {script_way_is_plain,
         "it is the page of an error, or more than two rules led to the script"}};

    return proxy_plan_holds(x, asks, sizeof asks / sizeof *asks);
}

/* ---- text ---- */

static char *draft_room(script_draft *d, size_t more)
{
    char *bigger;

    if (d->room - d->len < more) {
        d->room = 2 * (d->room + (uint32_t)more);
        bigger = apr_palloc(d->x->pool, d->room);
        memcpy(bigger, d->text, d->len);
        d->text = bigger;
    }
    return d->text + d->len;
}

/* @return where it begins */
static uint32_t draft_text(script_draft *d, const char *text, size_t len)
{
    const uint32_t at = d->len;

    BRG_ASSERT(d->len <= d->room);
    if (len)
        memcpy(draft_room(d, len), text, len);
    d->len += (uint32_t)len;
    return at;
}

/* @return 0: there are too many */
static int draft_part(script_draft *d, script_part_kind kind, uint32_t at, size_t len)
{
    BRG_ASSERT(at + len <= d->len && d->n <= DRAFT_PARTS);
    script_part *last = d->n ? &d->part[d->n - 1] : NULL;

    if (kind == SCRIPT_TEXT && last && last->kind == SCRIPT_TEXT && last->at + last->len == at) {
        last->len += (uint32_t)len;
        return 1;
    }
    if (d->n == DRAFT_PARTS)
        return 0;
    d->part[d->n++] = (script_part){.at = at, .len = (uint32_t)len, .kind = (uint8_t)kind};
    return 1;
}

static int draft_variable(script_draft *d, const apr_table_entry_t *e)
{
    const size_t key = strlen(e->key), val = strlen(e->val);
    unsigned char *from = (unsigned char *)draft_room(d, key + val + SCRIPT_PAIR_MORE);
    unsigned char *p = d->format->put(from, e->key, key, e->val, val);

    d->len += (uint32_t)(p - from);
    return draft_part(d, SCRIPT_TEXT, (uint32_t)((char *)from - d->text), (size_t)(p - from));
}

/* ---- variables that each request has of its own ---- */

static const char *own_query(const proxy_exchange *x)
{
    const char *query = strchr(script_first(x)->unparsed_uri, '?');

    return query ? query + 1 : "";
}

static const char *own_name(const char *name)
{
    while (!strncasecmp(name, "REDIRECT_", 9))
        name += 9;
    return name;
}

static int own_is_sni(const char *name)
{
    return !strcmp(own_name(name), "SSL_TLS_SNI");
}

/* A rule may have put another query in its place, which happens to be the same. */
static int own_query_is_led(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    return *own_query(x) && r->args && !strcmp(r->args, own_query(x)) &&
           r->prev->args == r->prev->parsed_uri.query && !r->prev->prev;
}

static int own_is_query(const char *name)
{
    return !strcmp(name, "QUERY_STRING") || !strcmp(name, "REDIRECT_QUERY_STRING");
}

/* Its value for the request at hand; NULL: it tells nothing of its own. */
static const char *own_value(const script_draft *d, const char *name, script_part_kind *kind)
{
    const conn_rec *client = d->x->client->master ? d->x->client->master : d->x->client;

    if (!strcmp(name, "REMOTE_ADDR")) {
        *kind = SCRIPT_CLIENT;
        return ahead_client_ip(connection_of(d->x->client));
    }
    if (!strcmp(name, "REMOTE_PORT")) {
        *kind = SCRIPT_PORT;
        return apr_itoa(d->x->pool, client->client_addr->port);
    }
    if (!strcmp(name, "SERVER_ADDR")) {
        *kind = SCRIPT_LOCAL;
        return client->local_ip;
    }
    if (own_is_sni(name)) {
        *kind = SCRIPT_SNI;
        return ahead_sni(d->x->client);
    }
    if (d->any_query &&
        (!strcmp(name, "QUERY_STRING") || (d->path && !strcmp(name, "REDIRECT_QUERY_STRING")))) {
        *kind = SCRIPT_QUERY;
        return own_query(d->x);
    }
    if ((d->any_query || d->path) && !strcmp(name, "REQUEST_URI")) {
        *kind = SCRIPT_TARGET;
        return script_first(d->x)->unparsed_uri;
    }
    return NULL;
}

/* What tells of a user, or of a connection, in a way that no plan knows. */
static int own_is_beyond(const char *name)
{
    static const char *const beyond[] = {"REMOTE_HOST",          "REMOTE_USER",
                                         "REMOTE_IDENT",         "AUTH_TYPE",
                                         "REDIRECT_REMOTE_USER", AP_TRUST_CGILIKE_CL_ENVVAR,
                                         "force-no-vary",        "nokeepalive",
                                         "downgrade-1.0",        "force-response-1.0"};

    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        if (!strcasecmp(name, beyond[i]))
            return 1;
    return !own_is_sni(name) && !strncasecmp(own_name(name), "SSL_", 4);
}

/* Made of the path by the server itself. */
static int own_is_of_path(const char *name)
{
    return !strcmp(name, "SCRIPT_NAME") || !strcmp(name, "SCRIPT_FILENAME") ||
           !strcmp(name, "PATH_INFO");
}

/* Ends with the path, whatever it is: of the redirect, or mod_rewrite's of a server with RewriteEngine On. */
static int own_is_url(const char *name)
{
    return !strcmp(name, "REDIRECT_URL") || !strcmp(own_name(name), "SCRIPT_URL") ||
           !strcmp(own_name(name), "SCRIPT_URI");
}

/* It tells of a path that another request has not. */
static int own_shows_path(const script_draft *d, const char *value)
{
    return d->path && strstr(value, d->path) != NULL;
}

static int draft_ends(const apr_table_entry_t *e, const char *rest)
{
    const size_t all = strlen(e->val), len = strlen(rest);

    return all >= len && !strcmp(e->val + all - len, rest);
}

/* @param head  bytes of the value before what it has of the path @param tail  as many behind it, without the query */
static int draft_made(script_draft *d, const apr_table_entry_t *e, uint32_t from, size_t head,
                      size_t tail, int queried)
{
    const size_t name = strlen(e->key), path = from == SCRIPT_NO_PATH ? 0 : strlen(d->path + from);
    const uint32_t at = draft_text(d, e->key, name + 1);

    BRG_ASSERT(head + path + tail <= strlen(e->val));
    draft_text(d, e->val, head);
    draft_text(d, "", 1);
    draft_text(d, e->val + head + path, tail);
    draft_text(d, "", 1);
    if (!draft_part(d, SCRIPT_PATH, at, name))
        return 0;
    d->part[d->n - 1].from = from;
    d->part[d->n - 1].queried = (uint8_t)queried;
    return 1;
}

/* It ends with what the path has from a byte on. */
static int draft_path(script_draft *d, const apr_table_entry_t *e, size_t from)
{
    BRG_ASSERT(draft_ends(e, d->path + from));
    return draft_made(d, e, (uint32_t)from, strlen(e->val) - strlen(d->path + from), 0, 0);
}

/* A query that rules made: text, what the path has from the name on, text, and the client's query, each or none. What it shows once may be there
 * by chance; then another request, whose path and query are others, has another shape. */
static int draft_query(script_draft *d, const apr_table_entry_t *e)
{
    const char *own = own_query(d->x), *at = strstr(e->val, d->name);
    const int queried = *own && draft_ends(e, own);
    const size_t all = strlen(e->val) - (queried ? strlen(own) : 0), name = strlen(d->name),
                 head = at ? (size_t)(at - e->val) : all;

    if (!at && !queried)
        return draft_variable(d, e);
    if (!d->any_query || (at && (head + name > all || strstr(at + 1, d->name))))
        return 0;
    d->shown = 1;
    return draft_made(d, e, at ? (uint32_t)(d->name - d->path) : SCRIPT_NO_PATH, head,
                      at ? all - head - name : 0, queried);
}

/* The texts that it is made of show nothing of the rest (proxy_plan_script_is_apart()): so a value that ends with it has it from the path.
 * @param by_server  it was set by the server, not by a module */
static int draft_rest(script_draft *d, const apr_table_entry_t *e, int by_server)
{
    BRG_ASSERT(d->path && *d->rest);
    if (!by_server || proxy_fcgi_sets(d->x->r, e->key) || !draft_ends(e, d->rest))
        return !strstr(e->val, d->rest) && draft_variable(d, e);
    return draft_path(d, e, (size_t)(d->rest - d->path));
}

/* @return 0: it is not what it is known to be made of */
static int draft_own(script_draft *d, const apr_table_entry_t *e)
{
    script_part_kind kind;
    const char *own = own_value(d, e->key, &kind);

    if (d->name && own_is_query(e->key) && !own_query_is_led(d->x))
        return draft_query(d, e);
    if (d->path && own_is_url(e->key))
        return draft_ends(e, d->name ? d->name : d->path) &&
               draft_path(d, e, d->name ? (size_t)(d->name - d->path) : 0);
    if (own && strcmp(own, e->val) != 0)
        return 0;
    if (!own)
        switch (cache_plan_variable(NULL, d->x->client, NULL, e->key)) {
        case 0:
            return !own_shows_path(d, e->val) && draft_variable(d, e);
        case 1:
            kind = SCRIPT_STREAM;
            break;
        default:
            return 0;
        }
    return (kind != SCRIPT_STREAM || d->x->client->master) &&
           draft_part(d, kind, draft_text(d, e->key, strlen(e->key) + 1), strlen(e->key));
}

static int draft_variables(script_draft *d, const apr_table_entry_t *e, int n, int by_server)
{
    for (int i = 0; i < n; i++)
        if (own_is_beyond(e[i].key) ||
            (d->format->is_own && d->format->is_own(e[i].key, strlen(e[i].key))) ||
            !(d->rest && own_is_of_path(e[i].key) ? draft_rest(d, &e[i], by_server)
                                                  : draft_own(d, &e[i])))
            return 0;
    return 1;
}

/* ---- fields ---- */

/* How many variables, those in front of @a end, are made of all fields of the request; -1: they are not. */
static int fields_before(request_rec *r, const apr_table_entry_t *first,
                         const apr_table_entry_t *end)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_in);
    const apr_table_entry_t *f = (const void *)fields->elts;
    const int credentials = script_passes_credentials(r);
    const apr_table_entry_t *e = end;

    BRG_ASSERT(first <= end);
    for (int i = fields->nelts; i-- > 0;) {
        const size_t len = strlen(f[i].key);
        char *name = apr_palloc(r->pool, len + sizeof "HTTP_");
        const size_t n = len ? script_variable_name(name, f[i].key, len, credentials) : 0;

        name[n] = '\0';
        if (!n)
            continue;
        if (e-- == first || strcmp(e->key, name) != 0 || strcmp(e->val, f[i].val) != 0)
            return -1;
    }
    return (int)(end - e);
}

static int draft_first(script_draft *d)
{
    const size_t len = d->format->first_len;

    return !len || draft_part(d, SCRIPT_TEXT, draft_text(d, d->format->first, len), len);
}

/* Names that a field of another request may have: of two variables the last would count. */
static uint32_t fields_names(script_draft *d, const apr_table_entry_t *e, int n)
{
    const uint32_t at = d->len;

    for (int i = 0; i < n; i++)
        if (exchange_variable_is_named(e[i].key))
            draft_text(d, e[i].key, strlen(e[i].key) + 1);
    draft_text(d, "", 1);
    return at;
}

static int named_n(const apr_table_entry_t *e, int n)
{
    int named = 0;

    for (int i = 0; i < n; i++)
        named += exchange_variable_is_named(e[i].key);
    return named;
}

/* The first variable of the server; NULL: there is not one. */
static const apr_table_entry_t *server_first(const apr_array_header_t *all)
{
    const apr_table_entry_t *e = (const void *)all->elts, *found = NULL;

    for (int i = 0; i < all->nelts; i++)
        if (!strcasecmp(e[i].key, "PATH")) {
            if (found)
                return NULL;
            found = &e[i];
        }
    return found;
}

/* ---- all of it ---- */

static void script_set_target(proxy_plan_script *s, const proxy_exchange *x)
{
    const proxy_target *t = x->target;
    const proxy_worker *w = t->worker;
    const int handled = x->origin == t->origin;
    const upstream_settings *settings = upstream_origin_settings(x->origin);

    BRG_ASSERT(handled || x->origin == w->origin);
    s->origin = x->origin;
    s->target =
        (proxy_target){.worker = t->worker,
                       .scheme = t->scheme,
                       .scheme_name = handled ? "fcgi" : w->scheme_name, /* proxy_set_handler.c */
                       .host = settings->host,
                       .port = settings->port,
                       .socket = settings->path,
                       .dynamic = t->dynamic};
}

static proxy_plan_script *script_make(const script_draft *d)
{
    const size_t at = sizeof(proxy_plan_script) + (size_t)d->n * sizeof(script_part);
    proxy_plan_script *s = apr_pcalloc(d->x->pool, at + d->len);

    s->text_at = (uint32_t)at;
    s->bytes = (uint32_t)(at + d->len);
    s->n = (uint16_t)d->n;
    for (int i = 0; i < d->n; i++)
        s->target_n += d->part[i].kind == SCRIPT_QUERY || d->part[i].kind == SCRIPT_TARGET ||
                       d->part[i].kind == SCRIPT_PATH;
    memcpy(s->part, d->part, (size_t)d->n * sizeof(script_part));
    memcpy((char *)s + at, d->text, d->len);
    return s;
}

int proxy_plan_script_query_led(const proxy_exchange *x)
{
    return x->r->prev && x->origin == x->target->origin && x->r->args && *x->r->args;
}

/* The query is a part of its URL. */
static int script_url_has_query(const request_rec *r)
{
    return apr_table_get(r->notes, "proxy-nocanon") || apr_table_get(r->notes, "proxy-noencode");
}

int proxy_plan_script_any_query(const proxy_exchange *x)
{
    const request_rec *r = x->r;

    if (r->prev || (x->origin != x->target->origin && script_url_has_query(r)))
        return 0;
    /* rules may have taken it away, or put another in its place */
    return *own_query(x) ? r->args && !strcmp(r->args, own_query(x))
                         : !r->args && !apr_table_get(r->subprocess_env, "SCRIPT_URL");
}

int proxy_plan_script_is_apart(const proxy_exchange *x, size_t below)
{
    const char *path = x->r->uri, *url = x->target->url, *rest = path + below;
    const size_t url_len = strcspn(url, "?") - strlen(rest), rest_len = strlen(rest);

    BRG_ASSERT(rest_len && strcspn(url, "?") >= rest_len);
    return !memmem(path, below, rest, rest_len) && !memmem(url, url_len, rest, rest_len);
}

proxy_plan_script *proxy_plan_script_of(proxy_exchange *x, int any_query, const char *path,
                                        size_t at)
{
    const apr_array_header_t *all = apr_table_elts(x->variables);
    const apr_table_entry_t *first = (const void *)all->elts, *server = server_first(all);
    const int fields = server ? fields_before(x->r, first, server) : -1;
    const int before = server ? (int)(server - first) - fields : 0;
    script_draft d = {.x = x,
                      .format = x->codec->format,
                      .room = 4096,
                      .any_query = any_query,
                      .path = path,
                      .rest = path && !x->r->prev ? path + at : NULL,
                      .name = path && x->r->prev ? path + at : NULL};
    const size_t url_len = strcspn(x->target->url, "?") - (d.rest ? strlen(d.rest) : 0);
    uint32_t names_at, url_at;
    proxy_plan_script *s;

    BRG_ASSERT(x->r && x->origin && !x->target->balancer);
    if (fields < 0 || named_n(first, before) != x->plan.named) /* a field is in the place of one */
        return NULL;
    BRG_ASSERT(before >= 0);
    d.text = apr_palloc(x->pool, d.room);
    if (!draft_first(&d) || !draft_variables(&d, first, before, 0) ||
        !draft_part(&d, SCRIPT_FIELDS, 0, 0) ||
        !draft_variables(&d, server, all->nelts - (int)(server - first), 1))
        return NULL;
    names_at = fields_names(&d, first, before);
    url_at = draft_text(&d, x->target->url, url_len);
    draft_text(&d, "", 1);
    s = script_make(&d);
    s->names_at = names_at;
    s->url_at = url_at;
    s->some_before = before > 0;
    s->credentials = (uint8_t)script_passes_credentials(x->r);
    s->led = x->r->prev != NULL;
    s->query_made = d.name && !own_query_is_led(x);
    s->shown = d.shown || (d.name && x->r->prev->prev);
    s->has_sni = ahead_sni(x->client) != NULL;
    script_set_target(s, x);
    return s;
}

const char *proxy_plan_script_shape(const proxy_plan_script *s, apr_pool_t *p)
{
    const size_t len = s && s->shown ? s->bytes - s->text_at : 0;
    char *shape = len ? apr_pstrmemdup(p, (const char *)s + s->text_at, len) : NULL;

    for (size_t i = 0; i < len; i++)
        if (!shape[i])
            shape[i] = '\1';
    for (int i = 0; len && i < s->n; i++)
        shape = apr_psprintf(p, "%s %d,%d,%u", shape, s->part[i].kind, s->part[i].queried,
                             s->part[i].from);
    return len ? shape : "";
}
