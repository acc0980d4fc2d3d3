/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of Header and RequestHeader: literal text, %-tags and expressions.
 */
#include "headers_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_ssl.h"
#include "scoreboard.h"
#include "apr_strings.h"
#include "brigade/assert.h"

#include <string.h>

APLOG_USE_MODULE(headers);

/* A value from elsewhere must not start a new line of the header. */
static const char *headers_one_line(apr_pool_t *p, const char *value)
{
    char *copy, *at;

    if (!value)
        return "(null)";
    if (value[strcspn(value, "\r\n")] == '\0')
        return value;
    copy = apr_pstrdup(p, value);
    for (at = copy; *at; at++)
        if (*at == '\r' || *at == '\n')
            *at = ' ';
    return copy;
}

static const char *headers_tag_duration(const headers_asker *a, const char *arg)
{
    return apr_pstrcat(a->pool, "D=", apr_off_t_toa(a->pool, apr_time_now() - a->began), NULL);
}

static const char *headers_tag_time(const headers_asker *a, const char *arg)
{
    return apr_pstrcat(a->pool, "t=", apr_off_t_toa(a->pool, a->began), NULL);
}

static const char *headers_tag_env(const headers_asker *a, const char *arg)
{
    return headers_one_line(a->pool, apr_table_get(a->r->subprocess_env, arg));
}

static const char *headers_tag_ssl(const headers_asker *a, const char *arg)
{
    const char *value = ap_ssl_var_lookup(a->pool, a->r->server, a->r->connection, a->r, arg);

    return headers_one_line(a->pool, value && *value ? value : NULL);
}

static const char *headers_tag_loadavg(const headers_asker *a, const char *arg)
{
    ap_loadavg_t load;

    ap_get_loadavg(&load);
    return apr_psprintf(a->pool, "l=%.2f/%.2f/%.2f", load.loadavg, load.loadavg5, load.loadavg15);
}

static const char *headers_tag_idle(const headers_asker *a, const char *arg)
{
    ap_sload_t load;

    ap_get_sload(&load);
    return apr_pstrcat(a->pool, "i=", apr_itoa(a->pool, load.idle), NULL);
}

static const char *headers_tag_busy(const headers_asker *a, const char *arg)
{
    ap_sload_t load;

    ap_get_sload(&load);
    return apr_pstrcat(a->pool, "b=", apr_itoa(a->pool, load.busy), NULL);
}

static headers_tag_fn *headers_tag_of(char letter)
{
    switch (letter) {
    case 'D':
        return headers_tag_duration;
    case 't':
        return headers_tag_time;
    case 'e':
        return headers_tag_env;
    case 's':
        return headers_tag_ssl;
    case 'l':
        return headers_tag_loadavg;
    case 'i':
        return headers_tag_idle;
    case 'b':
        return headers_tag_busy;
    default:
        return NULL;
    }
}

static void headers_add_part(headers_format *out, headers_tag_fn *tag, const char *text)
{
    headers_piece *part = apr_array_push(out->parts);

    BRG_ASSERT(out && (tag || text));
    part->tag = tag;
    part->text = text;
}

/* One tag; *at stands on its '%'. */
static const char *headers_parse_tag(apr_pool_t *p, const char **at, headers_format *out)
{
    const char *s = *at + 1, *arg = "";
    headers_tag_fn *tag;

    if (*s == '%' || *s == '\0') { /* "%%", or a '%' that ends the value: itself */
        headers_add_part(out, NULL, "%");
        *at = s + (*s == '%');
        return NULL;
    }
    if (*s == '{') {
        apr_size_t len = strcspn(s + 1, "}");

        arg = apr_pstrmemdup(p, s + 1, len);
        s += 1 + len;
        s += *s == '}';
    }
    tag = headers_tag_of(*s);
    if (tag == NULL) {
        return apr_pstrcat(p, "Unrecognized header format %", apr_pstrmemdup(p, s, *s != '\0'),
                           NULL);
    }
    headers_add_part(out, tag, arg);
    *at = s + 1;
    return NULL;
}

