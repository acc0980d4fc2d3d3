/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cookies of modules (sessions, tracking): written to tables of response headers, read from and
 * taken out of the request's Cookie fields.
 */
#include <stdarg.h>
#include <string.h>
#include "httpd.h"
#include "http_log.h"
#include "apr_strings.h"
#include "util_char.h"
#include "util_cookies.h"

APLOG_USE_MODULE(core);

/* Add the field to every table of the list. */
static void util_cookie_add(const char *field, const char *value, va_list tables)
{
    apr_table_t *table;

    while ((table = va_arg(tables, apr_table_t *)) != NULL)
        apr_table_addn(table, field, value);
}

static const char *util_cookie_attrs(request_rec *r, const char *attrs, const char *fallback)
{
    if (!attrs)
        attrs = fallback;
    return *attrs ? apr_pstrcat(r->pool, ";", attrs, NULL) : "";
}

static const char *util_cookie_max_age(request_rec *r, long maxage)
{
    return maxage ? apr_psprintf(r->pool, "Max-Age=%ld", maxage) : NULL;
}

/* "name=value" or "name2" as they come, then age and attributes. */
static const char *util_cookie_text(request_rec *r, const char *pair, const char *age,
                                    const char *attrs)
{
    return apr_pstrcat(r->pool, pair, age ? ";" : "", age ? age : "", attrs, NULL);
}

static const char *util_cookie_new(request_rec *r, const char *name, const char *val,
                                   const char *attrs, long maxage)
{
    return util_cookie_text(r, apr_pstrcat(r->pool, name, "=", val, NULL),
                            util_cookie_max_age(r, maxage),
                            util_cookie_attrs(r, attrs, DEFAULT_ATTRS));
}

/* @param what  was done, for the log */
static void util_cookie_put(request_rec *r, const char *who, const char *what, const char *field,
                            const char *text, va_list tables)
{
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "%s: user '%s' %s: '%s'", who, r->user, what,
                  text);
    util_cookie_add(field, text, tables);
}

AP_DECLARE(apr_status_t)
ap_cookie_write(request_rec *r, const char *name, const char *val, const char *attrs, long maxage,
                ...)
{
    const char *text = util_cookie_new(r, name, val, attrs, maxage);
    va_list tables;

    va_start(tables, maxage);
    util_cookie_put(r, APLOGNO(00007) "ap_cookie", "set cookie", SET_COOKIE, text, tables);
    va_end(tables);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t)
ap_cookie_write2(request_rec *r, const char *name2, const char *val, const char *attrs2,
                 long maxage, ...)
{
    const char *text = util_cookie_new(r, name2, val, attrs2, maxage);
    va_list tables;

    va_start(tables, maxage);
    util_cookie_put(r, APLOGNO(00008) "ap_cookie", "set cookie2", SET_COOKIE2, text, tables);
    va_end(tables);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_cookie_remove(request_rec *r, const char *name, const char *attrs, ...)
{
    const char *text = util_cookie_text(r, apr_pstrcat(r->pool, name, "=", NULL), "Max-Age=0",
                                        util_cookie_attrs(r, attrs, CLEAR_ATTRS));
    va_list tables;

    va_start(tables, attrs);
    util_cookie_put(r, APLOGNO(00009) "ap_cookie", "removed cookie", SET_COOKIE, text, tables);
    va_end(tables);
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t)
ap_cookie_remove2(request_rec *r, const char *name2, const char *attrs2, ...)
{
    const char *text = util_cookie_text(r, apr_pstrcat(r->pool, name2, "=", NULL), "Max-Age=0",
                                        util_cookie_attrs(r, attrs2, CLEAR_ATTRS));
    va_list tables;

    va_start(tables, attrs2);
    util_cookie_put(r, APLOGNO(00010) "ap_cookie", "removed cookie2", SET_COOKIE2, text, tables);
    va_end(tables);
    return APR_SUCCESS;
}

static const char *util_cookie_trim(char *s)
{
    char *end;

    while (util_is(*s, UTIL_C_SPACE))
        s++;
    for (end = s + strlen(s); end > s && util_is(end[-1], UTIL_C_SPACE); end--)
        ;
    *end = '\0';
    return s;
}

/*
 * Look through one Cookie field. Other cookies are collected in *kept; attributes that
 * start with $ belong to the cookie before them and go with it.
 */
static void util_cookie_scan(ap_cookie_do *v, const char *field, const char **kept)
{
    char *copy = apr_pstrdup(v->r->pool, field), *last, *part;
    size_t len = strlen(v->name);
    int mine = 0;

    *kept = NULL;
    for (part = apr_strtok(copy, ";", &last); part; part = apr_strtok(NULL, ";", &last)) {
        const char *item = util_cookie_trim(part);

        if (!*item)
            continue;
        if (*item != '$')
            mine = strncmp(item, v->name, len) == 0 && item[len] == '=';
        if (mine && *item != '$') {
            v->duplicated |= v->encoded != NULL;
            v->encoded = item + len + 1;
        }
        if (!mine)
            *kept = *kept ? apr_pstrcat(v->r->pool, *kept, "; ", item, NULL) : item;
    }
}

static int util_cookie_each(void *data, const char *key, const char *field)
{
    ap_cookie_do *v = data;
    const char *kept;

    util_cookie_scan(v, field, &kept);
    if (kept)
        apr_table_addn(v->new_cookies, key, kept);
    return 1;
}

static int util_cookie_restore(void *headers, const char *key, const char *field)
{
    apr_table_addn(headers, key, field);
    return 1;
}

AP_DECLARE(apr_status_t)
ap_cookie_read(request_rec *r, const char *name, const char **val, int remove)
{
    ap_cookie_do v = {.r = r, .name = name};

    v.new_cookies = apr_table_make(r->pool, 4);
    apr_table_do(util_cookie_each, &v, r->headers_in, "Cookie", "Cookie2", NULL);
    if (v.duplicated) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(00011) "ap_cookie: client submitted cookie '%s' more than once: %s",
                      name, r->uri);
        return APR_EGENERAL;
    }
    if (remove && v.encoded) {
        apr_table_unset(r->headers_in, "Cookie");
        apr_table_unset(r->headers_in, "Cookie2");
        apr_table_do(util_cookie_restore, r->headers_in, v.new_cookies, NULL);
    }
    *val = v.encoded;
    return APR_SUCCESS;
}

AP_DECLARE(apr_status_t) ap_cookie_check_string(const char *string)
{
    return !string || !*string || strpbrk(string, "=&;") ? APR_EGENERAL : APR_SUCCESS;
}
