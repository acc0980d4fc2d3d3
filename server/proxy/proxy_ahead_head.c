/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request by a plan (proxy_plan.h): text of the plan around the fields of its client, as far as these go on as they are. */
#include "proxy_plan.h"
#include "proxy_fields.h"
#include "connection.h"
#include "http_fields.h"
#include "brigade/assert.h"
#include <string.h>
#include <strings.h>

typedef struct ahead_text {
    char *p, *end;
} ahead_text;

/* @return 0: there is no room */
static int text_put(ahead_text *t, const char *text, size_t len)
{
    if ((size_t)(t->end - t->p) < len)
        return 0;
    memcpy(t->p, text, len);
    t->p += len;
    return 1;
}

/* @return 0: there is no room */
static int ahead_put_field(ahead_text *t, const http_field *f)
{
    return f->value_len && text_put(t, f->name, f->name_len) && text_put(t, ": ", 2) &&
           text_put(t, f->value, f->value_len) && text_put(t, "\r\n", 2);
}

/* An earlier line of the same name, of fields that the core does not know. */
static int ahead_is_repeated(const http_head *head, int i)
{
    const http_field *f = &head->field[i];

    for (const http_field *o = head->field; o < f; o++)
        if (o->name_len == f->name_len && !strncasecmp(o->name, f->name, f->name_len))
            return 1;
    return 0;
}

int ahead_repeats(const http_head *head, int i, uint64_t *seen)
{
    const http_field *f = &head->field[i];
    const uint64_t bit = (uint64_t)1 << http_name_bit(f->name, f->name_len);

    if (*seen & bit && ahead_is_repeated(head, i))
        return 1;
    *seen |= bit;
    return 0;
}

/* Whether a field of the client goes on; those of one name would become one. @return 0: it asks for more than that; -1: it stays */
static int ahead_field_goes(const http_head *head, int i, uint64_t *seen)
{
    const http_field *f = &head->field[i];
    const proxy_field_rule rule = proxy_field_rule_of((http_field_id)f->id, f->name, f->name_len);

    if (rule == PROXY_FIELD_HOST || rule == PROXY_FIELD_STAYS)
        return -1;
    if (f->id == HTTP_F_OTHER && ahead_repeats(head, i, seen))
        return 0;
    return rule == PROXY_FIELD_GOES || rule == PROXY_FIELD_CONDITION;
}

const http_field *ahead_change(const proxy_plan *plan, const http_field *f)
{
    for (uint32_t i = 0; i < plan->changed_n; i++) {
        const http_field *c = &plan->changed[i];

        if (c->name_len == f->name_len && !strncasecmp(c->name, f->name, c->name_len))
            return c;
    }
    return NULL;
}

const http_field *ahead_changed(const proxy_plan *plan, const http_head *head,
                                const http_field *change)
{
    for (int k = 0; k < head->n_fields; k++)
        if (ahead_change(plan, &head->field[k]) == change)
            return &head->field[k];
    return NULL;
}

/* With the client's name. @return 0: there is no room */
static int ahead_put_change(ahead_text *t, const http_field *f, const http_field *change)
{
    http_field now = *f;

    now.value = change->value;
    now.value_len = change->value_len;
    return !change->value || ahead_put_field(t, &now);
}

/* Fields that the client did not send, or that do not stay in their place. @return 0: there is no room */
static int ahead_put_new(ahead_text *t, const proxy_plan *plan, const http_head *head)
{
    for (uint32_t i = 0; i < plan->changed_n; i++) {
        const http_field *c = &plan->changed[i], *sent = ahead_changed(plan, head, c);

        if ((!sent || ahead_moves(plan, c)) && !ahead_put_change(t, sent ? sent : c, c))
            return 0;
    }
    return 1;
}

/* Fields of the client that go on, in their order; lines of HTTP/1 as they came, those behind each other at once. @return 0: one of them
 * asks for more than that, or there is no room */
