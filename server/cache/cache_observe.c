/* SPDX-License-Identifier: Apache-2.0 */
/* Access logs and other log_transaction hooks see stored answers too: those that cannot do without
 * (cache_stored_log.c) get a request_rec, made from the head and from what was kept of the request
 * that filled the entry. */
#include "connection.h"
#include "cache_observed_private.h"
#include "cache_source_private.h"
#include "cache_vary_private.h"
#include "brigade/decimal.h"
#include "placement.h"
#include "request_context.h"
#include "cache_fill_private.h"
#include "request_parts.h"
#include "http_config.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_text.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t table_size(const apr_table_t *t)
{
    const apr_array_header_t *table = apr_table_elts(t);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)table->elts;
    size_t size = 0;

    for (int i = 0; i < table->nelts; i++)
        size += sizeof(observed_pair) + text_size(e[i].key) + text_size(e[i].val);
    return size;
}

static const char *put_text(char **to, const char *text)
{
    size_t size = text_size(text);
    char *at = *to;

    if (!text)
        return NULL;
    memcpy(at, text, size);
    *to += size;
    return at;
}

static uint32_t put_table(observed_pair *pair, char **to, const apr_table_t *t)
{
    const apr_array_header_t *table = apr_table_elts(t);
    const apr_table_entry_t *e = (const apr_table_entry_t *)(const void *)table->elts;

    for (int i = 0; i < table->nelts; i++)
        pair[i] = (observed_pair){put_text(to, e[i].key), put_text(to, e[i].val)};
    return (uint32_t)table->nelts;
}

static size_t fields_size(const request_rec *r, const char *const *names, int n)
{
    size_t size = 0;

    for (int i = 0; i < n; i++)
        size += sizeof(observed_pair) + text_size(names[i]) +
                text_size(apr_table_get(r->headers_in, names[i]));
    return size;
}

static uint32_t put_fields(observed_pair *pair, char **to, const request_rec *r,
                           const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        pair[i] = (observed_pair){put_text(to, names[i]),
                                  put_text(to, apr_table_get(r->headers_in, names[i]))};
    return (uint32_t)n;
}

/* How a message is said, as text. */
static const char *message_terms(apr_pool_t *p, const request_message *m)
{
    return apr_psprintf(p, "%d %d %d", m->level, m->module_index, (int)m->status);
}

static size_t messages_size(const apr_array_header_t *list, apr_pool_t *p)
{
    size_t size = 0;

    for (int i = 0; list && i < list->nelts; i++) {
        const request_message *m = &APR_ARRAY_IDX(list, i, request_message);

        size += sizeof(observed_pair) + text_size(m->text) + text_size(message_terms(p, m));
    }
    return size;
}

static uint32_t put_messages(observed_pair *pair, char **to, const apr_array_header_t *list,
                             apr_pool_t *p)
{
    for (int i = 0; list && i < list->nelts; i++) {
        const request_message *m = &APR_ARRAY_IDX(list, i, request_message);

        pair[i] = (observed_pair){put_text(to, m->text), put_text(to, message_terms(p, m))};
    }
    return list ? (uint32_t)list->nelts : 0;
}

int cache_observe_keep(cache_entry *e, request_rec *r)
{
    const apr_array_header_t *messages = cache_messages_of(r);
    const char *changed[CACHE_CHANGED_MOST];
    const int changed_n = cache_fields_changed(r, changed, CACHE_CHANGED_MOST);
    size_t bytes = sizeof(struct cache_observed) + fields_size(r, changed, changed_n) +
                   messages_size(messages, r->pool) + table_size(r->subprocess_env) +
                   table_size(r->notes) + text_size(r->filename) + text_size(r->handler) +
                   text_size(r->content_type) + text_size(r->uri) + text_size(r->args) +
                   text_size(r->hostname ? r->hostname : "");
    struct cache_observed *o = malloc(bytes);
    char *to;

    if (!o)
        return -1;
    to = (char *)&o
             ->pair[apr_table_elts(r->subprocess_env)->nelts + apr_table_elts(r->notes)->nelts +
                    changed_n + (messages ? messages->nelts : 0)];
    o->bytes = bytes;
    o->env_n = put_table(o->pair, &to, r->subprocess_env);
    o->notes_n = put_table(o->pair + o->env_n, &to, r->notes);
    o->changed_n = put_fields(o->pair + o->env_n + o->notes_n, &to, r, changed, changed_n);
    o->messages_n =
        put_messages(o->pair + o->env_n + o->notes_n + o->changed_n, &to, messages, r->pool);
    o->filename = put_text(&to, r->filename);
    o->handler = put_text(&to, r->handler);
    o->content_type = put_text(&to, r->content_type);
    o->uri = put_text(&to, r->uri);
    o->args = put_text(&to, r->args);
    o->hostname = put_text(&to, r->hostname ? r->hostname : "");
    o->finfo = r->finfo;
    BRG_ASSERT(to == (char *)o + bytes);
    free(e->log);
    e->log = o;
    return 0;
}

