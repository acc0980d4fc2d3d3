/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error pages of this server's own (BuiltinPages modern, negotiated): the event in one sentence, for people as HTML without
 * outside parts, for programs as JSON (RFC 9457).
 */
#include "http_error.h"
#include "http_protocol.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/json.h"
#include "brigade/response_cache.h"
#include <string.h>

/* With its SHA-256, which the manual (BuiltinPages) tells for policies that name it. */
#define PAGE_STYLE                                                                 \
    "body{max-width:36rem;margin:16vh auto;padding:0 1.5rem;font:1rem/1.5 system-" \
    "ui,sans-serif;color:#1b2430}html{background:#f6f7f9}a{color:#0b55bd}h1{margi" \
    "n:0;line-height:1.2;overflow-wrap:anywhere}small,address{font:.85rem/1.5 sys" \
    "tem-ui,sans-serif;color:#5b6675;overflow-wrap:anywhere}@media(prefers-color-" \
    "scheme:dark){html{background:#12161c}body{color:#e6eaf0}a{color:#8bbcff}smal" \
    "l,address{color:#a3adba}}"

static const struct page_sentence {
    int status;
    const char *text;
} page_sentences[] = {
    {HTTP_MULTIPLE_CHOICES, "There is more than one document at this address."},
    {HTTP_USE_PROXY, "This is to be asked for through a proxy."},
    {HTTP_BAD_REQUEST, "The server did not understand the request."},
    {HTTP_UNAUTHORIZED, "A name and a password are needed here, and these were missing or wrong."},
    {HTTP_FORBIDDEN, "You are not allowed to see this."},
    {HTTP_NOT_FOUND, "There is nothing at this address."},
    {HTTP_METHOD_NOT_ALLOWED, "The method of the request is not allowed here."},
    {HTTP_NOT_ACCEPTABLE, "This is not available in a form that the request accepts."},
    {HTTP_PROXY_AUTHENTICATION_REQUIRED,
     "The proxy needs a name and a password, and these were missing or wrong."},
    {HTTP_REQUEST_TIME_OUT, "The request took too long to arrive."},
    {HTTP_CONFLICT, "The request conflicts with the present state of the document."},
    {HTTP_GONE, "What was at this address is gone, and will not come back."},
    {HTTP_LENGTH_REQUIRED, "The request has to tell the length of its content."},
    {HTTP_PRECONDITION_FAILED, "A condition of the request does not hold."},
    {HTTP_REQUEST_ENTITY_TOO_LARGE, "The content of the request is larger than allowed."},
    {HTTP_REQUEST_URI_TOO_LARGE, "The address is longer than allowed."},
    {HTTP_UNSUPPORTED_MEDIA_TYPE, "Content of this type is not accepted here."},
    {HTTP_RANGE_NOT_SATISFIABLE, "The document has no such range."},
    {HTTP_EXPECTATION_FAILED, "The server cannot do what the request expects."},
    {HTTP_MISDIRECTED_REQUEST, "This connection is not for the host of the request."},
    {HTTP_UNPROCESSABLE_ENTITY, "The content of the request cannot be processed."},
    {HTTP_LOCKED, "This is locked."},
    {HTTP_FAILED_DEPENDENCY, "Something else that this depends on has failed."},
    {425, "The request came before the connection was set up. Please send it again."},
    {HTTP_UPGRADE_REQUIRED, "Another protocol is needed here, such as HTTPS."},
    {HTTP_PRECONDITION_REQUIRED, "The request needs a condition."},
    {HTTP_TOO_MANY_REQUESTS, "There were too many requests in a short time. Please wait."},
    {HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "The fields of the request are larger than allowed."},
    {HTTP_UNAVAILABLE_FOR_LEGAL_REASONS, "This is not available for legal reasons."},
    {HTTP_NOT_IMPLEMENTED, "The server does not know the method of the request."},
    {HTTP_BAD_GATEWAY, "A server behind this one sent no valid answer."},
    {HTTP_SERVICE_UNAVAILABLE, "The server cannot answer at the moment. Please try again later."},
    {HTTP_GATEWAY_TIME_OUT, "A server behind this one did not answer in time."},
    {HTTP_VERSION_NOT_SUPPORTED, "The server does not speak this version of HTTP."},
    {HTTP_INSUFFICIENT_STORAGE, "There is no room left to store this."},
    {HTTP_LOOP_DETECTED, "The server stopped because it went round in circles."},
    {HTTP_NETWORK_AUTHENTICATION_REQUIRED, "You have to sign in to the network first."},
};

static const char *page_sentence(int status)
{
    for (size_t i = 0; i < sizeof(page_sentences) / sizeof(page_sentences[0]); i++)
        if (page_sentences[i].status == status)
            return page_sentences[i].text;
    return status < HTTP_INTERNAL_SERVER_ERROR
               ? "The server could not do what the request asks for."
               : "The server met an error. Its log tells more.";
}

/* A module's addition, as HTML: where Apache shows it, too. */
static const char *page_notes(const request_rec *r, int status)
{
    const char *notes = apr_table_get(r->notes, "error-notes");
    const char *to = apr_table_get(r->notes, "verbose-error-to");

    switch (status) {
    case HTTP_MULTIPLE_CHOICES:
    case HTTP_NOT_ACCEPTABLE:
        notes = apr_table_get(r->notes, "variant-list");
        break;
    case HTTP_BAD_REQUEST:
    case HTTP_FORBIDDEN:
    case HTTP_LENGTH_REQUIRED:
    case HTTP_REQUEST_URI_TOO_LARGE:
    case HTTP_EXPECTATION_FAILED:
    case HTTP_UNAVAILABLE_FOR_LEGAL_REASONS:
    case HTTP_NOT_IMPLEMENTED:
    case HTTP_BAD_GATEWAY:
        break;
    default:
        if (!to || strcmp(to, "*") != 0)
            return NULL;
    }
    return notes;
}

