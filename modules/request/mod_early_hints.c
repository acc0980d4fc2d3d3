/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_early_hints: 103 (RFC 8297) that is learnt. Targets of a page's last answers in HTML and Link
 * fields (style sheets, scripts, fonts of this origin) are sent to the next client while its
 * handler works.
 *
 * Each process has a table of pages. One client's answer must not be revealed to another: a target
 * is sent once two clients got it. Nobody waits for a page of the table: a thread that finds one
 * taken goes on without it.
 */
#include "early_hints_private.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HINTS_PAGES 1024 /* of a process: 1.1 MB, from the first page that is learnt on */
#define HINTS_RARELY 16  /* one in so many answers of a known page is read */

extern module early_hints_module;

/* A known target. */
typedef struct page_link {
    hint_link link;
    uint32_t client; /* the client that got it first */
    uint8_t told;    /* another one got it, too */
} page_link;

typedef struct hint_page {
    atomic_flag taken;
    uint64_t key; /* 0: none */
    int n;
    unsigned asked;
    page_link link[HINTS_LINKS];
} hint_page;

typedef struct hints_dir {
    int learn; /* -1: not named */
} hints_dir;

/* Of a request whose page is to be read. */
typedef struct hints_reading {
    uint64_t key;
    hint_links links;
    apr_size_t len;
    char text[HINTS_SCAN];
} hints_reading;

static ap_filter_rec_t *hints_filter;
static _Atomic(hint_page *) hint_pages;
static uint64_t hints_seed;

/* ---- pages ---- */

static uint64_t hints_hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

/* What the client asked for, which rules and index pages may lead to another URL. */
static const request_rec *hints_first(const request_rec *r)
{
    while (r->prev)
        r = r->prev;
    return r;
}

/* Its path: that of r is the script's where FallbackResource or DirectoryIndex lead. */
static const char *hints_path(const request_rec *r)
{
    r = hints_first(r);
    return r->parsed_uri.path ? r->parsed_uri.path : r->uri;
}

/* Of the virtual host, the name that was asked for, and the path. */
static uint64_t page_key(const request_rec *r)
{
    uint64_t h = hints_seed ^ (uint64_t)(uintptr_t)r->server;

    h = hints_hash(hints_hash(h, r->hostname ? r->hostname : ""), hints_path(r));
    return h ? h : 1;
}

static hint_page *page_at(uint64_t key)
{
    hint_page *pages = atomic_load_explicit(&hint_pages, memory_order_acquire);

    return pages ? pages + key % HINTS_PAGES : NULL;
}

/* @return NULL: somebody else has it now, or there is no memory */
static hint_page *page_take(uint64_t key, int make)
{
    hint_page *page = page_at(key), *none = NULL;

    if (!page && make) {
        hint_page *made = calloc(HINTS_PAGES, sizeof *made);

        if (made && !atomic_compare_exchange_strong(&hint_pages, &none, made))
            free(made);
        page = page_at(key);
    }
    return page && !atomic_flag_test_and_set_explicit(&page->taken, memory_order_acquire) ? page
                                                                                          : NULL;
}

static void page_leave(hint_page *page)
{
    atomic_flag_clear_explicit(&page->taken, memory_order_release);
}

/* An address, of IPv6 the network of a site. */
static uint32_t client_of(const request_rec *r)
{
    const apr_sockaddr_t *a = r->useragent_addr ? r->useragent_addr : r->connection->client_addr;
    const unsigned char *bytes = a->ipaddr_ptr;
    uint64_t h = hints_seed;

    for (int i = 0; i < (a->ipaddr_len > 8 ? 8 : a->ipaddr_len); i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32) | 1;
}

static const page_link *page_find(const hint_page *page, const char *target)
{
    for (int i = 0; i < page->n; i++)
        if (!strcmp(page->link[i].link.target, target))
            return &page->link[i];
    return NULL;
}

/* The page has the last answer's targets; the first clients of known ones are kept. */
static void page_learn(const hints_reading *reading, uint32_t client)
{
    hint_page *page = page_take(reading->key, 1), before;

    if (!page)
        return;
    BRG_ASSERT(reading->links.n >= 0 && reading->links.n <= HINTS_LINKS);
    before.n = page->key == reading->key ? page->n : 0;
    memcpy(before.link, page->link, sizeof before.link);
    page->key = reading->key;
    page->n = reading->links.n;
    for (int i = 0; i < page->n; i++) {
        const page_link *known = page_find(&before, reading->links.link[i].target);

        page->link[i] = (page_link){.link = reading->links.link[i],
                                    .client = known ? known->client : client,
                                    .told = known && (known->told || known->client != client)};
    }
    page_leave(page);
}

