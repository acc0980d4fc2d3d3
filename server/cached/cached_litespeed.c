/* SPDX-License-Identifier: Apache-2.0 */
/* LiteSpeedCache: which answer a request may have. */
#include "cached_litespeed_private.h"
#include "cached_save_private.h"
#include "fresh_vary.h"
#include "sha256.h"
#include "brigade/assert.h"
#include "brigade/litespeed.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_request.h"
#include <string.h>
#include <strings.h>

#define LS_CONTROL_NOTE "litespeed-control" /* values of rules, each with a comma behind it */
#define LS_COOKIES_NOTE "litespeed-cookies"
#define LS_VALUE_NOTE "litespeed-value"
#define LS_VARY_COOKIE "_lscache_vary"
#define LS_VARY_PLAIN 64 /* bytes of a variant's text that stand in a key as they are */

ap_filter_rec_t *cached_ls_filter_rec, *cached_ls_raw_filter_rec;

/* ---- notes of rules ---- */

static void ls_note(request_rec *r, const char *name, const char *value)
{
    const char *have = apr_table_get(r->notes, name);

    apr_table_setn(r->notes, name, apr_pstrcat(r->pool, have ? have : "", value, ",", NULL));
}

/* "vary=VALUE": the last one counts, since it repeats those before it by %{ENV:LSCACHE_VARY_VALUE}. */
static void ls_vary_value(request_rec *r, const char *list)
{
    const char *at = ap_strcasestr(list, "vary=");

    if (!at || (at > list && at[-1] != ',' && at[-1] != ' '))
        return;
    at += strlen("vary=");
    at += *at == '+';
    at = apr_pstrmemdup(r->pool, at, strcspn(at, ", "));
    apr_table_setn(r->notes, LS_VALUE_NOTE, at);
    apr_table_setn(r->subprocess_env, "LSCACHE_VARY_VALUE", at);
}

int brg_litespeed_variable(request_rec *r, const char *name, const char *value)
{
    const int in_quotes = *name == '"'; /* the flag stood in them */
    const int is_control = !strcasecmp(name + in_quotes, "Cache-Control");

    if (!cached_ls_is_on(r->server) || (!is_control && strcasecmp(name + in_quotes, "Cache-Vary")))
        return 0;
    if (!value)
        return 1;
    if (in_quotes)
        value = apr_pstrmemdup(r->pool, value, strcspn(value, "\""));
    ls_note(r, is_control ? LS_CONTROL_NOTE : LS_COOKIES_NOTE, value);
    if (is_control)
        ls_vary_value(r, value);
    return 1;
}

/* The last word on the way from the first request to this one. */
static const char *ls_noted(const request_rec *r, const char *name)
{
    const char *value = NULL;

    for (; r && !value; r = r->prev)
        value = apr_table_get(r->notes, name);
    return value;
}

/* ---- cookies ---- */

/* The next "NAME=VALUE", as PHP reads them: parts end at semicolons alone. A client whose cookies
 * were read another way could have the page of one value kept under another. @return 0: past the
 * last */
static int ls_cookie_next(const char **at, const char *end, const char **part, size_t *len)
{
    const char *p = *at, *last;

    while (p < end && (*p == ' ' || *p == ';' || *p == '\t'))
        p++;
    last = memchr(p, ';', (size_t)(end - p));
    *part = p;
    *len = (size_t)((last ? last : end) - p);
    *at = p + *len;
    return *len != 0;
}

static const char *ls_cookies(const request_rec *r)
{
    const char *cookies = apr_table_get(r->headers_in, "Cookie");

    return cookies ? cookies : "";
}

static void ls_digest(const unsigned char *bytes, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < SHA256_BYTES; i++) {
        *hex++ = digits[bytes[i] >> 4];
        *hex++ = digits[bytes[i] & 15];
    }
    *hex = '\0';
}