static void observed_pairs(struct cache_observed *o, const struct cache_observed *from, char **to)
{
    const uint32_t n = from->env_n + from->notes_n + from->changed_n + from->messages_n;

    for (uint32_t i = 0; i < n; i++)
        o->pair[i] =
            (observed_pair){put_text(to, from->pair[i].name), put_text(to, from->pair[i].value)};
}

/* @param o  of that size; its texts are those of @a from */
static struct cache_observed *observed_put(const struct cache_observed *from,
                                           const struct cache_observed *texts, size_t bytes)
{
    const uint32_t n = from->env_n + from->notes_n + from->changed_n + from->messages_n;
    struct cache_observed *o = malloc(bytes);
    char *to;

    if (!o)
        return NULL;
    *o = *texts;
    o->bytes = bytes;
    to = (char *)&o->pair[n];
    observed_pairs(o, from, &to);
    o->filename = put_text(&to, texts->filename);
    o->handler = put_text(&to, texts->handler);
    o->content_type = put_text(&to, texts->content_type);
    o->uri = put_text(&to, texts->uri);
    o->args = put_text(&to, texts->args);
    o->hostname = put_text(&to, texts->hostname);
    BRG_ASSERT(to <= (char *)o + bytes);
    return o;
}

struct cache_observed *cache_observed_copy(const struct cache_observed *o)
{
    return observed_put(o, o, o->bytes);
}

struct cache_observed *cache_observed_of(const struct cache_observed *like,
                                         const cache_found *found)
{
    struct cache_observed texts = *like;

    texts.content_type = found->type;
    texts.uri = found->uri;
    texts.args = found->args;
    return observed_put(like, &texts,
                        like->bytes + text_size(found->type) + text_size(found->uri) +
                            text_size(found->args));
}

void cache_observe_drop(cache_entry *e)
{
    free(e->log);
    e->log = NULL;
}

size_t cache_observed_bytes(const cache_entry *e)
{
    return e->log ? cache_block(e->log->bytes) : 0;
}

static void observe_dated(request_rec *r, const http_answer *answer)
{
    char *date = apr_palloc(r->pool, APR_RFC822_DATE_LEN);

    http_put_date(date, r->request_time + answer->dated_after);
    apr_table_setn(r->headers_out, answer->dated_name, date);
}

static void observe_fields(request_rec *r, const http_answer *answer)
{
    BRG_ASSERT(answer->status == r->status);
    if (answer->date) /* what its origin said is among the fields */
        apr_table_setn(r->headers_out, "Date", answer->date);
    if (answer->own_server)
        apr_table_setn(r->headers_out, "Server", answer->server);
    for (int i = 0; i < answer->n_fields; i++)
        apr_table_addn(r->headers_out, answer->field[i].name, answer->field[i].value);
    if (answer->dated_name)
        observe_dated(r, answer);
}

/* What the core puts there as it sends. */
static void observe_connection(request_rec *r, const http_head *h)
{
    const char *told = cache_told_connection(r->connection, h);

    if (told && !apr_table_get(r->headers_out, "Connection"))
        apr_table_setn(r->headers_out, "Connection", told);
}

static void observe_part(request_rec *r, const http_part *part)
{
    if (part) {
        char *range = apr_palloc(r->pool, HTTP_PART_ROOM);

        http_part_text(range, part);
        apr_table_setn(r->headers_out, "Content-Range", range);
    }
    apr_table_setn(r->headers_out, "Content-Length", apr_off_t_toa(r->pool, r->bytes_sent));
}

int cache_stream_value(char *out, const conn_rec *c, const http_head *h, const char *name)
{
    BRG_ASSERT(c != NULL && name != NULL);
    if (!h->stream || strncmp(name, "H2_STREAM_", 10))
        return 0;
    if (!strcmp(name + 10, "ID")) {
        out[brg_decimal_put(out, h->stream)] = '\0';
        return 1;
    }
    if (strcmp(name + 10, "TAG") != 0)
        return 0;
    out += brg_decimal_put(out, (apr_uint64_t)c->id);
    *out++ = '-';
    out[brg_decimal_put(out, h->stream)] = '\0';
    return 1;
}

