/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers as logs read them, and logs of stored answers without a request_rec: brigade/transaction.h. */
#include "cache_absent_private.h"
#include "cache_names_private.h"
#include "cache_observed_private.h"
#include "cache_plan.h"
#include "cache_vary_private.h"
#include "connection.h"
#include "http_core.h"
#include "http_fields.h"
#include "http_text.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

/* The target of brg_transaction.core. */
typedef struct stored_view {
    const http_head *head;
    const cache_observed_answer *sent;
    const struct cache_observed *kept;
    const cache_entry *entry;
    char date[APR_RFC822_DATE_LEN];         /* of the dated field */
    char range[HTTP_PART_ROOM], length[24]; /* of parts */
    char stream[CACHE_STREAM_ROOM];
    char user[BRG_CACHE_USER_ROOM];
    char url[CACHE_URL_ROOM];
    char made[BRG_TRANSACTION_VARIABLES_MOST][BRG_TRANSACTION_ITEM_ROOM]; /* empty: not yet */
} stored_view;

/* Of the configuration in force; main thread, read only once it is read. */
static struct {
    const char *name[BRG_TRANSACTION_VARIABLES_MOST];
    brg_transaction_item_fn *make[BRG_TRANSACTION_VARIABLES_MOST];
    int n;
} view_variables;

static brg_text view_text(const char *at, size_t len)
{
    return (brg_text){at, len};
}

/* A field that a module changed, or NULL. */
static const observed_pair *view_changed(const stored_view *v, const char *name, size_t len)
{
    const observed_pair *pair = v->kept->pair + v->kept->env_n + v->kept->notes_n;

    for (uint32_t i = 0; i < v->kept->changed_n; i++)
        if (!strncasecmp(pair[i].name, name, len) && !pair[i].name[len])
            return &pair[i];
    return NULL;
}

static brg_text view_string(const char *text)
{
    return view_text(text, text ? strlen(text) : 0);
}

/* Filters count the body of an answer to HEAD, too, which is not sent. */
static apr_off_t view_body_sent(const request_rec *r)
{
    return r->sent_bodyct && !r->header_only ? r->bytes_sent : 0;
}

BRG_DECLARE(void) brg_transaction_of(brg_transaction *t, request_rec *r)
{
    BRG_ASSERT(t && r && r->connection);
    const brg_conn *bc = connection_of(r->connection);

    *t = (brg_transaction){.server = r->server,
                           .connection = r->connection,
                           .r = r,
                           .request_time = r->request_time,
                           .status = r->status,
                           .from_memory = brg_request_is_stored(r),
                           .request_line = view_string(r->the_request),
                           .method = view_string(r->method),
                           .target = view_string(r->unparsed_uri),
                           .protocol = view_string(r->protocol),
                           .uri = r->uri,
                           .args = r->args,
                           .client_ip = r->useragent_ip,
                           .filename = r->filename,
                           .handler = r->handler,
                           .content_type = r->content_type,
                           .body_sent = view_body_sent(r),
                           .sent_by = bc ? bc->ways : 0};
}

/* The table's value comes with the first call. */
static brg_text view_table_field(const apr_table_t *fields, const char *name, unsigned *from)
{
    return view_string((*from)++ ? NULL : apr_table_get(fields, name));
}

BRG_DECLARE(brg_text)
brg_transaction_request_field(const brg_transaction *t, const char *name, apr_size_t name_len,
                              unsigned *from)
{
    const stored_view *v = t->core;
    const observed_pair *changed;
    const http_head *h;

    if (t->r)
        return view_table_field(t->r->headers_in, name, from);
    changed = view_changed(v, name, name_len);
    h = v->head;
    if (changed && !*from) {
        *from = (unsigned)h->n_fields;
        return view_string(changed->value);
    }
    for (; *from < h->n_fields; ++*from) {
        const http_field *f = &h->field[*from];

        if (http_field_is(f, name, name_len)) {
            ++*from;
            return view_text(f->value, f->value_len);
        }
    }
    return view_text(NULL, 0);
}

BRG_DECLARE(int) brg_transaction_field_id(const char *name, apr_size_t name_len)
{
    return http_field_id_of(name, name_len);
}