/* 1: it may be a session's, and has a value. */
static int ls_is_private(const cached_server *s, const char *part, size_t len)
{
    static const char *const usual[] = {"*sess*",
                                        "*SESS*",
                                        "*Sess*",
                                        "lsc_private",
                                        "wordpress_logged_in_*",
                                        "wordpress_sec_*",
                                        "wp-postpass_*",
                                        "comment_author_*",
                                        "xf_user",
                                        "frontend",
                                        "joomla_user_state"};
    const apr_array_header_t list = {.elts = (char *)(uintptr_t)usual,
                                     .nelts = sizeof usual / sizeof *usual};
    const char *is = memchr(part, '=', len);

    return is && is != part + len - 1 &&
           cached_cookie_name_is(s->private_cookies ? s->private_cookies : &list, part,
                                 (apr_size_t)(is - part));
}

int cached_ls_is_for_all(const cached_server *s, const char *cookies, size_t len)
{
    const char *end = cookies + len, *part;

    while (ls_cookie_next(&cookies, end, &part, &len))
        if (ls_is_private(s, part, len) ||
            fresh_php_cookie(part, len, LS_VARY_COOKIE, sizeof LS_VARY_COOKIE - 1))
            return 0;
    return 1;
}

int cached_ls_is_usual(const cached_request *q)
{
    const struct cached_ls *ls = q->ls;

    return ls->kind == CACHED_LS_PUBLIC && !ls->session && !*ls->vary && !q->r->prev &&
           (!q->key.names || !strchr(q->key.names, '=')) && !cached_ls_has_blocks(q) &&
           !ls_noted(q->r, LS_COOKIES_NOTE) && !ls_noted(q->r, LS_VALUE_NOTE);
}

/* All cookies that may be a session's, in one: other cookies mean another user. */
const char *cached_ls_session(request_rec *r)
{
    const char *at = ls_cookies(r), *end = at + strlen(at), *part;
    unsigned char digest[SHA256_BYTES];
    size_t len;
    sha256 sum;
    char *hex;
    int any = 0;

    sha256_begin(&sum);
    while (ls_cookie_next(&at, end, &part, &len)) {
        if (!ls_is_private(cached_server_of(r->server), part, len))
            continue;
        any = 1;
        sha256_add(&sum, part, len);
        sha256_add(&sum, ";", 1);
    }
    if (!any)
        return NULL;
    sha256_end(&sum, digest);
    hex = apr_palloc(r->pool, 2 * SHA256_BYTES + 1);
    ls_digest(digest, hex);
    return hex;
}

/* ---- variants of public answers ---- */

/* "NAME=VALUE;" of the first cookie of a name, which PHP sees; "": missing, or with an empty value.
 */
static const char *ls_vary_cookie(request_rec *r, const char *name, size_t name_len)
{
    const char *at = ls_cookies(r), *end = at + strlen(at), *part;
    size_t len;

    while (ls_cookie_next(&at, end, &part, &len)) {
        const char *rest = fresh_php_cookie(part, len, name, name_len);

        if (rest)
            return rest + 1 < part + len
                       ? apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, name, name_len),
                                     apr_pstrmemdup(r->pool, rest, (size_t)(part + len - rest)),
                                     ";", NULL)
                       : "";
    }
    return "";
}

static const char *ls_vary(request_rec *r)
{
    const char *names = ls_noted(r, LS_COOKIES_NOTE), *value = ls_noted(r, LS_VALUE_NOTE);
    const char *text = "";

    names = apr_pstrcat(r->pool, LS_VARY_COOKIE ",", names, NULL);
    while (*names) {
        const size_t n = strcspn(names, ", ");

        if (n)
            text = apr_pstrcat(r->pool, text, ls_vary_cookie(r, names, n), NULL);
        names += n;
        names += strspn(names, ", ");
    }
    if (value && *value)
        text = apr_pstrcat(r->pool, text, "+", value, NULL);
    if (strlen(text) > LS_VARY_PLAIN) {
        unsigned char digest[SHA256_BYTES];
        char *hex = apr_palloc(r->pool, 2 * SHA256_BYTES + 1);
        sha256 sum;

        sha256_begin(&sum);
        sha256_add(&sum, text, strlen(text));
        sha256_end(&sum, digest);
        ls_digest(digest, hex);
        text = hex;
    }
    return text;
}

/* ---- a request ---- */

