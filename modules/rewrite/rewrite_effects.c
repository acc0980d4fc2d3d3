/* SPDX-License-Identifier: Apache-2.0 */
/* Effects of a rule beside another target: variables, cookies, type and handler. */
#include "rewrite_private.h"
#include "brigade/litespeed.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static APR_OPTIONAL_FN_TYPE(brg_litespeed_variable) * rewrite_variable_told;

void rewrite_effects_begin(void)
{
    rewrite_variable_told = APR_RETRIEVE_OPTIONAL_FN(brg_litespeed_variable);
}

int rewrite_is_for_cache(const rewrite_run *run, const rewrite_rule *rule)
{
    const unsigned plain = REWRITE_F_NOSUB | REWRITE_F_NOCASE | REWRITE_F_NEGATED;

    if (!rule->envs || (rule->flags | plain) != plain || !(rule->flags & REWRITE_F_NOSUB) ||
        rule->skip || rule->type || rule->handler || rule->cookies)
        return 0;
    for (int i = 0; i < rule->envs->nelts; i++) {
        const char *name = APR_ARRAY_IDX(rule->envs, i, const char *);

        name += *name == '"';
        if (strncasecmp(name, "Cache-Control:", 14) != 0 &&
            strncasecmp(name, "Cache-Vary:", 11) != 0)
            return 0;
    }
    return rewrite_variable_told && rewrite_variable_told(run->r, "Cache-Control", NULL);
}

static void effect_variable(rewrite_run *run, const char *text)
{
    request_rec *r = run->r;
    char *name = rewrite_expand(run, text, NULL), *value;

    if (*name == '!') {
        apr_table_unset(r->subprocess_env, name + 1);
        REWRITE_LOG(r, 5, NULL, "unsetting env variable '%s'", name + 1);
        return;
    }
    value = strchr(name, ':');
    if (value)
        *value++ = '\0';
    else
        value = name + strlen(name);
    apr_table_set(r->subprocess_env, name, value);
    if (rewrite_variable_told)
        (void)rewrite_variable_told(r, name, value);
    REWRITE_LOG(r, 5, NULL, "setting env variable '%s' to '%s'", name, value);
}

void rewrite_set_variables(rewrite_run *run, const rewrite_rule *rule)
{
    for (int i = 0; rule->envs && i < rule->envs->nelts; i++)
        effect_variable(run, APR_ARRAY_IDX(rule->envs, i, const char *));
}

/* ---- cookies ---- */

enum {
    COOKIE_NAME,
    COOKIE_VALUE,
    COOKIE_DOMAIN,
    COOKIE_LIFETIME,
    COOKIE_PATH,
    COOKIE_SECURE,
    COOKIE_HTTPONLY,
    COOKIE_SAMESITE,
    COOKIE_PARTS
};

static int cookie_is_on(const char *word, const char *name)
{
    return word && (!strcasecmp(word, "true") || !strcmp(word, "1") || !strcasecmp(word, name));
}

/* In minutes; 0 is the session. */
static const char *cookie_expires(request_rec *r, const char *lifetime)
{
    long minutes = lifetime ? atol(lifetime) : 0;
    apr_time_exp_t tm;

    if (!minutes)
        return NULL;
    apr_time_exp_gmt(&tm, r->request_time + apr_time_from_sec(60 * minutes));
    return apr_psprintf(r->pool, "%s, %.2d-%s-%.4d %.2d:%.2d:%.2d GMT", apr_day_snames[tm.tm_wday],
                        tm.tm_mday, apr_month_snames[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour,
                        tm.tm_min, tm.tm_sec);
}

static char *cookie_text(request_rec *r, char *const part[COOKIE_PARTS])
{
    const char *expires = cookie_expires(r, part[COOKIE_LIFETIME]);
    const char *same_site = part[COOKIE_SAMESITE];

    if (same_site && (!strcmp(same_site, "0") || !strcasecmp(same_site, "false")))
        same_site = NULL;
    return apr_pstrcat(r->pool, part[COOKIE_NAME], "=", part[COOKIE_VALUE],
                       "; path=", part[COOKIE_PATH] ? part[COOKIE_PATH] : "/",
                       "; domain=", part[COOKIE_DOMAIN], expires ? "; expires=" : "",
                       expires ? expires : "",
                       cookie_is_on(part[COOKIE_SECURE], "secure") ? "; secure" : "",
                       cookie_is_on(part[COOKIE_HTTPONLY], "HttpOnly") ? "; HttpOnly" : "",
                       same_site ? "; SameSite=" : "", same_site ? same_site : "", NULL);
}

/* A request with its sub-requests and redirects sets each cookie once. */
static void cookie_set(request_rec *r, char *const part[COOKIE_PARTS])
{
    request_rec *first = r;
    const char *note = apr_pstrcat(r->pool, part[COOKIE_NAME], "_rewrite", NULL), *cookie;
    void *there = NULL;

    while (first->main)
        first = first->main;
    apr_pool_userdata_get(&there, note, first->pool);
    if (there) {
        REWRITE_LOG(first, 5, NULL, "skipping already set cookie '%s'", part[COOKIE_NAME]);
        return;
    }
    cookie = cookie_text(first, part);
    apr_table_addn(first->err_headers_out, "Set-Cookie", cookie);
    apr_pool_userdata_set("set", note, NULL, first->pool);
    REWRITE_LOG(first, 5, NULL, "setting cookie '%s'", cookie);
}

/* NAME:VALUE:DOMAIN and more; where ';' stands in front, it separates instead. */
static void effect_cookie(rewrite_run *run, const char *text)
{
    char *part[COOKIE_PARTS] = {NULL}, *rest, *at = rewrite_expand(run, text, NULL);
    const char *separator = *at == ';' ? ";" : ":";

    rewrite_is_volatile(run->r);
    for (int i = 0; i < COOKIE_PARTS; i++)
        if ((part[i] = apr_strtok(i ? NULL : at, separator, &rest)) == NULL)
            break;
    if (part[COOKIE_DOMAIN])
        cookie_set(run->r, part);
}

void rewrite_set_cookies(rewrite_run *run, const rewrite_rule *rule)
{
    for (int i = 0; rule->cookies && i < rule->cookies->nelts; i++)
        effect_cookie(run, APR_ARRAY_IDX(rule->cookies, i, const char *));
}

/* ---- type and handler ---- */

static void effect_note(rewrite_run *run, const char *text, const char *note, const char *what)
{
    request_rec *r = run->r;
    char *value = text ? rewrite_expand(run, text, NULL) : NULL;

    if (!value || !*value)
        return;
    ap_str_tolower(value);
    apr_table_setn(r->notes, note, value);
    REWRITE_LOG(r, 2, run->directory, "remember %s to have %s '%s'", r->filename, what, value);
}

void rewrite_force_type(rewrite_run *run, const rewrite_rule *rule)
{
    effect_note(run, rule->type, "rewrite-forced-mimetype", "MIME-type");
    effect_note(run, rule->handler, "rewrite-forced-handler", "Content-handler");
}
