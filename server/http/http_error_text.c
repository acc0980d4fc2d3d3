/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of the built-in error pages. Programs compare them with those of Apache 2.4, so
 * they are that byte for byte; where a note of a module belongs into one, the text is in two parts.
 */
#include "http_error.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include "brigade/assert.h"
#include <string.h>

typedef struct canned_text {
    int status;
    const char *text;  /* up to where the note belongs */
    const char *after; /* NULL: no note in it, text is all */
} canned_text;

static const char canned_moved[] = "<p>The document has moved <a href=\"";
static const char canned_here[] = "\">here</a>.</p>\n";

static const char canned_auth[] = "<p>This server could not verify that you\nare authorized to "
                                  "access the document\nrequested.  Either you "
                                  "supplied the wrong\ncredentials (e.g., bad password), or "
                                  "your\nbrowser doesn't understand how to supply\nthe "
                                  "credentials required.</p>\n";

static const canned_text canned[] = {
    {HTTP_USE_PROXY,
     "<p>This resource is only accessible through the proxy\n<br />\nYou will need to configure "
     "your client to use "
     "that proxy.</p>\n",
     NULL},
    {HTTP_BAD_REQUEST,
     "<p>Your browser sent a request that this server could not understand.<br />\n", "</p>\n"},
    {HTTP_UNAUTHORIZED, canned_auth, NULL},
    {HTTP_PROXY_AUTHENTICATION_REQUIRED, canned_auth, NULL},
    {HTTP_FORBIDDEN, "<p>You don't have permission to access this resource.", "</p>\n"},
    {HTTP_NOT_FOUND, "<p>The requested URL was not found on this server.</p>\n", NULL},
    {HTTP_REQUEST_TIME_OUT, "<p>Server timeout waiting for the HTTP request from the client.</p>\n",
     NULL},
    {HTTP_GONE,
     "<p>The requested resource is no longer available on this server and there is no forwarding "
     "address.\nPlease "
     "remove all references to this resource.</p>\n",
     NULL},
    {HTTP_PRECONDITION_FAILED,
     "<p>The precondition on the request for this URL evaluated to false.</p>\n", NULL},
    {HTTP_REQUEST_URI_TOO_LARGE,
     "<p>The requested URL's length exceeds the capacity\nlimit for this server.<br />\n",
     "</p>\n"},
    {HTTP_UNSUPPORTED_MEDIA_TYPE,
     "<p>The supplied request data is not in a format\nacceptable for processing by this "
     "resource.</p>\n",
     NULL},
    {HTTP_RANGE_NOT_SATISFIABLE,
     "<p>None of the range-specifier values in the Range\nrequest-header field overlap the current "
     "extent\nof the "
     "selected resource.</p>\n",
     NULL},
    {HTTP_MISDIRECTED_REQUEST,
     "<p>The client needs a new connection for this\nrequest as the requested host name does not "
     "match\nthe Server "
     "Name Indication (SNI) in use for this\nconnection.</p>\n",
     NULL},
    {HTTP_UNPROCESSABLE_ENTITY,
     "<p>The server understands the media type of the\nrequest entity, but was unable to process "
     "the\ncontained "
     "instructions.</p>\n",
     NULL},
    {HTTP_LOCKED,
     "<p>The requested resource is currently locked.\nThe lock must be released or proper "
     "identification\ngiven "
     "before the method can be applied.</p>\n",
     NULL},
    {HTTP_FAILED_DEPENDENCY,
     "<p>The method could not be performed on the resource\nbecause the requested action depended "
     "on "
     "another\naction and that other action failed.</p>\n",
     NULL},
    {HTTP_UPGRADE_REQUIRED,
     "<p>The requested resource can only be retrieved\nusing SSL.  The server is willing to "
     "upgrade the "
     "current\nconnection to SSL, but your client doesn't support it.\nEither upgrade your client, "
     "or try requesting "
     "the page\nusing https://\n",
     NULL},
    {HTTP_PRECONDITION_REQUIRED, "<p>The request is required to be conditional.</p>\n", NULL},
    {HTTP_TOO_MANY_REQUESTS,
     "<p>The user has sent too many requests\nin a given amount of time.</p>\n", NULL},
    {HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
     "<p>The server refused this request because\nthe request header fields are too large.</p>\n",
     NULL},
    {HTTP_UNAVAILABLE_FOR_LEGAL_REASONS,
     "<p>Access to this URL has been denied for legal reasons.<br />\n", "</p>\n"},
    {HTTP_BAD_GATEWAY,
     "<p>The proxy server received an invalid\r\nresponse from an upstream "
     "server.<br />\r\n",
     "</p>\n"},
    {HTTP_SERVICE_UNAVAILABLE,
     "<p>The server is temporarily unable to service your\nrequest due to maintenance downtime or "
     "capacity\nproblems. Please try again later.</p>\n",
     NULL},
    {HTTP_GATEWAY_TIME_OUT,
     "<p>The gateway did not receive a timely response\nfrom the upstream server or "
     "application.</p>\n",
     NULL},
    {HTTP_VARIANT_ALSO_VARIES,
     "<p>A variant for the requested resource\n<pre>\n\n</pre>\nis itself a negotiable resource. "
     "This indicates a "
     "configuration error.</p>\n",
     NULL},
    {HTTP_INSUFFICIENT_STORAGE,
     "<p>The method could not be performed on the resource\nbecause the server is unable to store "
     "the\nrepresentation needed to successfully complete the\nrequest.  There is insufficient "
     "free space left "
     "in\nyour storage allocation.</p>\n",
     NULL},
    {HTTP_LOOP_DETECTED,
     "<p>The server terminated an operation because\nit encountered an infinite loop.</p>\n", NULL},
    {HTTP_NOT_EXTENDED,
     "<p>A mandatory extension policy in the request is not\naccepted by the server for this "
     "resource.</p>\n",
     NULL},
    {HTTP_NETWORK_AUTHENTICATION_REQUIRED,
     "<p>The client needs to authenticate to gain\nnetwork access.</p>\n", NULL},
};