/* Parameters of CacheKeyModify and CacheIgnoreQuery. */
static const cached_server *ls_keys(const cached_request *q)
{
    const cached_server *s = cached_server_of(q->first->server);
    const apr_array_header_t *more = cached_section_of(q->r)->ls_params;
    cached_server *own;

    if (!more)
        return s;
    own = apr_pmemdup(q->r->pool, s, sizeof *own);
    own->ignore_params = s->ignore_params ? apr_array_append(q->r->pool, s->ignore_params, more)
                                          : apr_array_copy(q->r->pool, more);
    return own;
}

void cached_ls_begin(cached_request *q)
{
    request_rec *r = q->r;
    const char *rules = ls_noted(r, LS_CONTROL_NOTE);
    cached_ls_control said = {.max_age = -1};

    if (!cached_ls_is_on(r->server) || !cached_ls_looks_up(r) ||
        (q->request.method != FRESH_GET && q->request.method != FRESH_HEAD))
        return;
    if (rules)
        cached_ls_control_read(&said, rules);
    if (said.no_store)
        return; /* such a request is not looked up either */
    q->ls = apr_pcalloc(r->pool, sizeof *q->ls);
    *q->ls = (struct cached_ls){.vary = ls_vary(r),
                                .session = cached_ls_session(r),
                                .keys = ls_keys(q),
                                .rules = said,
                                .said = {.max_age = -1},
                                .kind = CACHED_LS_PUBLIC};
    q->policy.ignore_request = 1; /* a client that reloads a page gets the stored one */
    q->policy.queries_need_expiry = 0;
}

void cached_ls_use_key(cached_request *q, cached_ls_kind kind)
{
    struct cached_ls *ls = q->ls;
    static const char letters[] = {'P', 'S', 'N', 'V'};
    const char *vary = kind == CACHED_LS_NO_VARY ? "" : ls->vary;

    BRG_ASSERT(kind != CACHED_LS_PRIVATE || ls->session);
    BRG_ASSERT(q->key.text_len >= q->key.target_len + q->key.site_len);
    ls->kind = (uint8_t)kind;
    q->key.text =
        apr_pstrcat(q->r->pool, apr_pstrmemdup(q->r->pool, q->key.text, q->key.target_len),
                    q->key.site ? CACHED_KEY_SITE : "", q->key.site, NULL);
    if (kind != CACHED_LS_PUBLIC || *vary)
        q->key.text = apr_psprintf(q->r->pool, "%s LS %c%s%s", q->key.text, letters[kind],
                                   kind == CACHED_LS_PRIVATE ? ls->session : "", vary);
    q->key.text_len = (uint32_t)strlen(q->key.text);
    q->key.hash = store_key_of(cached_store(), q->key.text, q->key.text_len, NULL, 0);
}

void cached_ls_find(cached_request *q)
{
    const struct cached_ls *ls = q->ls;

    for (cached_ls_kind kind = CACHED_LS_PRIVATE; kind <= CACHED_LS_PUBLIC; kind++) {
        if ((kind == CACHED_LS_PRIVATE && !ls->session) ||
            (kind == CACHED_LS_SHARED && !ls->session && !*ls->vary))
            continue;
        cached_ls_use_key(q, kind);
        q->found.known = 0;
        cached_find(q);
        if (q->found.view.reader)
            return;
    }
}

/* Lines of a script's field are joined; a date has a comma, too, but no "NAME=" behind it. @return the end of the first cookie */
static const char *ls_cookie_end(const char *at)
{
    const char *comma = strchr(at, ',');

    while (comma) {
        const char *name = comma + 1 + strspn(comma + 1, " ");
        const size_t n = strcspn(name, "=,; ");

        if (n && name[n] == '=')
            return comma;
        comma = strchr(comma + 1, ',');
    }
    return at + strlen(at);
}

static int ls_set_cookies(void *of, const char *name, const char *value)
{
    request_rec *r = of;

    (void)name;
    while (*value) {
        const char *end = ls_cookie_end(value);

        apr_table_addn(r->headers_out, "Set-Cookie",
                       apr_pstrmemdup(r->pool, value, (apr_size_t)(end - value)));
        value = end + strspn(end, ", ");
    }
    return 1;
}