static void observe_env(request_rec *r, const struct cache_observed *o, const http_head *h)
{
    char value[CACHE_STREAM_ROOM];

    apr_table_clear(r->subprocess_env);
    for (uint32_t i = 0; i < o->env_n; i++)
        if (cache_stream_value(value, r->connection, h, o->pair[i].name))
            apr_table_add(r->subprocess_env, o->pair[i].name, value);
        else
            apr_table_addn(r->subprocess_env, o->pair[i].name, o->pair[i].value);
}

static void observe_user(request_rec *r, const cache_entry *e, const http_head *h)
{
    char user[BRG_CACHE_USER_ROOM];
    const char *type;

    if (!e->vary_n || !cache_vary_user(e, h, user, &type))
        return;
    r->user = apr_pstrdup(r->pool, user);
    r->ap_auth_type = (char *)(uintptr_t)type;
}

static void observe_changed(request_rec *r, const struct cache_observed *o)
{
    const observed_pair *pair = o->pair + o->env_n + o->notes_n;

    for (uint32_t i = 0; i < o->changed_n; i++)
        if (pair[i].value)
            apr_table_setn(r->headers_in, pair[i].name, pair[i].value);
        else
            apr_table_unset(r->headers_in, pair[i].name);
}

/* The entry is held while r lives, so r may point into it. */
static void observe_fill(request_rec *r, const cache_entry *e, const http_head *h,
                         const cache_observed_answer *sent)
{
    const struct cache_observed *o = e->log;

    r->status = sent->answer->status;
    r->status_line = ap_get_status_line(r->status);
    r->filename = (char *)(uintptr_t)o->filename;
    r->canonical_filename = r->filename;
    r->handler = o->handler;
    r->content_type = o->content_type;
    r->uri = (char *)(uintptr_t)o->uri;
    observe_user(r, e, h);
    if (!e->any_query)
        r->args = (char *)(uintptr_t)o->args;
    r->finfo = o->finfo;
    r->mtime = e->mtime;
    r->bytes_sent = sent->body_sent;
    r->clength = sent->body_sent;
    r->sent_bodyct = 1;
    observe_fields(r, sent->answer);
    observe_connection(r, h);
    if (sent->partial)
        observe_part(r, sent->part);
    observe_env(r, o, h);
    observe_changed(r, o);
    apr_table_clear(r->notes);
    for (uint32_t i = 0; i < o->notes_n; i++)
        apr_table_addn(r->notes, o->pair[o->env_n + i].name, o->pair[o->env_n + i].value);
}

static void observe_messages(request_rec *r, const struct cache_observed *o)
{
    const observed_pair *pair = o->pair + o->env_n + o->notes_n + o->changed_n;

    for (uint32_t i = 0; i < o->messages_n; i++) {
        char *end;
        const int level = (int)strtol(pair[i].value, &end, 10);
        const int module_index = (int)strtol(end, &end, 10);

        ap_log_rerror_(__FILE__, __LINE__, module_index, level, (apr_status_t)strtol(end, &end, 10),
                       r, "%s", pair[i].name);
    }
}

void cache_observe(cache_entry *e, brg_conn *bc, const http_head *head,
                   const cache_observed_answer *sent)
{
    request_rec *r;

    if (e->lifetime) {
        cache_lifetime_used(e);
        if (!(e->observed & (CACHE_OBSERVED_BY_LOGS | CACHE_OBSERVED_BY_MESSAGES)))
            return;
    }
    BRG_ASSERT(e->observed && e->log && (e->filled || e->filled_304 || e->filled_206));
    BRG_ASSERT(loop_self() == bc->loop);
    if (!bc->c && connection_attach(bc) != APR_SUCCESS)
        return; /* the answer stands; there is just no memory to log it with */
    bc->c->keepalives = (int)bc->requests + (bc->close_after == CONN_KEEP);
    bc->c->keepalive = bc->close_after == CONN_KEEP ? AP_CONN_KEEPALIVE : AP_CONN_CLOSE;
    core_output_add_bytes(bc, (apr_off_t)sent->head_sent + sent->body_sent);
    if (!(e->observed & CACHE_OBSERVED_BY_MESSAGES) &&
        cache_log_directly(e, bc, head, sent, bc->loop->wall, CACHE_LOG_BOTH))
        return;
    r = request_create(bc->c, head);
    cache_hold(e);
    request_mark_stored(r);
    observe_fill(r, e, head, sent);
    policy_observe(r);
    observe_messages(r, e->log);
    bc->consumed += head->head_len; /* as if it were taken already, which the caller does next */
    ap_run_log_transaction(r);
    bc->consumed -= head->head_len;
    apr_pool_destroy(r->pool);
    cache_release(e);
}
