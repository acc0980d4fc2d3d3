/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validators of earlier renderings of a page. They are kept with the compiled page, together with
 * the sources of the rendering: files, variables and request fields with their values. While all
 * that is the same, a conditional request is answered without rendering, and a page that is too
 * large to be gathered is sent with validators.
 *
 * This is for pages that the response cache cannot store, since their output depends on a field or a
 * variable. Nothing is kept where modules decided about a part in ways that are not known here, or where
 * a file was changed so shortly before that it may change again with the same time stamp.
 */
#include "ssi_depends_private.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_strings.h"
#include "brigade/field_names.h"
#include "brigade/response_cache.h"
#include <stdlib.h>
#include <sys/stat.h>

#define RENDERINGS_MOST 8 /* of a page, per thread; the list starts with the most recently used */
#define RENDERING_BYTES_MOST (64 * 1024)
#define RENDERING_FIELDS_MOST 16

struct ssi_rendering {
    ssi_rendering *next;
    apr_size_t bytes; /* of this block, which holds everything that it points to, but for server */
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
    *id = ssi_identity_of_stat(&st);
    return 1;
}

static int part_is_same(const ssi_part *part)
{
    ssi_identity now;

    part_look(part->path, &now);
    return ssi_identity_same(&now, &part->id);
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

void ssi_rendering_part(ssi_top *top, const char *path, const apr_finfo_t *finfo)
{
    ssi_identity id;

    BRG_ASSERT(top->kept_page != NULL && path[0] == '/');
    if (finfo && (finfo->valid & SSI_IDENTITY_FINFO) == SSI_IDENTITY_FINFO) {
        id = ssi_identity_of(finfo);
        part_add(top, path, &id);
    } else if (finfo || part_look(path, &id)) {
        top->kept_page = NULL; /* it was made meanwhile */
    } else {
        part_add(top, path, &id);
    }
}

void ssi_rendering_looked_at(ssi_top *top, const char *path)
{
    ssi_identity id = {0};
    struct stat st;

    BRG_ASSERT(top->kept_page != NULL);
    if (!stat(path, &st)) {
        if (!S_ISDIR(st.st_mode)) {
            top->kept_page = NULL; /* it was made meanwhile, or cannot be read */
            return;
        }
        id = ssi_identity_of_stat(&st);
    }
    part_add(top, path, &id);
}

void ssi_rendering_htaccess(ssi_top *top, const request_rec *r, const struct htaccess_result *until)
{
    const core_server_config *core = ap_get_core_module_config(r->server->module_config);
    apr_pool_t *p = top->r->pool;

    BRG_ASSERT(top->paths != NULL);
    for (const struct htaccess_result *h = r->htaccess; h && h != until; h = h->next) {
        const char *names = core->access_name ? core->access_name : ".htaccess";

        while (*names) {
            const char *path = ap_make_full_path(p, h->dir, ap_getword_conf(p, &names));
            ssi_identity id;

            if (ssi_names_has(&top->paths_seen, path))
                continue;
            ssi_names_add(&top->paths_seen, p, path);
            part_look(path, &id);
            part_add(top, path, &id);
        }
    }
}

/* ---- variables and fields ---- */

static void read_add(ssi_top *top, const char *name, const char *value, int kind)
{
    ssi_read *read;

    if (!top->reads)
        top->reads = apr_array_make(top->r->pool, 8, sizeof(ssi_read));
    name = apr_pstrdup(top->r->pool, name);
    ssi_names_add(&top->reads_seen, top->r->pool, name);
    if (kind == SSI_READ_PAGE)
        return;
    read = apr_array_push(top->reads);
    read->name = name;
    read->value = value;
    read->kind = kind;
}

void ssi_rendering_read(ssi_top *top, const char *name, const char *value, int kind)
{
    if (!top->kept_page || ssi_names_has(&top->reads_seen, name))
        return;
    read_add(top, name, value, kind);
}

/* Fields that modules named as dependencies of parts. */
static void reads_of_modules(ssi_top *top)
{
    const char *names[RENDERING_FIELDS_MOST];
    int n = brg_cache_vary_fields(top->r, names, RENDERING_FIELDS_MOST);

    if (n > RENDERING_FIELDS_MOST)
        top->kept_page = NULL;
    for (int i = 0; i < n && i < RENDERING_FIELDS_MOST; i++)
        if (!strncmp(names[i], BRG_CACHE_VARY_NAMES, sizeof BRG_CACHE_VARY_NAMES - 1) ||
            !strncmp(names[i], BRG_CACHE_VARY_QUERY, sizeof BRG_CACHE_VARY_QUERY - 1))
            top->kept_page = NULL;
        else
            read_add(top, names[i], apr_table_get(top->r->headers_in, names[i]), SSI_READ_FIELD);
}

static int text_is_same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static int reads_are_same(const ssi_rendering *v, request_rec *r, ssi_top *top)
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

/* Behind the strings there are numbers without padding, which are compared as bytes. */
_Static_assert(offsetof(ssi_dir_conf, exec_us) + sizeof(apr_int64_t) == sizeof(ssi_dir_conf) &&
                   offsetof(ssi_dir_conf, bytes_most) ==
                       offsetof(ssi_dir_conf, esi) + sizeof(int) &&
                   offsetof(ssi_dir_conf, esi) ==
                       offsetof(ssi_dir_conf, xbithack) + 9 * sizeof(int),
               "ssi_dir_conf has padding");

static int conf_is_same(const ssi_dir_conf *a, const ssi_dir_conf *b)
{
    apr_size_t skip = offsetof(ssi_dir_conf, xbithack);

    return text_is_same(a->error_message, b->error_message) &&
           text_is_same(a->time_format, b->time_format) &&
           text_is_same(a->undefined_echo, b->undefined_echo) &&
           !memcmp((const char *)a + skip, (const char *)b + skip, sizeof *a - skip);
}

static int rendering_is_for(const ssi_rendering *v, request_rec *r, const ssi_dir_conf *conf)
{
    return v->server == r->server && v->options == ap_allow_options(r) &&
           text_is_same(v->uri, r->uri) && text_is_same(v->unparsed_uri, r->unparsed_uri) &&
           text_is_same(v->host, r->hostname) && conf_is_same(&v->conf, conf);
}

static void rendering_drop(ssi_page *page, ssi_rendering **at)
{
    ssi_rendering *v = *at;

    BRG_ASSERT(v->bytes >= sizeof *v);
    *at = v->next;
    ssi_page_charge(page, -(apr_ssize_t)v->bytes);
    free(v);
}

static int parts_are_same(const ssi_rendering *v)
{
    for (unsigned i = 0; i < v->parts_n; i++)
        if (!part_is_same(&v->parts[i]))
            return 0;
    return 1;
}

const ssi_validators *ssi_rendering_find(request_rec *r, ssi_top *top, ssi_page *page)
{
    const ssi_dir_conf *conf = page->renderings ? ssi_conf_resolved(r) : NULL;

    BRG_ASSERT_TAG(page, SSI_PAGE_TAG);
    BRG_ASSERT(top->r == r);

    for (ssi_rendering **at = &page->renderings; *at;) {
        ssi_rendering *v = *at;

        if (!rendering_is_for(v, r, conf) || !reads_are_same(v, r, top)) {
            at = &v->next;
            continue;
        }
        if (!parts_are_same(v)) {
            rendering_drop(page, at);
            continue;
        }
        *at = v->next;
        v->next = page->renderings;
        page->renderings = v;
        return &v->found;
    }
    return NULL;
}

void ssi_renderings_free(ssi_rendering *v)
{
    while (v) {
        ssi_rendering *next = v->next;

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

static apr_size_t rendering_room(const ssi_rendering *v)
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

/* One block for everything. NULL: it would be too large */
static ssi_rendering *rendering_copy(const ssi_rendering *from)
{
    apr_size_t bytes = rendering_room(from);
    ssi_rendering *v = bytes > RENDERING_BYTES_MOST ? NULL : malloc(bytes);
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
    BRG_ASSERT(at == (char *)v + bytes); /* rendering_room() counted the same */
    return v;
}

static int parts_are_stable(const ssi_top *top)
{
    for (int i = 0; top->parts_kept && i < top->parts_kept->nelts; i++)
        if (!ssi_identity_is_stable(&APR_ARRAY_IDX(top->parts_kept, i, ssi_part).id,
                                    top->r->request_time))
            return 0;
    return 1;
}

static int reads_are_equal(const ssi_rendering *a, const ssi_rendering *b)
{
    if (a->reads_n != b->reads_n)
        return 0;
    for (unsigned i = 0; i < a->reads_n; i++)
        if (a->reads[i].kind != b->reads[i].kind || strcmp(a->reads[i].name, b->reads[i].name) ||
            !text_is_same(a->reads[i].value, b->reads[i].value))
            return 0;
    return 1;
}

/* Drop the rendering that @a v replaces, and the oldest ones where there are too many. */
static void renderings_make_room(ssi_page *page, request_rec *r, const ssi_rendering *v)
{
    int n = 1;

    for (ssi_rendering **at = &page->renderings; *at;) {
        if (n == RENDERINGS_MOST ||
            (rendering_is_for(*at, r, &v->conf) && reads_are_equal(*at, v))) {
            rendering_drop(page, at);
        } else {
            n++;
            at = &(*at)->next;
        }
    }
}

void ssi_rendering_keep(include_ctx_t *ctx, const ssi_validators *found)
{
    ssi_top *top = ctx->intern->top;
    request_rec *r = top->r;
    ssi_rendering v = {.server = r->server,
                       .uri = r->uri,
                       .unparsed_uri = r->unparsed_uri,
                       .host = r->hostname,
                       .conf = *ctx->intern->conf,
                       .options = ap_allow_options(r),
                       .found = *found};
    ssi_rendering *kept;

    BRG_ASSERT_TAG(top, SSI_TOP_TAG);
    BRG_ASSERT(found->etag && !(top->depends & SSI_DEPENDS_UNKEPT));
    if (!top->kept_page || r->prev || !top->kept_page->cache)
        return;
    reads_of_modules(top);
    ssi_rendering_htaccess(top, r, NULL);
    if (!top->kept_page || !parts_are_stable(top))
        return;
    if (top->parts_kept) {
        v.parts = (ssi_part *)(void *)top->parts_kept->elts;
        v.parts_n = (unsigned)top->parts_kept->nelts;
    }
    if (top->reads) {
        v.reads = (ssi_read *)(void *)top->reads->elts;
        v.reads_n = (unsigned)top->reads->nelts;
    }
    renderings_make_room(top->kept_page, r, &v);
    if (!(kept = rendering_copy(&v)))
        return;
    kept->next = top->kept_page->renderings;
    top->kept_page->renderings = kept;
    top->kept_page->large |= found->large != 0;
    ssi_page_charge(top->kept_page, (apr_ssize_t)kept->bytes);
}