void cached_ls_say(cached_request *q, int hit)
{
    const int is_private = q->ls->kind == CACHED_LS_PRIVATE || q->ls->kind == CACHED_LS_SHARED;

    apr_table_setn(q->r->headers_out, "X-LiteSpeed-Cache",
                   hit ? is_private ? "hit,private" : "hit" : "miss");
    if (hit) {
        apr_table_do(ls_set_cookies, q->r, q->r->headers_out, CACHED_LS_COOKIE, NULL);
        apr_table_unset(q->r->headers_out, CACHED_LS_COOKIE);
    }
}

/* ---- pages with blocks ---- */

#define LS_BLOCKS "content=\"ESI/1.0\""

int cached_ls_has_blocks(const cached_request *q)
{
    return FRESH_FIND(&q->found.stored.head, "surrogate-control") != NULL;
}

/* The other instance of CACHE_SAVE stands behind the blocks. @return 1: they are put in */
static int ls_saves_before_blocks(cached_request *q, request_rec *r)
{
    int is_put_in = 0;

    for (ap_filter_t *f = r->output_filters, *next; f; f = next) {
        next = f->next;
        is_put_in |= !strcasecmp(f->frec->name, "ssi_esi");
        if (f->frec == cached_save_filter && f->ctx == q && is_put_in)
            ap_remove_output_filter(f);
    }
    return is_put_in;
}

/* Validators are of the page without its blocks. */
static void ls_announce_blocks(request_rec *r)
{
    static const char *const names[] = {"ETag", "Last-Modified"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        apr_table_unset(r->headers_out, names[i]);
        apr_table_unset(r->err_headers_out, names[i]);
    }
    apr_table_setn(r->headers_out, "Surrogate-Control", LS_BLOCKS);
}

apr_status_t cached_ls_raw_filter(ap_filter_t *f, apr_bucket_brigade *in)
{
    cached_request *q = f->ctx;

    if (APR_BRIGADE_EMPTY(in) || (!q->ls->raw && APR_BUCKET_IS_METADATA(APR_BRIGADE_FIRST(in)) &&
                                  !APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(in))))
        return ap_pass_brigade(f->next, in);
    if (!q->ls->raw) {
        cached_ls_take(f->r, q->ls);
        if (!q->ls->said.has_esi || f->r->status != HTTP_OK || !ls_saves_before_blocks(q, f->r)) {
            ap_remove_output_filter(f);
            return ap_pass_brigade(f->next, in);
        }
        q->ls->raw = 1;
        ls_announce_blocks(f->r);
    }
    return cached_save(f, in);
}

/* ---- PHP ---- */

void cached_ls_tell_php(request_rec *r)
{
    static const char *const fields[] = {"X-LSCACHE", "X-LSCACHE-VARY-VALUE",
                                         "X-LSCACHE-VARY-COOKIE"};
    const char *cookies = ls_noted(r, LS_COOKIES_NOTE), *value = ls_noted(r, LS_VALUE_NOTE);

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        apr_table_unset(r->headers_in, fields[i]);
    apr_table_setn(r->subprocess_env, "X-LSCACHE", "on,crawler,esi");
    if (cookies) {
        cookies += strspn(cookies, ",");
        apr_table_setn(r->subprocess_env, "LSCACHE_VARY_COOKIE",
                       apr_pstrmemdup(r->pool, cookies, strlen(cookies) - (*cookies != '\0')));
    }
    if (value)
        apr_table_setn(r->subprocess_env, "LSCACHE_VARY_VALUE", value);
    if (r->main)
        apr_table_setn(r->subprocess_env, "ESI_REFERER", cached_first(r->main)->unparsed_uri);
}

void cached_ls_insert_filter(request_rec *r)
{
    if (!cached_ls_is_on(r->server))
        return;
    cached_ls_tell_php(r);
    if (!r->main)
        ap_add_output_filter_handle(cached_ls_filter_rec, NULL, r, r->connection);
}

/* No client sees the fields, whoever sent them and whatever else became of the answer. */
apr_status_t cached_ls_filter(ap_filter_t *f, apr_bucket_brigade *in)
{
    cached_ls_take(f->r, NULL);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, in);
}