static const char *canned_note(request_rec *r, const char *name)
{
    const char *note = apr_table_get(r->notes, name);

    BRG_ASSERT(name && *name);
    return note ? note : "";
}

static const char *canned_method(request_rec *r)
{
    BRG_ASSERT(r->method != NULL);
    return ap_escape_html(r->pool, r->method);
}

static const char *canned_expectation(request_rec *r)
{
    const char *expect = apr_table_get(r->headers_in, "Expect");
    const char *note = canned_note(r, "error-notes");

    if (!expect) {
        return apr_pstrcat(r->pool,
                           "<p>No expectation was seen, the Expect request-header \nfield was not "
                           "presented by the "
                           "client.\n",
                           note, "</p><p>Only the 100-continue expectation is supported.</p>\n",
                           NULL);
    }
    return apr_pstrcat(
        r->pool,
        "<p>The expectation given in the Expect request-header\nfield could not be met by this "
        "server.\nThe client sent<pre>\n    Expect: ",
        ap_escape_html(r->pool, expect), "\n</pre>\n", note,
        "</p><p>Only the 100-continue expectation is supported.</p>\n", NULL);
}

/* A status without a text of its own. Details go out only where the administrator's note allows it.
 */
static const char *canned_internal(request_rec *r)
{
    const char *notes = apr_table_get(r->notes, "error-notes");
    const char *to = apr_table_get(r->notes, "verbose-error-to");

    if (notes && to && strcmp(to, "*") == 0)
        return apr_pstrcat(r->pool, notes, "<p />\n", NULL);
    return apr_pstrcat(
        r->pool,
        "<p>The server encountered an internal error or\nmisconfiguration and was unable to "
        "complete\nyour request.</p>\n<p>Please contact the server administrator at \n ",
        ap_escape_html(r->pool, r->server->server_admin ? r->server->server_admin : ""),
        " to inform them of the time this error occurred,\n and the actions you performed just "
        "before "
        "this error.</p>\n<p>More information about this error may be available\nin the server "
        "error "
        "log.</p>\n",
        NULL);
}

/* Texts that name something of the request. NULL: not one of them. */
static const char *canned_about_request(int status, request_rec *r, const char *location)
{
    switch (status) {
    case HTTP_MOVED_PERMANENTLY:
    case HTTP_MOVED_TEMPORARILY:
    case HTTP_TEMPORARY_REDIRECT:
    case HTTP_PERMANENT_REDIRECT:
        return apr_pstrcat(r->pool, canned_moved, location ? ap_escape_html(r->pool, location) : "",
                           canned_here, NULL);
    case HTTP_SEE_OTHER:
        return apr_pstrcat(r->pool, "<p>The answer to your request is located <a href=\"",
                           location ? ap_escape_html(r->pool, location) : "", canned_here, NULL);
    case HTTP_MULTIPLE_CHOICES:
        return canned_note(r, "variant-list");
    case HTTP_METHOD_NOT_ALLOWED:
        return apr_pstrcat(r->pool, "<p>The requested method ", canned_method(r),
                           " is not allowed for this URL.</p>\n", NULL);
    case HTTP_NOT_ACCEPTABLE:
        return apr_pstrcat(
            r->pool,
            "<p>An appropriate representation of the requested resource could not be found on this "
            "server.</p>\n",
            canned_note(r, "variant-list"), NULL);
    case HTTP_LENGTH_REQUIRED:
        return apr_pstrcat(r->pool, "<p>A request of the requested method ", canned_method(r),
                           " requires a valid Content-length.<br />\n",
                           canned_note(r, "error-notes"), "</p>\n", NULL);
    case HTTP_REQUEST_ENTITY_TOO_LARGE:
        return apr_pstrcat(r->pool, "The requested resource does not allow request data with ",
                           canned_method(r),
                           " requests, or the amount of data provided in\nthe request exceeds the "
                           "capacity limit.\n",
                           NULL);
    case HTTP_EXPECTATION_FAILED:
        return canned_expectation(r);
    case HTTP_NOT_IMPLEMENTED:
        return apr_pstrcat(r->pool, "<p>", canned_method(r),
                           " not supported for current URL.<br />\n", canned_note(r, "error-notes"),
                           "</p>\n", NULL);
    default:
        return NULL;
    }
}

const char *http_canned_text(int status, request_rec *r, const char *location)
{
    const char *text = canned_about_request(status, r, location);

    BRG_ASSERT(r && status > 0);
    if (text)
        return text;
    for (size_t i = 0; i < sizeof(canned) / sizeof(canned[0]); i++) {
        if (canned[i].status != status)
            continue;
        if (!canned[i].after)
            return canned[i].text;
        return apr_pstrcat(r->pool, canned[i].text, canned_note(r, "error-notes"), canned[i].after,
                           NULL);
    }
    return canned_internal(r);
}