/* NULL: no module changed the field. */
static __attribute__((noinline)) const observed_pair *
view_changed_id(const struct cache_observed *o, int id)
{
    const observed_pair *pair = o->pair + o->env_n + o->notes_n;

    for (uint32_t i = 0; i < o->changed_n; i++)
        if (http_field_id_of(pair[i].name, strlen(pair[i].name)) == (http_field_id)id)
            return &pair[i];
    return NULL;
}

BRG_DECLARE(brg_text) brg_transaction_field(const brg_transaction *t, int id)
{
    const stored_view *v = t->core;
    const observed_pair *changed = v->kept->changed_n ? view_changed_id(v->kept, id) : NULL;
    const http_field *field;

    BRG_ASSERT(!t->r && id > HTTP_F_OTHER && id < HTTP_FIELD_IDS);
    BRG_ASSERT_DEBUG(!v->head->repeated);
    if (changed)
        return view_string(changed->value);
    if (v->head->known[id] < 0)
        return view_text(NULL, 0);
    field = &v->head->field[v->head->known[id]];
    return view_text(field->value, field->value_len);
}

/* Fields that follow the time, or the part, are not as stored. */
static const char *view_changing(const brg_transaction *t, stored_view *v, int i)
{
    const http_answer *answer = v->sent->answer;

    if (v->sent->part && i == answer->range_at) {
        http_part_text(v->range, v->sent->part);
        return v->range;
    }
    if (v->sent->partial && i == answer->length_at) {
        v->length[http_put_number(v->length, (apr_uint64_t)t->body_sent)] = '\0';
        return v->length;
    }
    if (answer->dated_name && !strcasecmp(answer->field[i].name, answer->dated_name)) {
        http_put_date(v->date, t->request_time + answer->dated_after);
        return v->date;
    }
    return answer->field[i].value;
}

static const char *view_response_field(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

const char *cache_told_connection(const conn_rec *c, const http_head *h)
{
    const int at = h->known[HTTP_F_CONNECTION];
    const char *p = at < 0 ? NULL : h->field[at].value, *item;
    size_t len;

    if (h->stream)
        return NULL;
    if (c->keepalive != AP_CONN_KEEPALIVE)
        return "close";
    while (p && http_list_next(&p, h->field[at].value + h->field[at].value_len, &item, &len))
        if (len == 10 && !strncasecmp(item, "keep-alive", 10))
            return "Keep-Alive";
    return NULL;
}

BRG_DECLARE(const char *) brg_transaction_response_field(const brg_transaction *t, const char *name)
{
    stored_view *v = (stored_view *)(uintptr_t)t->core;
    const http_answer *answer;

    if (t->r)
        return view_response_field(t->r, name);
    answer = v->sent->answer;

    for (int i = 0; i < answer->n_fields; i++)
        if (!strcasecmp(answer->field[i].name, name))
            return view_changing(t, v, i);
    if (answer->date && !strcasecmp(name, "Date")) /* of its origin, as the next */
        return answer->date;
    if (answer->own_server && !strcasecmp(name, "Server"))
        return answer->server;
    return strcasecmp(name, "Connection") != 0 ? NULL
                                               : cache_told_connection(t->connection, v->head);
}

static const char *view_pair(const observed_pair *pair, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcasecmp(pair[i].name, name))
            return pair[i].value;
    return NULL;
}

static apr_status_t view_variables_end(void *unused)
{
    view_variables.n = 0;
    return APR_SUCCESS;
}

BRG_DECLARE(void)
brg_transaction_variable(apr_pool_t *pconf, const char *name, brg_transaction_item_fn *make)
{
    const int n = view_variables.n++;

    BRG_ASSERT(n < BRG_TRANSACTION_VARIABLES_MOST);
    if (!n)
        apr_pool_cleanup_register(pconf, NULL, view_variables_end, apr_pool_cleanup_null);
    view_variables.name[n] = name;
    view_variables.make[n] = make;
}

int cache_plan_variable(char *out, const conn_rec *c, const http_head *head, const char *name)
{
    _Static_assert(CACHE_PLANNED_VARIABLE >= CACHE_STREAM_ROOM, "a stream's fit");

    while (!strncasecmp(name, "REDIRECT_", 9))
        name += 9;
    if (!strcmp(name, "H2_STREAM_ID") || !strcmp(name, "H2_STREAM_TAG"))
        return !head || cache_stream_value(out, c, head, name) ? 1 : -1;
    for (int i = 0; i < view_variables.n; i++)
        if (!strcasecmp(view_variables.name[i], name))
            return -1;
    return 0;
}

