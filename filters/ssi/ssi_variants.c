/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validators of pages that were rendered before, kept with the compiled page: of which files, and
 * of which variables and request fields with which values, they were made. A conditional request
 * for a page of which all that is the same is answered without rendering; a page that is too large
 * to be kept back can be sent with validators.
 *
 * For pages that the server itself cannot remember: whose output depends on a field or a variable.
 * Where modules decided about a part in ways that are not known here, or a file was changed so
 * shortly before that it may change again with the same time, nothing is kept.
 */
#include "ssi_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include <stdlib.h>
#include <sys/stat.h>

#define VARIANTS_MOST 8 /* per page and thread; the one that was used last is the first */
#define VARIANT_BYTES_MOST (64 * 1024)
#define VARIANT_FIELDS_MOST 16
#define VARIANT_SETTLED_US apr_time_from_sec(2) /* see ssi_page_cache.c */

struct ssi_variant {
    ssi_variant *next;
    apr_size_t bytes; /* of this block, with all that it points to */
    const server_rec *server;
    const char *uri, *unparsed_uri, *host;
    ssi_dir_conf conf;
    int options;
    ssi_validators found;
    ssi_part *parts;
    ssi_read *reads;
    unsigned parts_n, reads_n;
};

/* ---- files ---- */

static int part_look(const char *path, ssi_identity *id)
{
    struct stat st;

    memset(id, 0, sizeof *id);
    if (stat(path, &st))
        return 0;
    ssi_identity_of(id, &st);
    return 1;
}

static int part_is_same(const ssi_part *part)
{
    ssi_identity now;

    part_look(part->path, &now);
    return !memcmp(&now, &part->id, sizeof now);
}

static int part_is_settled(const ssi_part *part, apr_time_t now)
{
    apr_time_t latest = part->id.mtime > part->id.ctime ? part->id.mtime : part->id.ctime;

    return latest + VARIANT_SETTLED_US < now;
}

static void part_add(ssi_top *top, const char *path, const ssi_identity *id)
{
    ssi_part *part;

    if (!top->parts_kept)
        top->parts_kept = apr_array_make(top->r->pool, 8, sizeof(ssi_part));
    part = apr_array_push(top->parts_kept);
    part->path = path;
    part->id = *id;
}

#define PART_FINFO (APR_FINFO_IDENT | APR_FINFO_MTIME | APR_FINFO_CTIME | APR_FINFO_SIZE)

void ssi_variant_part(ssi_top *top, const char *path, const apr_finfo_t *finfo)
{
    ssi_identity id;

    if (finfo && (finfo->valid & PART_FINFO) == PART_FINFO) {
        id = (ssi_identity){finfo->device, finfo->inode, finfo->size, finfo->mtime, finfo->ctime};
        part_add(top, path, &id);
    } else if (finfo || part_look(path, &id)) {
        top->document = NULL; /* it came meanwhile */
    } else {
        part_add(top, path, &id);
    }
}

void ssi_variant_asked(ssi_top *top, const char *path)
{
    ssi_identity id = {0};
    struct stat st;

    if (!stat(path, &st)) {
        if (!S_ISDIR(st.st_mode)) {
            top->document = NULL; /* it came meanwhile, or may not be read */
            return;
        }
        ssi_identity_of(&id, &st);
    }
    part_add(top, path, &id);
}

/* The .htaccess files that a look-up asked for, present or not. */
void ssi_variant_htaccess(ssi_top *top, const request_rec *r, const struct htaccess_result *until)
{
    const core_server_config *core = ap_get_core_module_config(r->server->module_config);
    apr_pool_t *p = top->r->pool;

    for (const struct htaccess_result *h = r->htaccess; h && h != until; h = h->next) {
        const char *names = core->access_name ? core->access_name : ".htaccess";

        while (*names) {
            const char *path = ap_make_full_path(p, h->dir, ap_getword_conf(p, &names));
            ssi_identity id;

            if (apr_hash_get(top->paths_seen, path, APR_HASH_KEY_STRING))
                continue;
            apr_hash_set(top->paths_seen, path, APR_HASH_KEY_STRING, path);
            part_look(path, &id);
            part_add(top, path, &id);
        }
    }
}

/* ---- variables and fields ---- */

