/* SPDX-License-Identifier: Apache-2.0 */
/* A request by a plan to the backend of a script (proxy_plan.h): text of the plan, and between it what this request has of its own. */
#include "proxy_plan.h"
#include "proxy_script_format.h"
#include "exchange_private.h"
#include "http_fields.h"
#include "http_text.h"
#include "script_vars.h"
#if BRIGADE_TLS
#include "tls_connection.h"
#endif
#include "apr_strings.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCRIPT_NAME_MOST 200 /* bytes of a field's name */
#define SCRIPT_SNI_MOST 256  /* bytes of a name; it is told twice at most */
#define SCRIPT_ASKED_MOST (32 * 1024)
#define SCRIPT_FIELD_MORE (sizeof "HTTP_" + SCRIPT_PAIR_MORE)

/* Variables that are written. There is room for all. */
typedef struct script_text {
    unsigned char *p;
    const proxy_ahead *a;
    const proxy_plan_script *script;
    const script_format *format;
    const http_head *head;
    brg_text path; /* decoded, of a plan for all */
    char *spare;   /* room for a value */
} script_text;

static const char *script_texts(const proxy_plan_script *s)
{
    return (const char *)s + s->text_at;
}

static const script_format *script_format_of(const proxy_plan_script *s)
{
    return proxy_codec_of(s->target.scheme)->format;
}

static void script_put(script_text *t, const char *name, size_t name_len, const char *value,
                       size_t value_len)
{
    t->p = t->format->put(t->p, name, name_len, value, value_len);
}

/* ---- fields ---- */

/* A variable of before has the name. */
static int script_is_there(const proxy_plan_script *s, const char *name, size_t len)
{
    for (const char *have = script_texts(s) + s->names_at; *have; have += strlen(have) + 1)
        if (!strncasecmp(have, name, len) && !have[len])
            return 1;
    return 0;
}

/* @return 0: it is one of two variables, of which not both would be sent, or not sent as it came */
static int script_put_field(script_text *t, const http_field *f)
{
    char name[SCRIPT_NAME_MOST + sizeof "HTTP_"];
    size_t len;

    if (!f->name_len || f->name_len > SCRIPT_NAME_MOST || HTTP_FIELD_IS(f, "Max-Forwards"))
        return 0; /* the last counts down */
    len = script_variable_name(name, f->name, f->name_len, t->script->credentials);
    if (!len)
        return 1;
    if (script_is_there(t->script, name, len) ||
        (t->format->is_own && t->format->is_own(name, len)))
        return 0;
    script_put(t, name, len, f->value, f->value_len);
    return 1;
}

/* With the client's name. */
static int script_put_change(script_text *t, const http_field *f, const http_field *change)
{
    http_field now = *f;

    now.value = change->value;
    now.value_len = change->value_len;
    return !change->value || script_put_field(t, &now);
}

/* Those that the client did not send, or that do not stay in their place. */
static int script_put_new(script_text *t)
{
    const proxy_plan *plan = t->a->plan;

    for (uint32_t i = 0; i < plan->changed_n; i++) {
        const http_field *c = &plan->changed[i], *sent = ahead_changed(plan, t->head, c);

        if ((!sent || ahead_moves(plan, c)) && !script_put_change(t, sent ? sent : c, c))
            return 0;
    }
    return 1;
}

/* Beyond so many the full way puts them in order. */
static int script_fields_are_few(const script_text *t)
{
    return !t->script->some_before ||
           t->head->n_fields + (int)t->a->plan->changed_n <= SCRIPT_COMPARED;
}

static int script_put_fields(script_text *t)
{
    uint64_t seen = 0;

    if (!script_fields_are_few(t))
        return 0;
    for (int i = 0; i < t->head->n_fields; i++) {
        const http_field *f = &t->head->field[i];
        const http_field *change = ahead_change(t->a->plan, f);

        if (ahead_repeats(t->head, i, &seen))
            return 0;
        if (change && ahead_moves(t->a->plan, change))
            continue;
        if (!(change ? script_put_change(t, f, change) : script_put_field(t, f)))
            return 0;
    }
    return script_put_new(t);
}

/* ---- all of it ---- */

const char *ahead_sni(conn_rec *client)
{
#if BRIGADE_TLS
    const tls_conn *t = tls_of(client);

    return t ? SSL_get_servername(tls_ssl_of(t), TLSEXT_NAMETYPE_host_name) : NULL;
#else
    (void)client;
    return NULL;
#endif
}

/* Text, and what the path has from a byte on. */
static char *script_join(char *to, const char *text, brg_text path, size_t from)
{
    to = stpcpy(to, text);
    if (from == SCRIPT_NO_PATH)
        return to;
    BRG_ASSERT(from <= path.len);
    return mempcpy(to, path.at + from, path.len - from);
}

static brg_text script_query(const http_head *head)
{
    const char *end = head->uri + head->uri_len, *query = memchr(head->uri, '?', head->uri_len);

    return query ? (brg_text){query + 1, (size_t)(end - query - 1)} : (brg_text){"", 0};
}

static void script_put_path(script_text *t, const script_part *part)
{
    const char *name = script_texts(t->script) + part->at, *text = name + part->len + 1;
    const brg_text query = script_query(t->head);
    char *end = script_join(t->spare, text, t->path, part->from);

    end = stpcpy(end, text + strlen(text) + 1);
    if (part->queried)
        end = mempcpy(end, query.at, query.len);
    script_put(t, name, part->len, t->spare, (size_t)(end - t->spare));
}