/* What is kept of a variable that each request has its own value of is not this one's. */
static const char *view_own(const brg_transaction *t, stored_view *v, const char *name,
                            const char *kept)
{
    if (cache_stream_value(v->stream, t->connection, v->head, name))
        return v->stream;
    while (!strncasecmp(name, "REDIRECT_", 9))
        name += 9;
    for (int i = 0; i < view_variables.n; i++)
        if (!strcasecmp(view_variables.name[i], name)) {
            if (!v->made[i][0])
                v->made[i][view_variables.make[i](t, v->made[i])] = '\0';
            return v->made[i];
        }
    return cache_observed_url(v->url, v->entry, name, kept, t->uri);
}

/* Of this request alone. @return 0: it has none of its own */
static int view_env(const stored_view *v, const char *name, const char **value)
{
    for (const cache_planned_env *e = v->sent->env; e && e->name; e++)
        if (!strcasecmp(e->name, name)) {
            *value = e->value;
            return 1;
        }
    return 0;
}

BRG_DECLARE(const char *) brg_transaction_env(const brg_transaction *t, const char *name)
{
    stored_view *v = (stored_view *)(uintptr_t)t->core;
    const char *value;

    if (t->r)
        return apr_table_get(t->r->subprocess_env, name);
    if (view_env(v, name, &value))
        return value;
    if (v->sent->variables.get)
        return v->sent->variables.get(v->sent->variables.baton, name);
    value = view_pair(v->kept->pair, v->kept->env_n, name);
    return value ? view_own(t, v, name, value) : NULL;
}

BRG_DECLARE(const char *) brg_transaction_note(const brg_transaction *t, const char *name)
{
    const stored_view *v = t->core;
    const char *value;

    if (t->r)
        return apr_table_get(t->r->notes, name);
    if (view_env(v, name, &value))
        return value;
    return view_pair(v->kept->pair + v->kept->env_n, v->kept->notes_n, name);
}

BRG_DECLARE(const char *) brg_transaction_user(const brg_transaction *t)
{
    stored_view *v = (stored_view *)(uintptr_t)t->core;
    const char *type;

    if (t->r)
        return t->r->user;
    return cache_vary_user(v->entry, v->head, v->user, &type);
}

BRG_DECLARE(const char *) brg_transaction_log_id(const brg_transaction *t)
{
    const stored_view *v = t->core;

    if (t->r)
        return t->r->log_id;
    return v->sent->said ? log_said_id(v->sent->said) : NULL;
}

#define QUERY_ROOM 1024
#define VIEW_FILENAME_ROOM 2048

/* The query of this request, where the entry is for any. -1: it is too long */
static int view_query(const http_head *h, char *query, const char **args)
{
    const char *mark = memchr(h->uri, '?', h->uri_len);
    size_t len = mark ? h->uri_len - (size_t)(mark - h->uri) - 1 : 0;

    *args = mark ? query : NULL;
    if (len >= QUERY_ROOM)
        return -1;
    if (mark)
        memcpy(query, mark + 1, len);
    query[len] = '\0';
    return 0;
}

/* That of a script that rules lead to may be made of the path, too. */
static const char *view_args(const cache_entry *e, const cache_observed_answer *sent,
                             const char *args)
{
    return sent->variables.query_made && e->log->args
               ? sent->variables.get(sent->variables.baton, "QUERY_STRING")
               : args;
}

/* Of a plan's request, whose target is that of a backend, query and all; of a script a file, without a query. -1: it is too long */
static int view_filename(const cache_entry *e, const http_head *h,
                         const cache_observed_answer *sent, const char *args, char *filename,
                         const char **to)
{
    const int of_prefix = e->absent && cache_names_of_prefix(e->absent);
    const char *kept = e->log->filename;
    const int of_script = sent->variables.get != NULL;
    const size_t args_len = args && !of_script ? strlen(args) : 0;
    size_t len;

    if (!e->plan || !kept || (!of_prefix && (of_script || !e->any_query)))
        return 0;
    len = of_prefix ? cache_absent_text(filename, VIEW_FILENAME_ROOM, e, kept, h) - 1
                    : strcspn(kept, "?");
    if (len + args_len + 2 > VIEW_FILENAME_ROOM)
        return -1;
    if (!of_prefix)
        memcpy(filename, kept, len);
    *to = filename;
    filename[len] = '\0';
    if (!args || of_script)
        return 0;
    filename[len] = '?';
    memcpy(filename + len + 1, args, args_len + 1);
    return 0;
}

