/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy_script.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_script.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(proxy_fcgi);

static int head_room(request_rec *r, script_head *head, apr_size_t more)
{
    char *bigger;
    apr_size_t cap = head->cap ? head->cap : 1024;

    while (cap < head->len + more + 1)
        cap *= 2;
    if (cap == head->cap)
        return 1;
    bigger = apr_palloc(r->pool, cap);
    memcpy(bigger, head->text ? head->text : "", head->len);
    head->text = bigger;
    head->cap = cap;
    return 1;
}

/* Bytes up to the empty line that ends the head; 0: it is not here. */
static apr_size_t head_end(script_head *head, const char *data, apr_size_t len)
{
    for (apr_size_t i = 0; i < len; i++) {
        if (!head->blank) { /* within a line */
            const char *lf = memchr(data + i, '\n', len - i);

            if (!lf)
                return 0;
            i = (apr_size_t)(lf - data);
        }
        if (data[i] == '\n') {
            if (head->blank)
                return i + 1;
            head->blank = 1;
        } else if (data[i] == '\r' && head->blank == 1) {
            head->blank = 2;
        } else {
            head->blank = 0;
        }
    }
    return 0;
}

apr_size_t script_head_take(proxy_exchange *x, script_head *head, const char *data, apr_size_t len,
                            int *done)
{
    apr_size_t n = head_end(head, data, len);

    *done = n != 0;
    if (!n)
        n = len;
    if (head->len + n > SCRIPT_HEAD_MOST) {
        x->bad = "the script's head is too large";
        return 0;
    }
    BRG_ASSERT(n <= len);
    head_room(x->r, head, n);
    memcpy(head->text + head->len, data, n);
    head->len += n;
    head->text[head->len] = '\0';
    return n;
}

/* ap_scan_script_header_err_core() reads by lines. */
typedef struct head_reader {
    const char *at, *end;
} head_reader;

static int head_gets(char *buf, int len, void *baton)
{
    head_reader *in = baton;
    const char *lf = memchr(in->at, '\n', (size_t)(in->end - in->at));
    size_t n = (size_t)((lf ? lf + 1 : in->end) - in->at);

    if (!n)
        return 0;
    if (n > (size_t)len - 1)
        n = (size_t)len - 1;
    memcpy(buf, in->at, n);
    buf[n] = '\0';
    in->at += n;
    return 1;
}

int script_status_is_final(proxy_exchange *x)
{
    if (x->r->status >= 200 && x->r->status <= 999)
        return 1;
    x->bad = "a status that ends no request";
    return 0;
}

apr_status_t script_head_read(proxy_exchange *x, script_head *head)
{
    request_rec *r = x->r;
    head_reader in = {head->text, head->text + head->len};
    char buf[8192];
    int status;

    BRG_ASSERT(head->text && head->len <= SCRIPT_HEAD_MOST);
    r->status =
        HTTP_OK; /* what the server says of itself stays beside the script's fields, as with Apache */
    r->status_line = NULL;
    buf[0] = '\0';
    status = ap_scan_script_header_err_core_ex(r, buf, head_gets, &in, APLOG_MODULE_INDEX);
    if (status == HTTP_NOT_MODIFIED || status == HTTP_PRECONDITION_FAILED) {
        r->status = status;
        status = OK;
    }
    if (status != OK) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01070) "Error parsing script headers");
        x->bad = buf[0] ? apr_pstrdup(r->pool, buf) : "malformed head of a script";
        return APR_EGENERAL;
    }
    return script_status_is_final(x) ? APR_SUCCESS : APR_EGENERAL;
}

/* The body that a script gets has a length, however the client framed it. */
static void script_tell_length(request_rec *r, apr_off_t len)
{
    apr_table_setn(r->subprocess_env, "CONTENT_LENGTH",
                   apr_psprintf(r->pool, "%" APR_OFF_T_FMT, len));
    apr_table_unset(r->subprocess_env, "HTTP_TRANSFER_ENCODING");
}

int script_environment(proxy_exchange *x)
{
    request_rec *r = x->r;
    int status;

    if (!x->codec->any_length && x->has_body && !apr_table_get(r->headers_in, "Content-Length"))
        return HTTP_LENGTH_REQUIRED; /* as Apache's modules */
    status = proxy_script_environment(r, x->target);

    if (status == OK && x->body_over && x->has_body)
        script_tell_length(r, x->body_n);
    return status;
}