static void read_add(ssi_top *top, const char *name, const char *value, int kind)
{
    ssi_read *read;

    if (!top->reads) {
        top->reads = apr_array_make(top->r->pool, 8, sizeof(ssi_read));
        top->reads_seen = apr_hash_make(top->r->pool);
    }
    name = apr_pstrdup(top->r->pool, name);
    apr_hash_set(top->reads_seen, name, APR_HASH_KEY_STRING, name);
    if (kind == SSI_READ_OWN)
        return;
    read = apr_array_push(top->reads);
    read->name = name;
    read->value = value;
    read->kind = kind;
}

void ssi_variant_read(ssi_top *top, const char *name, const char *value, int kind)
{
    if (!top->document ||
        (top->reads_seen && apr_hash_get(top->reads_seen, name, APR_HASH_KEY_STRING)))
        return;
    read_add(top, name, value, kind);
}

/* Fields that modules named when they were asked about parts. */
static void reads_of_modules(ssi_top *top)
{
    const char *names[VARIANT_FIELDS_MOST];
    int n = brg_cache_vary_fields(top->r, names, VARIANT_FIELDS_MOST);

    if (n > VARIANT_FIELDS_MOST)
        top->document = NULL;
    for (int i = 0; i < n && i < VARIANT_FIELDS_MOST; i++)
        read_add(top, names[i], apr_table_get(top->r->headers_in, names[i]), SSI_READ_FIELD);
}

static int text_is_same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int reads_are_same(const ssi_variant *v, request_rec *r, ssi_top *top)
{
    for (unsigned i = 0; i < v->reads_n; i++) {
        const ssi_read *read = &v->reads[i];

        if (read->kind == SSI_READ_VARIABLE)
            ssi_env_make(r, top);
        if (!text_is_same(
                read->value,
                apr_table_get(read->kind == SSI_READ_FIELD ? r->headers_in : r->subprocess_env,
                              read->name)))
            return 0;
    }
    return 1;
}

/* ---- finding ---- */

static int conf_is_same(const ssi_dir_conf *a, const ssi_dir_conf *b)
{
    apr_size_t skip = offsetof(ssi_dir_conf, xbithack);

    return text_is_same(a->error_message, b->error_message) &&
           text_is_same(a->time_format, b->time_format) &&
           text_is_same(a->undefined_echo, b->undefined_echo) &&
           !memcmp((const char *)a + skip, (const char *)b + skip, sizeof *a - skip);
}

static int variant_is_for(const ssi_variant *v, request_rec *r, const ssi_dir_conf *conf)
{
    return v->server == r->server && v->options == ap_allow_options(r) &&
           text_is_same(v->uri, r->uri) && text_is_same(v->unparsed_uri, r->unparsed_uri) &&
           text_is_same(v->host, r->hostname) && conf_is_same(&v->conf, conf);
}

static void variant_drop(ssi_page *page, ssi_variant **at)
{
    ssi_variant *v = *at;

    *at = v->next;
    ssi_page_charge(page, -(apr_ssize_t)v->bytes);
    free(v);
}

static int parts_are_same(const ssi_variant *v)
{
    for (unsigned i = 0; i < v->parts_n; i++)
        if (!part_is_same(&v->parts[i]))
            return 0;
    return 1;
}

const ssi_validators *ssi_variant_find(request_rec *r, ssi_top *top, ssi_page *page)
{
    const ssi_dir_conf *conf = page->variants ? ssi_conf_resolved(r) : NULL;

    for (ssi_variant **at = &page->variants; *at;) {
        ssi_variant *v = *at;

        if (!variant_is_for(v, r, conf) || !reads_are_same(v, r, top)) {
            at = &v->next;
            continue;
        }
        if (!parts_are_same(v)) {
            variant_drop(page, at);
            continue;
        }
        *at = v->next;
        v->next = page->variants;
        page->variants = v;
        return &v->found;
    }
    return NULL;
}

void ssi_variants_free(ssi_variant *v)
{
    while (v) {
        ssi_variant *next = v->next;

        free(v);
        v = next;
    }
}

/* ---- keeping ---- */

