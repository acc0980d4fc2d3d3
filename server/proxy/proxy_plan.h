/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_PLAN_H
#define BRIGADE_PROXY_PLAN_H

/**
 * @file proxy_plan.h
 * Requests that a loop sends to an HTTP backend by a plan (cache/cache_plan.h, h1/h1_ahead.h).
 *
 * proxy_plan.c decides for which requests there may be one, and makes it of a request that took the full way. proxy_ahead.c sends
 * requests by it and runs their exchanges, which have no request_rec; exchange_direct.c is where answers go. An answer that needs the
 * request, and a failure, are left to an exchange that has it (proxy_ahead_take()): one try, whose request is sent.
 *
 * A backend of scripts (FastCGI, SCGI, uwsgi) gets variables of CGI in place of a head: what each request has of its own stands between text of the plan
 * (proxy_plan_script.c makes it of the variables that a request had, proxy_ahead_script.c sends it).
 *
 * Threads: the loop's. Blocking: no.
 */
#include "cache_plan.h"
#include "h1_ahead.h"
#include "proxy_exchange.h"
#include "proxy_private.h"
#include "transport.h"

/** What stands in a plan's list of variables. */
typedef enum script_part_kind {
    SCRIPT_TEXT,   /**< variables as they are sent */
    SCRIPT_FIELDS, /**< one for each field of the request, about */
    SCRIPT_CLIENT, /**< from here on: a variable of that name. The client's address */
    SCRIPT_PORT,   /**< its port */
    SCRIPT_LOCAL,  /**< the address that it came to */
    SCRIPT_QUERY,  /**< without its "?", "" if there is none */
    SCRIPT_TARGET, /**< as it was sent */
    SCRIPT_PATH, /**< behind the variable's name a text, what the path has from a byte on, another text, and the query, if it has it, too; where others
                      have the plan (cache_plan_is_for_all()) */
    SCRIPT_SNI,  /**< the name that its client asked for as TLS began */
    SCRIPT_STREAM /**< what tells streams of HTTP/2 apart */
} script_part_kind;

#define SCRIPT_NO_PATH UINT32_MAX

typedef struct script_part {
    uint32_t at, len; /**< of text */
    uint32_t from;    /**< of the path; SCRIPT_NO_PATH: nothing of it */
    uint8_t kind;     /**< script_part_kind */
    uint8_t queried;  /**< the query follows */
} script_part;

/** How the backend of a script is spoken to by a plan. In one block, in which offsets count from its front. */
typedef struct proxy_plan_script {
    proxy_target target; /**< without a path; strings of the configuration, or the loop's */
    upstream_origin *origin;
    uint32_t bytes;   /**< of all */
    uint32_t text_at; /**< where text begins */
    /** In text: variables before the fields with names as fields have them. Each ends with a NUL, the last is "". */
    uint32_t names_at;
    uint32_t url_at;     /**< in text: for messages; below a prefix, that of the prefix */
    uint16_t n;          /**< parts */
    uint16_t target_n;   /**< of them, those that have the target, or a part of it */
    uint8_t some_before; /**< there are variables before the fields */
    uint8_t credentials; /**< CGIPassAuth */
    uint8_t has_sni;     /**< clients told a name as TLS began */
    uint8_t led;         /**< a redirect of this server led to it */
    uint8_t query_made;  /**< QUERY_STRING is not the client's query */
    uint8_t shown;       /**< it is made of what a value shows: proxy_plan_script_shape() */
    script_part part[];
} proxy_plan_script;

#define PROXY_EDITS_MOST 24 /**< edits of a plan */
typedef struct proxy_edit proxy_edit;