static int ahead_put_fields(ahead_text *t, const proxy_plan *plan, const http_head *head)
{
    const http_field *change;
    const char *lines = NULL;
    uint64_t seen = 0;
    size_t n = 0, len;

    for (int i = 0; i < head->n_fields; i++) {
        const http_field *f = &head->field[i];
        const int goes = ahead_field_goes(head, i, &seen);

        if (goes < 0)
            continue;
        if (!goes)
            return 0;
        change = ahead_change(plan, f);
        if (change || !head->line) {
            if ((lines && !text_put(t, lines, n)) ||
                !(!change                     ? ahead_put_field(t, f)
                  : ahead_moves(plan, change) ? 1
                                              : ahead_put_change(t, f, change)))
                return 0;
            lines = NULL;
            continue;
        }
        if (!(len = proxy_field_line(f)))
            return 0;
        if (lines && f->name == lines + n) {
            n += len;
            continue;
        }
        if (lines && !text_put(t, lines, n))
            return 0;
        lines = f->name;
        n = len;
    }
    return (!lines || text_put(t, lines, n)) && ahead_put_new(t, plan, head);
}

/* Kinds of requests that the response cache has no answers for come not so far (head_is_simple()). */
int ahead_is_plain(const http_head *head)
{
    const int16_t *k = head->known;

    return head->method_id == HTTP_METHOD_GET && head->major == (head->line ? 1 : 2) &&
           !head->authority &&
           (k[HTTP_F_RANGE] & k[HTTP_F_IF_RANGE] & k[HTTP_F_UPGRADE] & k[HTTP_F_TE] &
            k[HTTP_F_TRAILER]) == -1 &&
           proxy_connection_is_plain(head);
}

static int text_put_string(ahead_text *t, const char *text)
{
    return text_put(t, text, strlen(text));
}

static int ahead_put_path(ahead_text *t, const proxy_plan *plan, const http_head *head)
{
    const size_t method_len = strlen("GET ");
    const char *own = plan->below       ? head->uri + plan->below
                      : plan->any_query ? memchr(head->uri, '?', head->uri_len)
                                        : NULL;

    BRG_ASSERT(plan->below < head->uri_len);
    return text_put(t, plan->text + method_len, plan->target_len - method_len) &&
           (!own || text_put(t, own, (size_t)(head->uri + head->uri_len - own)));
}

size_t ahead_write_path(const proxy_plan *plan, const http_head *head, char *buf, size_t room)
{
    ahead_text t = {buf, buf + room};

    return ahead_put_path(&t, plan, head) ? (size_t)(t.p - buf) : 0;
}

static int ahead_put_target(ahead_text *t, const proxy_plan *plan, const proxy_worker *w,
                            const http_head *head)
{
    return text_put(t, plan->text, strlen("GET ")) &&
           (!plan->balancer || text_put_string(t, w->prefix)) && ahead_put_path(t, plan, head);
}

static int ahead_put_before(ahead_text *t, const proxy_plan *plan, const proxy_worker *w)
{
    return text_put(t, plan->text + plan->target_len, plan->before_len) &&
           (!plan->names_member ||
            (text_put_string(t, "Host: ") && text_put_string(t, w->authority) &&
             text_put_string(t, "\r\n")));
}

const char *ahead_client_ip(const brg_conn *bc)
{
    return bc->peer && bc->peer->family ? bc->peer->ip
                                        : (bc->master ? bc->master : bc)->c->client_ip;
}

/* @return its length; 0: it cannot be sent so */
size_t ahead_write(const proxy_plan *plan, const proxy_worker *w, const brg_conn *bc,
                   const http_head *head, char *buf)
{
    const char *ours = plan->text + plan->target_len + plan->before_len,
               *behind = ours + plan->ours_len;
    ahead_text t = {buf, buf + AHEAD_HEAD_MOST};

    if (!ahead_put_target(&t, plan, w, head) || !ahead_put_before(&t, plan, w) ||
        !ahead_put_fields(&t, plan, head) || !text_put(&t, ours, plan->ours_len))
        return 0;
    if (plan->adds_for && !(text_put(&t, "X-Forwarded-For: ", strlen("X-Forwarded-For: ")) &&
                            text_put_string(&t, ahead_client_ip(bc)) && text_put(&t, "\r\n", 2)))
        return 0;
    return text_put(&t, behind, plan->behind_len) ? (size_t)(t.p - buf) : 0;
}

/* Before a member is chosen: it will be asked. There is room for its name and path. */
int ahead_will_fit(const proxy_plan *plan, const http_head *head)
{
    char buf[AHEAD_HEAD_MOST];
    ahead_text t = {buf, buf + AHEAD_HEAD_MOST / 2};

    return head->uri_len < AHEAD_HEAD_MOST / 4 && ahead_put_fields(&t, plan, head);
}
