/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redirects inside the server. The store is asked for the URL that the client asked for. Where rules of folders alone led to the request
 * that is answered, its answer is that URL's; behind any other redirect it is stored by no name, and the reason is told.
 */
#include "cached_part_private.h"
#include "brigade/assert.h"
#include "http_protocol.h"
#include "mod_rewrite.h"
#include "apr_strings.h"
#include <string.h>

request_rec *cached_first(request_rec *r)
{
    while (r->prev)
        r = r->prev;
    return r;
}

int cached_is_led_on(const request_rec *r)
{
    return r->handler && !strcmp(r->handler, REWRITE_REDIRECT_HANDLER_NAME);
}

int cached_is_led(const request_rec *r)
{
    int led = r->status == HTTP_OK;

    for (; led && r->prev; r = r->prev)
        led = cached_is_led_on(r->prev);
    return led;
}

int cached_env_forbids(const request_rec *r)
{
    int forbids = 0;

    for (; r && !forbids; r = r->prev)
        forbids = apr_table_get(r->subprocess_env, "no-cache") != NULL;
    return forbids;
}

/* Fields by which rules of folders chose the URL that answers. */
static void redirect_vary(cached_request *q)
{
    request_rec *r = q->r;

    q->vary = r->prev ? apr_table_get(r->headers_out, "Vary") : NULL;
    for (const request_rec *at = r->prev ? r : NULL; at; at = at->prev) {
        const char *names = apr_table_get(at->notes, BRG_REWRITE_FIELDS_NOTE);

        if (names && ap_find_token(r->pool, names, "*"))
            q->ask.refused = "RewriteCond expr, without NV, led to the URL that answers";
        else if (names)
            q->vary = q->vary ? apr_pstrcat(r->pool, q->vary, ", ", names, NULL) : names;
    }
}

void cached_request_answers(cached_request *q, request_rec *r)
{
    q->r = r;
    for (const request_rec *at = r; at; at = at->prev)
        ap_set_module_config(at->request_config, &cache_module, q);
    redirect_vary(q);
}

static int redirect_asked(const cached_request *q)
{
    return q && q->found.known && !q->save.decided &&
           (q->found.use == FRESH_FETCH || q->found.use == FRESH_VALIDATE);
}

/* An error document, or a handler's substitute for its own answer: the next request for the first
 * URL may get another one. */
static void redirect_is_not_led(cached_request *q)
{
    const int status = q->r->status;

    q->ask.refused = status == HTTP_OK ? "another URL answers, by an internal redirect"
                                       : "an error document answers";
    cached_ask_restore(q);
    cached_part_drop(q);
    q->phase = CACHED_FETCHES;
    cached_land(q, status == HTTP_OK || status >= HTTP_INTERNAL_SERVER_ERROR);
}

cached_request *cached_request_go_on(request_rec *r)
{
    cached_request *q = NULL;

    for (const request_rec *at = r->prev; at && !q; at = at->prev)
        q = cached_of(at);
    if (!redirect_asked(q))
        return NULL;
    BRG_ASSERT(!q->save.writer); /* begins when an answer is decided on */
    cached_request_answers(q, r);
    if (!cached_is_led(r))
        redirect_is_not_led(q);
    if (!q->ask.refused && !q->found.view.reader)
        cached_find(q); /* another one may have stored it since */
    return q;
}
