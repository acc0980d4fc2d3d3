/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries of RFC 9842 for files: ZstdDictionary. The answer to a request for such a file says
 * that it may be used as a dictionary for the next version; a client that has it gets the new
 * version in the coding dcz. The content of a file is known once it was asked for, and stays known
 * when the file is another one.
 */
#include "compress_private.h"
#include "dictionary_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_base64.h"
#include "apr_fnmatch.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/loop.h"
#include "brigade/response_cache.h"

#include <string.h>

#define DICTIONARY_LEAST 1024 /* bytes of a file */
#define DICTIONARY_LEVEL 15   /* it is coded once, on a worker */
#define DICTIONARY_VALUE 46   /* of Available-Dictionary: ":", 44 of base64, ":" */
#define DICTIONARY_MEMORY (32 * 1024 * 1024)
#define DICTIONARY_SCAN (16 * 1024 * 1024) /* bytes that are read of the files of a folder */
#define DICTIONARY_NAMES 1000

typedef struct dictionary_rule {
    const server_rec *server;
    const char *pattern;
    const char *field; /* Use-As-Dictionary */
} dictionary_rule;

extern module zstd_module;

static apr_array_header_t *dictionary_rules; /* of dictionary_rule *, in pconf; NULL: none */

static apr_status_t rules_forget(void *unused)
{
    (void)unused;
    dictionary_rules = NULL;
    return APR_SUCCESS;
}

/* Those of the virtual host, else those of the main server. */
static const dictionary_rule *rule_of(const request_rec *r)
{
    const dictionary_rule *of_main = NULL;
    int own = 0;

    for (int i = 0; dictionary_rules && i < dictionary_rules->nelts; i++) {
        const dictionary_rule *rule = APR_ARRAY_IDX(dictionary_rules, i, const dictionary_rule *);
        const int is_own = rule->server == r->server;

        own |= is_own;
        if ((is_own || !rule->server->is_virtual) &&
            apr_fnmatch(rule->pattern, r->uri, 0) == APR_SUCCESS) {
            if (is_own)
                return rule;
            of_main = of_main ? of_main : rule;
        }
    }
    return own ? NULL : of_main;
}

/* ---- whether ---- */

/* Filters that change a body stand before filters that code it. */
static int body_is_the_file(const request_rec *r)
{
    for (const ap_filter_t *f = r->output_filters; f; f = f->next)
        if (f->frec->ftype < AP_FTYPE_CONTENT_SET)
            return 0;
    return 1;
}

static int is_a_plain_file(request_rec *r)
{
    return r->method_number == M_GET && ap_is_initial_req(r) && r->filename &&
           r->finfo.filetype == APR_REG && r->finfo.size >= DICTIONARY_LEAST &&
           r->finfo.size <= DICTIONARY_MOST && !(r->path_info && *r->path_info) &&
           (!strcmp(r->handler, "default-handler") || strchr(r->handler, '/')) &&
           !r->content_encoding && body_is_the_file(r);
}

/* Pages of other sites learn nothing by the size of an answer: RFC 9842, 9.3.2. */
static int is_of_this_origin(const request_rec *r)
{
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site");
    const char *mode = apr_table_get(r->headers_in, "Sec-Fetch-Mode");

    return !site || !strcmp(site, "same-origin") || !strcmp(site, "none") ||
           (mode && !strcmp(mode, "navigate"));
}

/* Accept-Encoding names dcz, and not with a weight of 0. */
static int accepts_dcz(const char *accept)
{
    while (accept && *accept) {
        const char *end = accept + strcspn(accept, ","), *weight;

        accept += strspn(accept, " \t");
        if (!ap_cstr_casecmpn(accept, "dcz", 3) && strchr(",; \t", accept[3])) {
            weight = memmem(accept, (size_t)(end - accept), "q=0", 3);
            return !weight || apr_isdigit(weight[3 + strspn(weight + 3, ".0")]);
        }
        accept = *end ? end + 1 : end;
    }
    return 0;
}