/* ---- pages with hints ---- */

static int hints_learn(const request_rec *r)
{
    const hints_dir *dir = ap_get_module_config(r->per_dir_config, &early_hints_module);

    return dir->learn == 1;
}

/* Files are there at once; output of other handlers takes its time. */
static int hints_are_worth_it(request_rec *r)
{
    const char *handler = r->handler;

    return r->method_number == M_GET && !r->header_only && ap_is_initial_req(r) && handler &&
           strcmp(handler, "default-handler") != 0 && strcmp(handler, DIR_MAGIC_TYPE) != 0 &&
           !apr_table_get(r->headers_in, "Authorization") && hints_learn(r);
}

/* Browsers heed it for pages that they go to, and over HTTP/2 and later. */
static int hints_are_heeded(const request_rec *r)
{
    const char *mode = apr_table_get(r->headers_in, "Sec-Fetch-Mode");
    const char *accept = apr_table_get(r->headers_in, "Accept");

    return r->proto_num >= HTTP_VERSION(2, 0) && (!mode || !strcmp(mode, "navigate")) && accept &&
           ap_strcasestr(accept, "text/html") && !r->expecting_100;
}

static const char *link_text(apr_pool_t *p, const hint_link *link)
{
    static const char *const rest[] = {[HINT_STYLE] = ">; rel=preload; as=style",
                                       [HINT_SCRIPT] = ">; rel=preload; as=script",
                                       [HINT_FONT] = ">; rel=preload; as=font",
                                       [HINT_MODULE] = ">; rel=modulepreload"};

    return apr_pstrcat(p, "<", link->target, rest[link->as], link->cors ? "; crossorigin" : "",
                       NULL);
}

/* @return how many fields; *rarely: nothing new is expected of this answer */
static int hints_put(request_rec *r, uint64_t key, apr_table_t *to, int *rarely)
{
    hint_page *page = page_take(key, 0);
    int n = 0, told = 1;

    if (!page)
        return 0;
    if (page->key == key) {
        for (int i = 0; i < page->n; i++) {
            told &= page->link[i].told;
            if (page->link[i].told && ++n)
                apr_table_addn(to, "Link", link_text(r->pool, &page->link[i].link));
        }
        *rarely = told && ++page->asked % HINTS_RARELY != 0;
    }
    page_leave(page);
    return n;
}

static void hints_send(request_rec *r, apr_table_t *links)
{
    apr_table_t *fields = r->headers_out;
    const char *line = r->status_line;
    const int status = r->status;

    r->headers_out = links;
    r->status = HTTP_EARLY_HINTS;
    r->status_line = NULL;
    apr_table_setn(r->notes, "early-hints", "1"); /* whatever H2EarlyHints says of others' */
    ap_send_interim_response(r, 1);
    apr_table_unset(r->notes, "early-hints");
    r->headers_out = fields;
    r->status = status;
    r->status_line = line;
}

static int hints_fixups(request_rec *r)
{
    apr_table_t *links;
    hints_reading *reading;
    int rarely = 0;
    uint64_t key;

    if (!hints_are_worth_it(r))
        return DECLINED;
    key = page_key(r);
    links = apr_table_make(r->pool, HINTS_LINKS);
    if (hints_put(r, key, links, &rarely) && hints_are_heeded(r))
        hints_send(r, links);
    if (rarely)
        return DECLINED;
    reading = apr_palloc(r->pool, sizeof *reading);
    reading->key = key;
    reading->len = 0;
    reading->links.n = 0;
    ap_set_module_config(r->request_config, &early_hints_module, reading);
    return DECLINED;
}

/* ---- the page is read ---- */

static void hints_insert(request_rec *r)
{
    hints_reading *reading =
        r->main ? NULL : ap_get_module_config(hints_first(r)->request_config, &early_hints_module);

    if (reading)
        ap_add_output_filter_handle(hints_filter, reading, r, r->connection);
}

static int page_is_html(const request_rec *r)
{
    return r->status == HTTP_OK && r->content_type &&
           !ap_cstr_casecmpn(r->content_type, "text/html", 9) && !r->content_encoding &&
           !apr_table_get(r->headers_out, "Content-Encoding");
}

typedef struct field_reading {
    hint_links *links;
    const char *base, *origin;
} field_reading;

static int field_take(void *data, const char *name, const char *value)
{
    const field_reading *of = data;

    (void)name;
    hints_of_field(of->links, value, of->base, of->origin);
    return 1;
}

