/* SPDX-License-Identifier: Apache-2.0 */
/* Access logs and other log_transaction hooks see stored answers too: hooks that need one
 * (cache_stored_log.c) get a request_rec, made from the head and from the kept data of the request
 * that filled the entry. */
#include "connection.h"
#include "cache_absent_private.h"
#include "cache_names_private.h"
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

static const char *put_text(char **to, const char *text)
{
    const size_t size = text_size(text);
    char *at = *to;

    if (!text)
        return NULL;
    memcpy(at, text, size);
    *to += size;
    return at;
}

#define OBSERVED_TEXTS(o)                                                                      \
    {                                                                                          \
        &(o)->filename, &(o)->asked, &(o)->handler, &(o)->content_type, &(o)->uri, &(o)->args, \
            &(o)->hostname                                                                     \
    }

static size_t observed_size(struct cache_observed *o)
{
    const char **const text[] = OBSERVED_TEXTS(o);
    size_t bytes = sizeof *o + cache_observed_pairs(o) * sizeof *o->pair;

    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        bytes += text_size(*text[i]);
    for (uint32_t i = 0; i < cache_observed_pairs(o); i++)
        bytes += text_size(o->pair[i].name) + text_size(o->pair[i].value);
    for (uint32_t i = 0; i < o->messages_n; i++)
        bytes += sizeof *o->message + text_size(o->message[i].said.text);
    return bytes;
}

struct cache_observed *cache_observed_copy(const struct cache_observed *of)
{
    struct cache_observed like = *of, *o;
    const char **const text[] = OBSERVED_TEXTS(&like);
    const observed_pair *pair = of->pair;
    char *to;

    like.bytes = observed_size(&like);
    if (!(o = malloc(like.bytes)))
        return NULL;
    like.pair = (observed_pair *)(o + 1);
    like.message = (observed_message *)(like.pair + cache_observed_pairs(&like));
    to = (char *)(like.message + like.messages_n);
    for (uint32_t i = 0; i < like.messages_n; i++) {
        like.message[i] = of->message[i];
        like.message[i].said.text = put_text(&to, of->message[i].said.text);
    }
    for (uint32_t i = 0; i < cache_observed_pairs(&like); i++) {
        like.pair[i].name = put_text(&to, pair[i].name);
        like.pair[i].value = put_text(&to, pair[i].value);
    }
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        *text[i] = put_text(&to, *text[i]);
    BRG_ASSERT(to == (char *)o + like.bytes);
    *o = like;
    return o;
}

static uint32_t list_table(observed_pair *pair, const apr_table_t *t)
{
    const apr_array_header_t *rows = apr_table_elts(t);

    for (int i = 0; i < rows->nelts; i++) {
        const apr_table_entry_t *e = &APR_ARRAY_IDX(rows, i, apr_table_entry_t);

        pair[i] = (observed_pair){e->key, e->val};
    }
    return (uint32_t)rows->nelts;
}

static uint32_t list_changed(observed_pair *pair, request_rec *r)
{
    const char *name[CACHE_CHANGED_MOST];
    const int n = cache_fields_changed(r, name, CACHE_CHANGED_MOST);

    for (int i = 0; i < n; i++)
        pair[i] = (observed_pair){name[i], apr_table_get(r->headers_in, name[i])};
    return (uint32_t)n;
}

static uint32_t list_messages(observed_message *message, const apr_array_header_t *list)
{
    BRG_ASSERT(!list || list->nelts <= REQUEST_MESSAGES_MOST);
    for (int i = 0; list && i < list->nelts; i++)
        message[i] = (observed_message){.said = APR_ARRAY_IDX(list, i, request_message)};
    return list ? (uint32_t)list->nelts : 0;
}

/* What is said of an answer that redirects led to; of the target it is what was asked for. */
static const request_rec *keep_last(const request_rec *r)
{
    while (r->next)
        r = r->next;
    return r;
}

int cache_observe_keep(cache_entry *e, request_rec *r)
{
    const request_rec *sender = e->plans ? keep_last(r) : cache_sender_of(r);
    const char *asked = sender == r || e->plans ? NULL : r->filename ? r->filename : "";
    const apr_array_header_t *messages = cache_messages_of(r);
    const int most = apr_table_elts(sender->subprocess_env)->nelts +
                     apr_table_elts(sender->notes)->nelts + CACHE_CHANGED_MOST;
    observed_pair *pair = apr_palloc(r->pool, (apr_size_t)most * sizeof *pair);
    observed_message message[REQUEST_MESSAGES_MOST];
    struct cache_observed o = {.filename = sender->filename,
                               .asked = asked,
                               .handler = r->handler,
                               .content_type = sender->content_type,
                               .uri = r->uri,
                               .args = sender->args,
                               .hostname = r->hostname ? r->hostname : "",
                               .finfo = sender->finfo,
                               .pair = pair,
                               .message = message};

    pair += o.env_n = list_table(pair, sender->subprocess_env);
    pair += o.notes_n = list_table(pair, sender->notes);
    pair += o.changed_n = list_changed(pair, r);
    o.messages_n = list_messages(message, messages);
    free(e->log);
    e->log = cache_observed_copy(&o);
    return e->log ? 0 : -1;
}