/** In one block from malloc(). */
typedef struct proxy_plan {
    cache_plan plan;          /**< first */
    proxy_worker *worker;     /**< NULL: one of the balancer's members */
    proxy_balancer *balancer; /**< NULL: none */
    server_rec *server;
    proxy_reversal reversal; /**< of answers */
    uint32_t target_len, before_len, ours_len, behind_len;
    uint32_t
        below; /**< so much of a client's target the plan's stands for, all that follows is put behind it; 0: for its path */
    const char *via;                 /**< of answers, in text; NULL: none is added */
    const char *charset;             /**< AddDefaultCharset, in text; NULL: none is added */
    const proxy_plan_script *script; /**< NULL: the backend speaks HTTP */
    http_field *changed; /**< fields of clients that modules set, or take away (value NULL) */
    uint32_t changed_n;
    uint32_t
        moved; /**< a bit for each of them that does not stay in the place of the client's, but goes behind all others */
    const proxy_edit
        *edit; /**< of answers: what mod_headers does to their fields (proxy_plan_edits.c) */
    uint8_t edits_n;
    /** Filters on the way of answers that may compress them (proxy_plan_coding.c). */
    const struct brg_coding_step *coding;
    uint8_t coding_n;
    uint8_t coding_files;  /**< so many of them, the last ones, are of Apache's files */
    uint8_t any_query;     /**< the target ends before the query, which is the request's own */
    uint8_t adds_for;      /**< X-Forwarded-For is sent */
    uint8_t reverses_urls; /**< there is a ProxyPassReverse */
    uint8_t reverses_cookies;
    uint8_t overrides; /**< an answer of 400 and above may get another page: the request is made */
    uint8_t looks_at_via; /**< so it is for an answer with a Via */
    uint8_t tells_status; /**< ProxyStatusField: the same for an answer with that field */
    uint8_t names_member; /**< Host is the member's; it is not in text */
    uint8_t script_head;  /**< answers have the head of a CGI program, not of HTTP */
    uint8_t reuses;       /**< its backend's connections are kept, as its text tells */
    int8_t minor;         /**< of clients of HTTP/1 that it holds for; -1: all */
    /** "GET " and the target; the text behind it; the text behind the client's fields, before and
     * behind X-Forwarded-For. */
    char text[];
} proxy_plan;

/** A request that was sent, and its exchange. Zeroed at first. */
typedef struct proxy_ahead {
    struct conn_ahead base; /**< first */
    proxy_exchange x;       /**< without a request_rec */
    proxy_target target;
    proxy_session session;
    const proxy_plan *plan; /**< of base.entry */
    brg_conn *bc;
    apr_time_t began; /**< of the wall clock */
    char *asked;      /**< the request, if there was no connection for it; malloc(); NULL */
    uint32_t asked_len;
    uint8_t asked_at; /**< bytes of it in front, which are not sent */
    char *url;        /**< of a script below a prefix: for messages, in asked; NULL: the plan's */
    /* Of the answer, by its sink: */
    /** of HTTP/1, NULL once it is passed; where the loop gathers its output, or kept */
    const char *head;
    char *kept;                 /**< malloc(); NULL */
    shared_ref *part;           /**< of a stream, likewise */
    struct direct_coded *coded; /**< its body is compressed (exchange_direct_coded.c); NULL */
    http_answer *log;           /**< malloc(); NULL: nobody logs it */
    cache_planned_answer told;
    uint32_t head_len;
    uint8_t chunks; /**< the body is framed in chunks */
    uint8_t closes; /**< the client's connection ends behind it */
    /** There were some: the body's length is not told, as the other sink would not. */
    uint8_t trailers;
    /** Of a stream: it has no room for all of the answer, which goes by its filter. */
    uint8_t waits;
    apr_array_header_t *trailer; /**< of http_field; NULL: none is sent */
    uint8_t logged;
    uint8_t last_len; /**< of last */
    /** Behind the fields that tell of body and connection: of HTTP/1 a line, of a stream the value of Content-Type. Not zeroed at first. */
    char last[160];
} proxy_ahead;

/** What has to hold of a request that a plan is made of, and the reason that is told where it does not (`-t -D DUMP_CACHE`). */
typedef struct proxy_plan_ask {
    int (*holds)(const proxy_exchange *x);
    const char *why;
} proxy_plan_ask;

/** 1: all hold. 0: the reason is noted. */
int proxy_plan_holds(const proxy_exchange *x, const proxy_plan_ask *asks, size_t n);

/** 1: requests may be sent to @a w by a plan. */
int proxy_plans_for(const proxy_worker *w);

/** Before @a x begins: note whether a plan may be made of it (x->plan.may). */
void proxy_plan_look(proxy_exchange *x);

/** @a x is answered: offer a plan, if that was noted. */
void proxy_plan_offer(proxy_exchange *x);

/** cache_plan_kind.begin */
int proxy_ahead_begin(const cache_plan *base, cache_entry *entry, brg_conn *bc,
                      const http_head *head);

#define AHEAD_HEAD_MOST 4096 /**< bytes of a request's head that is sent so */

/* ---- proxy_plan_edits.c ---- */

/** Once the modules of a configuration are there. */
void proxy_edits_retrieve(void);

/** 1: the filter of mod_headers, whose edits can be told. */
int proxy_edits_filter(const ap_filter_rec_t *filter);

/** Its edits of the answer to @a r, in its pool. @return NULL: the request has to be made for each. Threads: the request's. */
const apr_array_header_t *proxy_edits_of(request_rec *r, int script_head);
/** @param edits  may be NULL */
size_t proxy_edits_bytes(const apr_array_header_t *edits);
void proxy_edits_copy(proxy_plan *p, const apr_array_header_t *edits, char *to);