static int field_is_private(void *found, const char *name, const char *value)
{
    (void)name;
    if (ap_strcasestr(value, "private") || ap_strcasestr(value, "no-store"))
        *(int *)found = 1;
    return 1;
}

/* The page is one user's, who may come from two networks: its targets, too, could be. */
static int page_is_private(const request_rec *r)
{
    int found = 0;

    apr_table_do(field_is_private, &found, r->headers_out, "Cache-Control", NULL);
    apr_table_do(field_is_private, &found, r->err_headers_out, "Cache-Control", NULL);
    return found;
}

static void reading_ends(request_rec *r, hints_reading *reading)
{
    field_reading of = {&reading->links, hints_path(r),
                        apr_pstrcat(r->pool, ap_http_scheme(r), "://", r->hostname, NULL)};

    apr_table_do(field_take, &of, r->headers_out, "Link", NULL);
    apr_table_do(field_take, &of, r->err_headers_out, "Link", NULL);
    if (page_is_html(r))
        hints_of_html(&reading->links, reading->text, reading->len, of.base, of.origin);
    page_learn(reading, client_of(r));
}

/* Of data that is in memory, so much as there is room for. */
static int reading_takes(hints_reading *reading, apr_bucket *b)
{
    const char *data;
    apr_size_t len;

    if (APR_BUCKET_IS_METADATA(b))
        return !APR_BUCKET_IS_EOS(b);
    if (APR_BUCKET_IS_FILE(b) || b->length == (apr_size_t)-1 ||
        apr_bucket_read(b, &data, &len, APR_NONBLOCK_READ))
        return 0;
    if (len > HINTS_SCAN - reading->len)
        len = HINTS_SCAN - reading->len;
    memcpy(reading->text + reading->len, data, len);
    reading->len += len;
    return reading->len < HINTS_SCAN;
}

static apr_status_t hints_read(ap_filter_t *f, apr_bucket_brigade *bb)
{
    hints_reading *reading = f->ctx;
    request_rec *r = f->r;
    int goes_on = r->hostname && r->status == HTTP_OK && !page_is_private(r);

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); goes_on && b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        goes_on = reading_takes(reading, b);
        if (!goes_on)
            reading_ends(r, reading);
    }
    if (!goes_on)
        ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

/* ---- the module ---- */

/* An answer of a handler that was asked with hints goes the full way the next time, too; one that
 * the store gives before all phases does not. */
static int hints_depend(request_rec *r)
{
    return ap_get_module_config(r->request_config, &early_hints_module) || hints_are_worth_it(r)
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

static void *hints_create(apr_pool_t *p, char *path)
{
    hints_dir *dir = apr_palloc(p, sizeof *dir);

    (void)path;
    dir->learn = -1;
    return dir;
}

static void *hints_merge(apr_pool_t *p, void *base, void *add)
{
    const hints_dir *more = add;

    (void)p;
    return more->learn < 0 ? base : add;
}

static const char *set_hints(cmd_parms *cmd, void *dir, const char *word)
{
    (void)cmd;
    if (ap_cstr_casecmp(word, "learn") && ap_cstr_casecmp(word, "off"))
        return "EarlyHints must be learn or off";
    ((hints_dir *)dir)->learn = !ap_cstr_casecmp(word, "learn");
    return NULL;
}

static const command_rec hints_commands[] = {
    AP_INIT_TAKE1("EarlyHints", set_hints, NULL, RSRC_CONF | ACCESS_CONF,
                  "learn: 103 with what the last answers of a page named; default: off"),
    {0},
};

static void hints_child(apr_pool_t *p, server_rec *s)
{
    (void)p;
    (void)s;
    ap_random_insecure_bytes(&hints_seed, sizeof hints_seed);
}

static void hints_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_child_init(hints_child, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(hints_fixups, NULL, NULL, APR_HOOK_REALLY_LAST);
    ap_hook_insert_filter(hints_insert, NULL, NULL, APR_HOOK_LAST);
    brg_hooks_need_directive(&early_hints_module, "fixups insert_filter", NULL,
                             BRG_HOOKS_BY_SERVER);
    hints_filter = ap_register_output_filter("EARLY_HINTS", hints_read, NULL,
                                             (ap_filter_type)(AP_FTYPE_CONTENT_SET - 1));
    brg_cache_declare(&early_hints_module, hints_depend);
    brg_filter_leaves_body(hints_filter);
}

module AP_MODULE_DECLARE_DATA early_hints_module = {
    STANDARD20_MODULE_STUFF, hints_create, hints_merge, NULL, NULL, hints_commands, hints_hooks, 0,
};