static apr_size_t text_room(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *text_put(char **at, const char *text)
{
    char *copy = *at;
    apr_size_t n = text_room(text);

    if (!text)
        return NULL;
    memcpy(copy, text, n);
    *at += n;
    return copy;
}

static apr_size_t variant_room(const ssi_variant *v)
{
    apr_size_t n = sizeof *v + v->parts_n * sizeof *v->parts + v->reads_n * sizeof *v->reads +
                   text_room(v->uri) + text_room(v->unparsed_uri) + text_room(v->host) +
                   text_room(v->conf.error_message) + text_room(v->conf.time_format) +
                   text_room(v->conf.undefined_echo) + text_room(v->found.etag) +
                   text_room(v->found.vary);

    for (unsigned i = 0; i < v->parts_n; i++)
        n += text_room(v->parts[i].path);
    for (unsigned i = 0; i < v->reads_n; i++)
        n += text_room(v->reads[i].name) + text_room(v->reads[i].value);
    return n;
}

/* One block for all of it. NULL: too much */
static ssi_variant *variant_copy(const ssi_variant *from)
{
    apr_size_t bytes = variant_room(from);
    ssi_variant *v = bytes > VARIANT_BYTES_MOST ? NULL : malloc(bytes);
    char *at;

    if (!v)
        return NULL;
    *v = *from;
    v->bytes = bytes;
    v->parts = (ssi_part *)(void *)(v + 1);
    v->reads = (ssi_read *)(void *)(v->parts + v->parts_n);
    at = (char *)(v->reads + v->reads_n);
    v->uri = text_put(&at, from->uri);
    v->unparsed_uri = text_put(&at, from->unparsed_uri);
    v->host = text_put(&at, from->host);
    v->conf.error_message = text_put(&at, from->conf.error_message);
    v->conf.time_format = text_put(&at, from->conf.time_format);
    v->conf.undefined_echo = text_put(&at, from->conf.undefined_echo);
    v->found.etag = text_put(&at, from->found.etag);
    v->found.vary = text_put(&at, from->found.vary);
    for (unsigned i = 0; i < v->parts_n; i++) {
        v->parts[i].id = from->parts[i].id;
        v->parts[i].path = text_put(&at, from->parts[i].path);
    }
    for (unsigned i = 0; i < v->reads_n; i++) {
        v->reads[i].kind = from->reads[i].kind;
        v->reads[i].name = text_put(&at, from->reads[i].name);
        v->reads[i].value = text_put(&at, from->reads[i].value);
    }
    return v;
}

static int parts_are_settled(const ssi_top *top)
{
    for (int i = 0; top->parts_kept && i < top->parts_kept->nelts; i++)
        if (!part_is_settled(&APR_ARRAY_IDX(top->parts_kept, i, ssi_part), top->r->request_time))
            return 0;
    return 1;
}

static int reads_are_equal(const ssi_variant *a, const ssi_variant *b)
{
    if (a->reads_n != b->reads_n)
        return 0;
    for (unsigned i = 0; i < a->reads_n; i++)
        if (a->reads[i].kind != b->reads[i].kind || strcmp(a->reads[i].name, b->reads[i].name) ||
            !text_is_same(a->reads[i].value, b->reads[i].value))
            return 0;
    return 1;
}

/* What the new one takes the place of; and there are not many. */
static void variants_make_room(ssi_page *page, request_rec *r, const ssi_variant *v)
{
    int n = 1;

    for (ssi_variant **at = &page->variants; *at;) {
        if (n == VARIANTS_MOST || (variant_is_for(*at, r, &v->conf) && reads_are_equal(*at, v))) {
            variant_drop(page, at);
        } else {
            n++;
            at = &(*at)->next;
        }
    }
}

void ssi_variant_keep(include_ctx_t *ctx, const ssi_validators *found)
{
    ssi_top *top = ctx->intern->top;
    request_rec *r = top->r;
    ssi_variant v = {.server = r->server,
                     .uri = r->uri,
                     .unparsed_uri = r->unparsed_uri,
                     .host = r->hostname,
                     .conf = *ctx->intern->conf,
                     .options = ap_allow_options(r),
                     .found = *found};
    ssi_variant *kept;

    if (!top->document || r->prev || !top->document->in_cache)
        return;
    reads_of_modules(top);
    ssi_variant_htaccess(top, r, NULL);
    if (!top->document || !parts_are_settled(top))
        return;
    if (top->parts_kept) {
        v.parts = (ssi_part *)(void *)top->parts_kept->elts;
        v.parts_n = (unsigned)top->parts_kept->nelts;
    }
    if (top->reads) {
        v.reads = (ssi_read *)(void *)top->reads->elts;
        v.reads_n = (unsigned)top->reads->nelts;
    }
    variants_make_room(top->document, r, &v);
    if (!(kept = variant_copy(&v)))
        return;
    kept->next = top->document->variants;
    top->document->variants = kept;
    top->document->large |= found->large != 0;
    ssi_page_charge(top->document, (apr_ssize_t)kept->bytes);
}