/* @return 0: no dictionary is there, or it is of no use for this request */
static int available_read(request_rec *r, unsigned char hash[DICTIONARY_HASH])
{
    const char *value = apr_table_get(r->headers_in, "Available-Dictionary");
    const char *accept = apr_table_get(r->headers_in, "Accept-Encoding");
    char text[DICTIONARY_VALUE - 1], bytes[DICTIONARY_VALUE];

    if (!value || strlen(value) != DICTIONARY_VALUE || value[0] != ':' ||
        value[DICTIONARY_VALUE - 1] != ':' || !accepts_dcz(accept) || r->header_only ||
        apr_table_get(r->headers_in, "Range") || apr_table_get(r->subprocess_env, "no-zstd") ||
        !is_of_this_origin(r))
        return 0;
    apr_cpystrn(text, value + 1, sizeof text);
    if (apr_base64_decode_len(text) > (int)sizeof bytes ||
        apr_base64_decode(bytes, text) != DICTIONARY_HASH)
        return 0;
    memcpy(hash, bytes, DICTIONARY_HASH);
    return 1;
}

/* ---- the answer ---- */

static int coded_send(request_rec *r, const dictionary *coded)
{
    apr_bucket_alloc_t *list = r->connection->bucket_alloc;
    apr_bucket_brigade *bb;
    const char *tag;
    int status;

    r->content_encoding = "dcz";
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_etag(r);
    tag = apr_table_get(r->headers_out, "ETag");
    if (tag)
        apr_table_setn(r->headers_out, "ETag", compress_tag_with(r->pool, tag, "-dcz"));
    ap_set_content_length(r, (apr_off_t)coded->len);
    if ((status = ap_meets_conditions(r)) != OK)
        return status;
    bb = apr_brigade_create(r->pool, list);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_heap_create(coded->data, coded->len, NULL, list));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(list));
    return ap_pass_brigade(r->output_filters, bb) == APR_SUCCESS ? OK : AP_FILTER_ERROR;
}

/* ---- versions that lie beside it ---- */

/* A build gives each version a name of its own, and a process that is new has seen none of them. */
static dictionary *version_read(request_rec *r, const dictionary_rule *rule, const char *name,
                                const unsigned char *hash, apr_off_t *left)
{
    const char *path =
        apr_pstrcat(r->pool, ap_make_dirstr_parent(r->pool, r->filename), name, NULL);
    const char *uri = apr_pstrcat(r->pool, ap_make_dirstr_parent(r->pool, r->uri), name, NULL);
    dictionary *d;
    apr_finfo_t finfo;

    if (apr_fnmatch(rule->pattern, uri, 0) != APR_SUCCESS ||
        apr_stat(&finfo, path, APR_FINFO_TYPE | APR_FINFO_SIZE | APR_FINFO_MTIME | APR_FINFO_LINK,
                 r->pool) != APR_SUCCESS ||
        finfo.filetype != APR_REG || finfo.size < DICTIONARY_LEAST ||
        finfo.size > DICTIONARY_MOST || finfo.size > *left)
        return NULL;
    d = dictionary_of_file(rule, path, &finfo);
    if (!d) {
        *left -= finfo.size;
        d = dictionary_read(rule, r->pool, path, &finfo);
    }
    if (d && !memcmp(d->hash, hash, DICTIONARY_HASH))
        return d;
    dictionary_release(d);
    return NULL;
}

/* On a worker. */
static dictionary *version_find(request_rec *r, const dictionary_rule *rule,
                                const unsigned char *hash)
{
    apr_off_t left = DICTIONARY_SCAN;
    dictionary *found = NULL;
    apr_finfo_t entry;
    apr_dir_t *dir;

    if (apr_dir_open(&dir, ap_make_dirstr_parent(r->pool, r->filename), r->pool) != APR_SUCCESS)
        return NULL;
    for (int n = 0;
         !found && n < DICTIONARY_NAMES && apr_dir_read(&entry, APR_FINFO_NAME, dir) == APR_SUCCESS;
         n++)
        if (*entry.name != '.')
            found = version_read(r, rule, entry.name, hash, &left);
    apr_dir_close(dir);
    return found;
}