/* Of an entry for names that are not there. @param uri, filename  of VIEW_FILENAME_ROOM bytes. -1: one is too long */
static int view_absent(const cache_entry *e, const http_head *h, char *uri, char *filename,
                       brg_transaction *t)
{
    const int has_name = t->filename && !e->log->asked && !e->plans;

    if (cache_absent_text(uri, VIEW_FILENAME_ROOM, e, t->uri, h) > VIEW_FILENAME_ROOM ||
        (has_name &&
         cache_absent_file(filename, VIEW_FILENAME_ROOM, e, t->filename, h) > VIEW_FILENAME_ROOM))
        return -1;
    t->uri = uri;
    if (has_name)
        t->filename = filename;
    return 0;
}

/* Answers of a plan have each its own. */
static const char *view_content_type(const cache_entry *e, const http_answer *a)
{
    for (int i = 0; e->plan && i < a->n_fields; i++)
        if (!strcasecmp(a->field[i].name, "Content-Type"))
            return a->field[i].value;
    return e->log->content_type;
}

static int log_directly(const policy_stored_loggers *loggers, cache_entry *e, const brg_conn *bc,
                        const http_head *h, const cache_observed_answer *sent, apr_time_t began,
                        cache_log_step step)
{
    stored_view v; /* most of it is room */
    char query[QUERY_ROOM], filename[VIEW_FILENAME_ROOM], uri[VIEW_FILENAME_ROOM];
    const struct cache_observed *o = e->log;
    brg_transaction a = {.server = e->server,
                         .connection = bc->c,
                         .request_time = began,
                         .status = sent->answer->status,
                         .from_memory = !e->plan,
                         .method = view_text(h->method, h->method_len),
                         .target = view_text(h->uri, h->uri_len),
                         .protocol = view_text(h->protocol, h->protocol_len),
                         .client_ip =
                             bc->peer && bc->peer->family ? bc->peer->ip : bc->c->client_ip,
                         .uri = o->uri,
                         .args = o->args,
                         .filename = o->filename,
                         .handler = o->handler,
                         .content_type = view_content_type(e, sent->answer),
                         .body_sent = sent->body_sent,
                         .received = h->head_len,
                         .sent = (apr_off_t)sent->head_sent + sent->body_sent,
                         .core = &v,
                         .sent_by = sent->body_sent && !e->plan ? bc->ways : 0};

    v.head = h;
    v.entry = e;
    v.sent = sent;
    v.kept = e->log;
    for (int i = 0; i < view_variables.n; i++)
        v.made[i][0] = '\0';
    BRG_ASSERT_DEBUG(e->observed && a.connection);
    if (e->any_query && view_query(h, query, &a.args))
        return 0;
    a.args = view_args(e, sent, a.args);
    if (view_filename(e, h, sent, a.args, filename, &a.filename))
        return 0;
    if (e->absent && view_absent(e, h, uri, filename, &a))
        return 0;
    if (h->line && h->line_len)
        a.request_line = view_text(h->line, h->line_len);
    for (int i = 0; step != CACHE_LOG_WRITE && i < loggers->n; i++)
        if (!loggers->ready[i](&a))
            return 0;
    if (sent->said)
        cache_messages_say(sent->said, e, h);
    for (int i = 0; step != CACHE_LOG_ASK && i < loggers->n; i++)
        if (loggers->log[i])
            loggers->log[i](&a);
    return 1;
}

int cache_log_directly(cache_entry *e, brg_conn *bc, const http_head *h,
                       const cache_observed_answer *sent, apr_time_t began, cache_log_step step)
{
    const policy_stored_loggers *loggers = policy_stored_log();

    if (sent->said && view_variables.n) /* ids in logs are those of modules */
        return 0;
    return loggers && log_directly(loggers, e, bc, h, sent, began, step);
}