/* Literal text up to the next tag, with its escapes resolved. */
static void headers_parse_literal(apr_pool_t *p, const char **at, headers_format *out)
{
    const char *s = *at;
    char *text = apr_palloc(p, strcspn(s, "%") + 1), *to = text;

    for (; *s && *s != '%'; s++) {
        const char *known, *escapes = "\\rnt";

        if (*s == '\\' && s[1] && (known = strchr(escapes, s[1])) != NULL) {
            *to++ = "\\\r\n\t"[known - escapes];
            s++;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
    *at = s;
    headers_add_part(out, NULL, text);
}

static const char *headers_parse_expr(cmd_parms *cmd, const char *text, headers_format *out)
{
    const char *error = NULL;

    out->expr_text = text;
    out->expr = ap_expr_parse_cmd(cmd, text, AP_EXPR_FLAG_STRING_RESULT, &error, NULL);
    return error ? apr_pstrcat(cmd->pool, "Can't parse value expression : ", error, NULL) : NULL;
}

/* A value without tags becomes one string. */
static void headers_fold_literals(apr_pool_t *p, headers_format *out)
{
    const headers_piece *part = (const headers_piece *)out->parts->elts;
    const char *text = "";
    int i;

    for (i = 0; i < out->parts->nelts; i++) {
        if (part[i].tag)
            return;
        text = i ? apr_pstrcat(p, text, part[i].text, NULL) : part[i].text;
    }
    out->literal = text;
}

const char *headers_format_parse(cmd_parms *cmd, const char *text, headers_format *out)
{
    const char *error;

    memset(out, 0, sizeof(*out));
    if (strncmp(text, "expr=", 5) == 0)
        return headers_parse_expr(cmd, text + 5, out);
    out->parts = apr_array_make(cmd->pool, 2, sizeof(headers_piece));
    while (*text)
        if (*text != '%')
            headers_parse_literal(cmd->pool, &text, out);
        else if ((error = headers_parse_tag(cmd->pool, &text, out)) != NULL)
            return error;
    headers_fold_literals(cmd->pool, out);
    return NULL;
}

static const char *headers_run_expr(request_rec *r, const headers_format *format)
{
    const char *error = NULL, *value = ap_expr_str_exec(r, format->expr, &error);

    if (error) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(02557) "Can't evaluate value expression: %s", error);
        return "";
    }
    return value;
}

const char *headers_format_value(const headers_asker *a, const headers_format *format)
{
    const headers_piece *part;
    char *value = NULL;
    int i;

    if (format->literal)
        return format->literal;
    if (format->expr)
        return headers_run_expr(a->r, format);
    part = (const headers_piece *)format->parts->elts;
    for (i = 0; i < format->parts->nelts; i++) {
        const char *text = part[i].tag ? part[i].tag(a, part[i].text) : part[i].text;

        value = i ? apr_pstrcat(a->pool, value, text, NULL) : apr_pstrdup(a->pool, text);
    }
    return value;
}

const char *headers_format_run(request_rec *r, const headers_format *format)
{
    return headers_format_value(&(headers_asker){r->pool, r->request_time, r}, format);
}

int headers_format_is_timed(const headers_format *format)
{
    for (int i = 0; !format->expr && i < format->parts->nelts; i++) {
        headers_tag_fn *const tag = APR_ARRAY_IDX(format->parts, i, headers_piece).tag;

        if (tag == headers_tag_env || tag == headers_tag_ssl)
            return 0;
    }
    return !format->expr;
}

int headers_format_is_known(const headers_format *format)
{
    if (format->literal)
        return 1;
    if (format->expr)
        return 1; /* asked for each request */
    for (int i = 0; i < format->parts->nelts; i++) {
        const headers_piece *part = &APR_ARRAY_IDX(format->parts, i, headers_piece);

        if (part->tag && (part->tag != headers_tag_env || !brg_cache_variable_is_told(part->text)))
            return 0;
    }
    return 1;
}