/* The id that is in the logs, where somebody may look. Others have none, so that they can be sent from memory. */
static const char *page_request_id(const request_rec *r, int status)
{
    return status >= HTTP_INTERNAL_SERVER_ERROR ? r->log_id : NULL;
}

static const char *page_paragraph(apr_pool_t *p, const char *text)
{
    return text ? apr_pstrcat(p, "<p>", text, "</p>\n", NULL) : "";
}

static const char *page_html(request_rec *r, int status, const char *title, const char *also,
                             const char *location)
{
    apr_pool_t *p = r->pool;
    const char *id = page_request_id(r, status), *text = page_sentence(status);

    if (ap_is_HTTP_REDIRECT(status) && location)
        text = apr_pstrcat(p, "What you asked for is at <a href=\"", brg_html_text(p, location),
                           "\">another address</a>.", NULL);
    return apr_pstrcat(p,
                       "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
                       brg_html_text(p, title),
                       "</title>\n<style>" PAGE_STYLE "</style>\n</head>\n<body>\n<main>\n<small>",
                       apr_psprintf(p, "%d", status), "</small>\n<h1>", brg_html_text(p, title + 4),
                       "</h1>\n<p>", text, "</p>\n", page_paragraph(p, page_notes(r, status)),
                       page_paragraph(p, also), id ? "<p><small>Request " : "",
                       id ? brg_html_text(p, id) : "", id ? "</small></p>\n" : "",
                       ap_psignature("", r), "</main>\n</body>\n</html>\n", NULL);
}

/* ---- JSON ---- */

static const char *page_json_text(apr_pool_t *p, const char *s)
{
    const apr_size_t len = strlen(s), room = len * BRG_JSON_GROWTH;
    char *to = apr_palloc(p, room + 1);

    to[brg_json_escape(to, room, s, len)] = '\0';
    return to;
}

static const char *page_json(request_rec *r, int status, const char *title, const char *also)
{
    apr_pool_t *p = r->pool;
    const char *id = page_request_id(r, status);

    return apr_pstrcat(p, "{\"type\":\"about:blank\",\"title\":\"", page_json_text(p, title + 4),
                       "\",\"status\":", apr_psprintf(p, "%d", status), ",\"detail\":\"",
                       page_sentence(status), also ? " " : "", also ? also : "", "\"",
                       id ? ",\"request_id\":\"" : "", id ? page_json_text(p, id) : "",
                       id ? "\"" : "", "}\n", NULL);
}

static int page_ends_with(const char *s, apr_size_t len, const char *end)
{
    const apr_size_t n = strlen(end);

    return len >= n && !ap_cstr_casecmpn(s + len - n, end, n);
}

/* The q of an element of Accept (RFC 9110, 12.4.2), in thousandths; 1000 where it is missing or cannot be read. */
static int page_quality(const char *s, const char *end)
{
    int q = 0, digit = 1000;

    while (s < end && (s = memchr(s, ';', (size_t)(end - s)))) {
        s++;
        while (s < end && (*s == ' ' || *s == '\t'))
            s++;
        if (end - s < 3 || (*s | 0x20) != 'q' || s[1] != '=' || !apr_isdigit(s[2]))
            continue;
        for (s += 2; s < end && digit && (apr_isdigit(*s) || *s == '.'); s++)
            if (*s != '.') {
                q += (*s - '0') * digit;
                digit /= 10;
            }
        return q;
    }
    return 1000;
}

/* 1: JSON is named, and preferred to HTML where that is named, too. A pattern for any type counts for neither. */
static int page_wants_json(const void *unused, const char *value, apr_size_t len)
{
    const char *at = value, *end = value + len;
    int json = 0, html = 0;

    while (value && at < end) {
        const char *next = memchr(at, ',', (size_t)(end - at)), *type = at;
        apr_size_t n;
        int q;

        next = next ? next : end;
        while (type < next && (*type == ' ' || *type == '\t'))
            type++;
        for (n = 0; type + n < next && !strchr("; \t", type[n]);)
            n++;
        q = page_quality(type + n, next);
        if (page_ends_with(type, n, "/json") || page_ends_with(type, n, "+json"))
            json = q > json ? q : json;
        else if (page_ends_with(type, n, "/html") || page_ends_with(type, n, "/xhtml+xml"))
            html = q > html ? q : html;
        at = next < end ? next + 1 : end;
    }
    return json > html;
}

int http_page_negotiate(request_rec *r, int status, brg_pages pages)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");

    if (pages != BRG_PAGES_NEGOTIATED || status < HTTP_BAD_REQUEST)
        return 0;
    apr_table_mergen(r->headers_out, "Vary", "Accept");
    brg_cache_vary(r, "Accept", page_wants_json, NULL);
    return accept && page_wants_json(NULL, accept, strlen(accept));
}

const char *http_page(request_rec *r, int status, const char *title, int recursive_error,
                      const char *location, int json)
{
    const char *also =
        recursive_error ? "The page that is meant for this error could not be shown." : NULL;

    BRG_ASSERT(strlen(title) >= 4 && status > 0);
    return json ? page_json(r, status, title, also) : page_html(r, status, title, also, location);
}

int http_page_is_for_all(const request_rec *r, int status)
{
    return !page_request_id(r, status);
}