/* @return OK: a worker looks for it; DECLINED: *found, or NULL */
static int dictionary_find(request_rec *r, const dictionary_rule *rule, dictionary **found)
{
    unsigned char hash[DICTIONARY_HASH];
    const char *folder;

    *found = NULL;
    if (!available_read(r, hash) || (*found = dictionary_of_hash(rule, hash)) != NULL)
        return DECLINED;
    folder = ap_make_dirstr_parent(r->pool, r->filename);
    if (!dictionary_scan_is_due(folder, brg_now(), !brg_thread_is_loop()))
        return DECLINED;
    if (brg_thread_is_loop())
        return brg_request_rerun_on_worker(r) ? OK : DECLINED;
    *found = version_find(r, rule, hash);
    return DECLINED;
}

/* @return DECLINED: without it */
static int dictionary_answer(request_rec *r, const dictionary_rule *rule, const dictionary *content)
{
    dictionary *by, *coded;
    int status = dictionary_find(r, rule, &by);

    if (!by)
        return status;
    coded = dictionary_coded(content, by);
    if (!coded && brg_thread_is_loop())
        status = brg_request_rerun_on_worker(r) ? OK : DECLINED;
    else if (!coded)
        coded = dictionary_code(content, by, DICTIONARY_LEVEL);
    if (coded && coded->len)
        status = coded_send(r, coded);
    dictionary_release(coded);
    dictionary_release(by);
    return status;
}

static int dictionary_absent(const void *data, const char *value, apr_size_t len)
{
    (void)data;
    (void)len;
    return value ? -1 : 0;
}

static int dictionary_handler(request_rec *r)
{
    const dictionary_rule *rule = dictionary_rules ? rule_of(r) : NULL;
    dictionary *content;
    int status;

    if (!rule || !is_a_plain_file(r))
        return DECLINED;
    content = dictionary_of_file(rule, r->filename, &r->finfo);
    if (!content && brg_thread_is_loop())
        return brg_request_rerun_on_worker(r) ? OK : DECLINED;
    if (!content && !(content = dictionary_read(rule, r->pool, r->filename, &r->finfo)))
        return DECLINED;
    apr_table_setn(r->headers_out, "Use-As-Dictionary", rule->field);
    apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding, Available-Dictionary");
    brg_cache_vary(r, "Available-Dictionary", dictionary_absent, NULL);
    status = dictionary_answer(r, rule, content);
    dictionary_release(content);
    return status;
}

/* ---- directives ---- */

const char *dictionary_set(cmd_parms *cmd, void *dir, const char *pattern)
{
    dictionary_rule *rule = apr_pcalloc(cmd->pool, sizeof *rule);

    (void)dir;
    if (*pattern != '/' ||
        pattern[strspn(pattern, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "/._~*%@+=,!-")])
        return apr_pstrcat(cmd->pool, "ZstdDictionary ", pattern,
                           ": a path from / on is wanted, in which * stands for any characters",
                           NULL);
    if (!dictionary_rules) {
        dictionary_rules = apr_array_make(cmd->pool, 4, sizeof(dictionary_rule *));
        apr_pool_cleanup_register(cmd->pool, NULL, rules_forget, apr_pool_cleanup_null);
        dictionary_bound(DICTIONARY_MEMORY);
    }
    rule->server = cmd->server;
    rule->pattern = pattern;
    rule->field = apr_pstrcat(cmd->pool, "match=\"", pattern, "\"", NULL);
    APR_ARRAY_PUSH(dictionary_rules, dictionary_rule *) = rule;
    return NULL;
}

void dictionary_register(void)
{
    /* Behind all handlers for a type; r->handler is a type where no handler is set. */
    ap_hook_handler(dictionary_handler, NULL, NULL, APR_HOOK_LAST);
    brg_hooks_need_directive(&zstd_module, "handler", "ZstdDictionary", BRG_HOOKS_EVERYWHERE);
}