/* ---- proxy_plan_coding.c ---- */

/** Once the modules of a configuration are there. */
void proxy_coding_retrieve(void);

/** Note @a f, a filter on the way of the answer to x->r. @return 0: it does more than to compress. Threads: the request's. */
int proxy_coding_take(proxy_exchange *x, const ap_filter_t *f);

/** @param steps  may be NULL */
size_t proxy_coding_bytes(const apr_array_header_t *steps);
/** @param files  exchange_plan.coding_files */
void proxy_coding_copy(proxy_plan *p, const apr_array_header_t *steps, int files, char *to);

/* ---- proxy_plan_script.c, proxy_ahead_script.c ---- */

/** 1: @a x goes to the backend of a script, over an origin that lives as long as the loop. Before it begins. */
int proxy_plan_script_is_plain(const proxy_exchange *x);

/** The plan of variables that @a x was sent with, in its pool. @param path  of the client's target, where each request has its own; or
 * NULL @param at  in it: what stands before it is the same for all @return NULL: they tell of more than a plan knows. */
proxy_plan_script *proxy_plan_script_of(proxy_exchange *x, int any_query, const char *path,
                                        size_t at);

/** As cache_plan_offer.shape. @param s  NULL: there is no such plan */
const char *proxy_plan_script_shape(const proxy_plan_script *s, apr_pool_t *p);

/** 1: neither the first @a below bytes of the path nor what they became in the URL show the rest. */
int proxy_plan_script_is_apart(const proxy_exchange *x, size_t below);

/** 1: whatever the query, the same variables but for those that tell it. */
int proxy_plan_script_any_query(const proxy_exchange *x);

/** 1: a redirect led to the script, with a query. */
int proxy_plan_script_query_led(const proxy_exchange *x);

/** The name that a client asked for as TLS began; NULL: none, or it is clear. */
const char *ahead_sni(conn_rec *client);

/** Put the request into a->asked. @return 0: it cannot be sent so, or no memory */
int ahead_write_script(proxy_ahead *a, const http_head *head);

/** What logs are told of the variables that were sent. */
cache_planned_variables proxy_ahead_variables(proxy_ahead *a);

/** In place of the client's value, what modules say of a field; NULL: they leave it. */
const http_field *ahead_change(const proxy_plan *plan, const http_field *f);

/** 1: @a change, of ahead_change(), is put behind the client's fields. */
static inline int ahead_moves(const proxy_plan *plan, const http_field *change)
{
    return plan->moved >> (change - plan->changed) & 1;
}

/** The client's field that @a change is for; NULL: it sent none. */
const http_field *ahead_changed(const proxy_plan *plan, const http_head *head,
                                const http_field *change);

/** 1: a field before number @a i has its name. @param seen  [in,out] of those that came so far; 0 at first */
int ahead_repeats(const http_head *head, int i, uint64_t *seen);

/* ---- proxy_ahead_head.c ---- */

/** 1: nothing of @a head, its fields aside, asks for more than a plan. */
int ahead_is_plain(const http_head *head);

/** Its fields do neither, and there is room. Before a member is chosen: it will be asked. */
int ahead_will_fit(const proxy_plan *plan, const http_head *head);

/** The path that is sent, without that of a member, and the query. @return its length; 0: it is longer than @a room */
size_t ahead_write_path(const proxy_plan *plan, const http_head *head, char *buf, size_t room);

/** The address that X-Forwarded-For tells. */
const char *ahead_client_ip(const brg_conn *bc);

/** Write it. @param buf  AHEAD_HEAD_MOST bytes @return its length; 0: it cannot be sent so */
size_t ahead_write(const proxy_plan *plan, const proxy_worker *w, const brg_conn *bc,
                   const http_head *head, char *buf);

/** 1 if the Connection field of @a head, should there be one, names "close" or "keep-alive" and no field. */
int proxy_connection_is_plain(const http_head *head);

/** An answer, or the received part of it, was passed: tell figures and logs. Once. */
void proxy_direct_told(proxy_ahead *a);

/** Data of a head that is not passed yet outlives this turn. @return 0: no memory */
int proxy_direct_keep(proxy_ahead *a);

/** Free the sinks' data. */
void proxy_direct_end(proxy_ahead *a);

/** The member of @a b that a request was sent to of which @a r is made now. @param session  [out] of that request @return NULL: none
 * was. Threads: the request's. */
proxy_worker *proxy_ahead_member(const request_rec *r, const proxy_balancer *b,
                                 proxy_session *session);

/** The request of @a x was sent already: @a x takes its connection over, in EXCHANGE_TALK. Else nothing happens. */
void proxy_ahead_take(proxy_exchange *x);

#endif