struct cache_observed *cache_observed_of(const struct cache_observed *like,
                                         const cache_found *found)
{
    struct cache_observed o = *like;

    o.content_type = found->type;
    o.uri = found->uri;
    o.args = found->args;
    return cache_observed_copy(&o);
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
    if (answer->date) /* the origin's Server is among the fields */
        apr_table_setn(r->headers_out, "Date", answer->date);
    if (answer->own_server)
        apr_table_setn(r->headers_out, "Server", answer->server);
    for (int i = 0; i < answer->n_fields; i++)
        apr_table_addn(r->headers_out, answer->field[i].name, answer->field[i].value);
    if (answer->dated_name)
        observe_dated(r, answer);
}

/* Fields that the core adds as it sends. */
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

/* A path behind a scheme and a host. */
static const char *observed_path_of(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? strchr(host + 3, '/') : NULL;
}

const char *cache_observed_url(char *out, const cache_entry *e, const char *name, const char *kept,
                               const char *uri)
{
    const char *path;

    if ((!e->absent && !e->log->own_urls) || !cache_name_is_url(name))
        return kept;
    if (*kept == '/')
        return uri;
    path = observed_path_of(kept);
    if (!path || (size_t)(path - kept) + strlen(uri) >= CACHE_URL_ROOM)
        return kept;
    memcpy(out, kept, (size_t)(path - kept));
    strcpy(out + (path - kept), uri);
    return out;
}

static void observe_variable(request_rec *r, const cache_entry *e, const observed_pair *kept)
{
    char url[CACHE_URL_ROOM];
    const char *own = cache_observed_url(url, e, kept->name, kept->value, r->uri);

    apr_table_addn(r->subprocess_env, kept->name, own == url ? apr_pstrdup(r->pool, own) : own);
}

static void observe_env(request_rec *r, const cache_entry *e, const http_head *h)
{
    const struct cache_observed *o = e->log;
    char value[CACHE_STREAM_ROOM];

    apr_table_clear(r->subprocess_env);
    for (uint32_t i = 0; i < o->env_n; i++)
        if (cache_stream_value(value, r->connection, h, o->pair[i].name))
            apr_table_add(r->subprocess_env, o->pair[i].name, value);
        else
            observe_variable(r, e, &o->pair[i]);
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

typedef size_t observe_put_fn(char *, size_t, const cache_entry *, const char *, const http_head *);

/* Its name is another one than that of the request that filled the entry. */
static void observe_absent(request_rec *r, const cache_entry *e, const http_head *h)
{
    observe_put_fn *const put[] = {cache_absent_text, cache_absent_file};
    char **const text[] = {&r->uri, &r->filename};
    const int n = e->log->asked || e->plans ? 1 : 2;

    for (int i = 0; e->absent && i < n && *text[i]; i++) {
        const size_t bytes = put[i](NULL, 0, e, *text[i], h);
        char *own = apr_palloc(r->pool, bytes);

        put[i](own, bytes, e, *text[i], h);
        *text[i] = own;
    }
    r->canonical_filename = r->filename;
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
    observe_absent(r, e, h);
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
    observe_env(r, e, h);
    observe_changed(r, o);
    apr_table_clear(r->notes);
    for (uint32_t i = 0; i < o->notes_n; i++)
        apr_table_addn(r->notes, o->pair[o->env_n + i].name, o->pair[o->env_n + i].value);
}

static void observe_messages(request_rec *r, const cache_entry *e, const http_head *h)
{
    char text[CACHE_MESSAGE_ROOM];

    for (uint32_t i = 0; i < e->log->messages_n; i++) {
        const observed_message *m = &e->log->message[i];

        ap_log_rerror_(__FILE__, __LINE__, m->said.module_index, m->said.level, m->said.status, r,
                       "%s", cache_absent_message(text, e, m, h));
    }
}

/* The same, and access logs, without a request_rec. @return 0: nothing was done */
static int observe_directly(cache_entry *e, brg_conn *bc, const http_head *h,
                            const cache_observed_answer *sent)
{
    cache_observed_answer said_of = *sent;
    log_said said;

    if (!(e->observed & CACHE_OBSERVED_BY_MESSAGES))
        return cache_log_directly(e, bc, h, sent, bc->loop->wall, CACHE_LOG_BOTH);
    said_of.said = &said;
    return cache_messages_begin(&said, e, bc, h) &&
           cache_log_directly(e, bc, h, &said_of, bc->loop->wall, CACHE_LOG_BOTH);
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
    if (observe_directly(e, bc, head, sent))
        return;
    r = request_create(bc->c, head);
    cache_hold(e);
    request_mark_stored(r);
    observe_fill(r, e, head, sent);
    policy_observe(r);
    observe_messages(r, e, head);
    bc->input.consumed +=
        head->head_len; /* as if it were taken already, which the caller does next */
    ap_run_log_transaction(r);
    bc->input.consumed -= head->head_len;
    apr_pool_destroy(r->pool);
    cache_release(e);
}