static void script_put_part(script_text *t, const script_part *part)
{
    const brg_conn *bc = h1_ahead_client(t->a->bc);
    const char *name = script_texts(t->script) + part->at, *value = "";
    const http_head *head = t->head;
    brg_text query;
    char room[CACHE_PLANNED_VARIABLE];

    switch (part->kind) {
    case SCRIPT_CLIENT:
        value = ahead_client_ip(t->a->bc);
        break;
    case SCRIPT_PORT:
        room[http_put_number(room, bc->c->client_addr->port)] = '\0';
        value = room;
        break;
    case SCRIPT_LOCAL:
        value = bc->c->local_ip;
        break;
    case SCRIPT_SNI:
        value = ahead_sni(bc->c);
        break;
    case SCRIPT_QUERY:
        query = script_query(head);
        script_put(t, name, part->len, query.at, query.len);
        return;
    case SCRIPT_TARGET:
        script_put(t, name, part->len, head->uri, head->uri_len);
        return;
    case SCRIPT_PATH:
        script_put_path(t, part);
        return;
    default:
        BRG_ASSERT(part->kind == SCRIPT_STREAM);
        (void)cache_plan_variable(room, bc->c, head, name);
        value = room;
    }
    script_put(t, name, part->len, value, strlen(value));
}

static int script_put_all(script_text *t)
{
    const proxy_plan_script *s = t->script;

    for (int i = 0; i < s->n; i++) {
        const script_part *part = &s->part[i];

        if (part->kind == SCRIPT_TEXT)
            t->p = mempcpy(t->p, script_texts(s) + part->at, part->len);
        else if (part->kind != SCRIPT_FIELDS)
            script_put_part(t, part);
        else if (!script_put_fields(t))
            return 0;
    }
    return 1;
}

/* Bytes that it takes at most. */
static size_t script_room(const proxy_plan *plan, const http_head *head)
{
    const script_format *format = script_format_of(plan->script);
    size_t n = format->before + format->behind + plan->script->bytes +
               (plan->script->target_n + 1u) * head->uri_len +
               (size_t)plan->script->n * (CACHE_PLANNED_VARIABLE + SCRIPT_PAIR_MORE);

    if (plan->script->has_sni)
        n += 2 * SCRIPT_SNI_MOST;
    for (int i = 0; i < head->n_fields; i++)
        n += head->field[i].name_len + head->field[i].value_len + SCRIPT_FIELD_MORE;
    for (uint32_t i = 0; i < plan->changed_n; i++)
        n += plan->changed[i].name_len + plan->changed[i].value_len + SCRIPT_FIELD_MORE;
    return n;
}

/* What the full way looks at behind the answer's head. */
static int script_is_plain(const http_head *head)
{
    return (head->known[HTTP_F_IF_NONE_MATCH] & head->known[HTTP_F_IF_MODIFIED_SINCE]) == -1;
}

/* For messages: below a prefix each request has its own. */
static void script_set_url(proxy_ahead *a, brg_text path, char *to)
{
    const proxy_plan_script *s = a->plan->script;

    if (!a->plan->below)
        return;
    a->url = to;
    *script_join(to, script_texts(s) + s->url_at, path, a->plan->below) = '\0';
}

int ahead_write_script(proxy_ahead *a, const http_head *head)
{
    const proxy_plan_script *s = a->plan->script;
    const size_t room = script_room(a->plan, head), url_most = s->bytes + head->uri_len + 1;
    const char *sni = ahead_sni(h1_ahead_client(a->bc)->c);
    script_text t = {.a = a, .script = s, .format = script_format_of(s), .head = head};
    char path[CACHE_PLANNED_PATH];
    unsigned char *to;
    apr_size_t at;

    if ((sni != NULL) != s->has_sni || (sni && strlen(sni) >= SCRIPT_SNI_MOST))
        return 0;
    if (room > SCRIPT_ASKED_MOST || !script_is_plain(head) ||
        !(a->asked = malloc(room + 2 * url_most)))
        return 0;
    BRG_ASSERT(s->origin && s->n > 0);
    to = (unsigned char *)a->asked;
    t.p = to + t.format->before;
    t.spare = a->asked + room + url_most;
    t.path = cache_plan_path(head, path);
    script_set_url(a, t.path, a->asked + room);
    if (!script_put_all(&t))
        return 0;
    a->asked_len = (uint32_t)t.format->frame(to, (apr_size_t)(t.p - to) - t.format->before,
                                             upstream_origin_settings(s->origin)->reuse, &at);
    a->asked_at = (uint8_t)at;
    BRG_ASSERT(at + a->asked_len <= room);
    return 1;
}

/* ---- what logs are told ---- */

static const char *asked_variable(void *baton, const char *name)
{
    proxy_ahead *a = baton;
    const script_format *format = script_format_of(a->plan->script);
    const char *p = a->asked + format->before,
               *end = a->asked + a->asked_at + a->asked_len - format->behind;
    const size_t len = strlen(name);
    script_pair pair;

    BRG_ASSERT(a->asked && p < end);
    while (p < end) {
        p = format->get(p, &pair);
        if (pair.name_len == len && !strncasecmp(pair.name, name, len))
            return apr_pstrmemdup(exchange_pool(&a->x), pair.value, pair.value_len);
        BRG_ASSERT(p <= end);
    }
    return NULL;
}

cache_planned_variables proxy_ahead_variables(proxy_ahead *a)
{
    return (cache_planned_variables){asked_variable, a, a->plan->script->query_made};
}
