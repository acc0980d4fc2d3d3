/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_mime_magic: the type of a file that mod_mime has none for, by its first bytes.
 */
#include "magic_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_file_io.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include <string.h>

/* Bytes read of a file: a compressed one may be longer than its used content. */
#define MAGIC_READ (2 * MAGIC_BYTES)
/* A line of a magic file, with its NUL. */
#define MAGIC_LINE HUGE_STRING_LEN

module AP_MODULE_DECLARE_DATA mime_magic_module;
APLOG_USE_MODULE(mime_magic);

/* Of a server. Those without the directive share the main server's. */
typedef struct magic_conf {
    const char *file;
    apr_array_header_t *rules; /* of magic_rule; NULL: no file, or it could not be read */
} magic_conf;

static void *magic_create(apr_pool_t *p, server_rec *s)
{
    (void)s;
    return apr_pcalloc(p, sizeof(magic_conf));
}

static void *magic_merge(apr_pool_t *p, void *base, void *add)
{
    magic_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->file = ((magic_conf *)add)->file ? ((magic_conf *)add)->file : ((magic_conf *)base)->file;
    return conf;
}

static const char *magic_set_file(cmd_parms *cmd, void *dummy, const char *file)
{
    magic_conf *conf = ap_get_module_config(cmd->server->module_config, &mime_magic_module);

    (void)dummy;
    conf->file = file;
    return NULL;
}

/* ---- The file of rules -------------------------------------------------------------------------------- */

/* 0: the line is wrong. */
static int magic_add_line(server_rec *s, apr_pool_t *ptemp, apr_array_header_t *rules, char *line)
{
    apr_array_header_t *faults = apr_array_make(ptemp, 2, sizeof(const char *));
    apr_size_t length = strlen(line);
    int good;

    while (length && apr_isspace(line[length - 1]))
        line[--length] = '\0';
    while (apr_isspace(*line))
        line++;
    if (!*line || *line == '#')
        return 1;
    good = magic_parse(ptemp, line, apr_array_push(rules), faults);
    for (int i = 0; i < faults->nelts; i++)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "%s", APR_ARRAY_IDX(faults, i, const char *));
    return good;
}

/* 0: the file cannot be read, or has a wrong line; the others count all the same. */
static int magic_read_file(server_rec *s, apr_pool_t *p, apr_pool_t *ptemp, magic_conf *conf)
{
    const char *path = ap_server_root_relative(ptemp, conf->file);
    char line[MAGIC_LINE];
    apr_file_t *file;
    apr_status_t rv;
    int good = 1;

    if (!path) {
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_EBADPATH, s,
                     APLOGNO(01514) "mod_mime_magic: Invalid magic file path %s", conf->file);
        return 0;
    }
    rv = apr_file_open(&file, path, APR_READ | APR_BUFFERED, APR_OS_DEFAULT, ptemp);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     APLOGNO(01515) "mod_mime_magic: can't read magic file %s", path);
        return 0;
    }
    conf->rules = apr_array_make(p, 64, sizeof(magic_rule));
    while (apr_file_gets(line, sizeof line, file) == APR_SUCCESS)
        good &= magic_add_line(s, ptemp, conf->rules, line);
    apr_file_close(file);
    return good;
}

static int magic_read_of(server_rec *s, apr_pool_t *p, apr_pool_t *ptemp)
{
    magic_conf *conf = ap_get_module_config(s->module_config, &mime_magic_module);

    return !conf->file || conf->rules || magic_read_file(s, p, ptemp, conf);
}

/* As with Apache, the first file with a mistake is the last that is read, and the last virtual host comes first. */
static int magic_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_array_header_t *hosts = apr_array_make(ptemp, 8, sizeof(server_rec *));

    (void)plog;
    if (!magic_read_of(s, p, ptemp))
        return OK;
    for (s = s->next; s; s = s->next)
        APR_ARRAY_PUSH(hosts, server_rec *) = s;
    while (hosts->nelts > 0 && magic_read_of(*(server_rec **)apr_array_pop(hosts), p, ptemp))
        ;
    return OK;
}

/* ---- A request ---------------------------------------------------------------------------------------- */

/* By its first bytes, of which compressed ones are looked into. */
static int magic_by_bytes(request_rec *r, const magic_conf *conf, const unsigned char *bytes,
                          apr_size_t size, magic_result *result)
{
    int found = magic_match(conf->rules, bytes, size, result) || magic_guess(bytes, size, result);

    for (int i = 0; i < result->pointless; i++)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01538) "mod_mime_magic: invalid type 0 in mconvert().");
    for (int i = 0; i < result->odd; i++)
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, APLOGNO(01539) "mod_mime_magic: BOINK");
    return found;
}

/* A compressed file: its encoding, and the type of its content, of which the last byte does not
 * count. */
static int magic_by_content(request_rec *r, const magic_conf *conf, const unsigned char *in,
                            apr_size_t size, magic_result *result)
{
    unsigned char *out = apr_palloc(r->pool, MAGIC_BYTES);
    apr_size_t length = magic_unpack(r->pool, in, size, out);

    if (!length) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, APR_EOF, r,
                      APLOGNO(01554) "mod_mime_magic: read failed from uncompress of %s",
                      r->filename);
        return 0;
    }
    r->content_encoding = magic_encoding(in, size);
    out[length - 1] = '\0';
    return magic_by_bytes(r, conf, out, length, result);
}

/* OK: something may be in *result. */
static int magic_by_file(request_rec *r, const magic_conf *conf, magic_result *result)
{
    unsigned char *bytes = apr_palloc(r->pool, MAGIC_READ + 1);
    apr_size_t size = 0, seen;
    apr_file_t *file;
    apr_status_t rv = apr_file_open(&file, r->filename, APR_READ, APR_OS_DEFAULT, r->pool);

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01512) "mod_mime_magic: can't read `%s'", r->filename);
        return DECLINED;
    }
    rv = apr_file_read_full(file, bytes, MAGIC_READ, &size);
    apr_file_close(file);
    if (rv != APR_SUCCESS && !APR_STATUS_IS_EOF(rv)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r,
                      APLOGNO(01513) "mod_mime_magic: read failed: %s", r->filename);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!size) {
        magic_put(result, "text/plain");
        return OK;
    }
    if (magic_encoding(bytes, size))
        return magic_by_content(r, conf, bytes, size, result) ? OK : DECLINED;
    seen = size < MAGIC_BYTES ? size : MAGIC_BYTES;
    bytes[seen] = '\0';
    return magic_by_bytes(r, conf, bytes, seen + 1, result) ? OK : DECLINED;
}

/* By the kind of the file. */
static int magic_by_kind(request_rec *r, const magic_conf *conf, magic_result *result)
{
    switch (r->finfo.filetype) {
    case APR_REG:
        if (r->finfo.size)
            return magic_by_file(r, conf, result);
        magic_put(result, "text/plain");
        return OK;
    case APR_DIR:
        magic_put(result, DIR_MAGIC_TYPE);
        return OK;
    case APR_CHR:
    case APR_BLK:
    case APR_PIPE:
    case APR_SOCK:
        magic_put(result, "application/octet-stream");
        return OK;
    case APR_LNK: /* the walks follow links, so it leads nowhere */
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01527) "mod_mime_magic: broken symlink (%s)", r->filename);
        return HTTP_INTERNAL_SERVER_ERROR;
    default:
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(01528) "mod_mime_magic: invalid file type %d.", r->finfo.filetype);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
}

/* A name of a revision, "page.html@7", has the type of the name without it. 1: so it is. */
static int magic_by_revision(request_rec *r)
{
    apr_size_t length = strlen(r->filename), end = length;
    request_rec *sub;
    int found;

    while (end && apr_isdigit(r->filename[end - 1]))
        end--;
    if (end == length || !end || r->filename[end - 1] != '@')
        return 0;
    sub = ap_sub_req_lookup_file(apr_pstrmemdup(r->pool, r->filename, end - 1), r, NULL);
    found = sub->content_type != NULL;
    if (found) {
        ap_set_content_type_ex(r, apr_pstrdup(r->pool, sub->content_type), 1);
        if (sub->content_encoding)
            r->content_encoding = apr_pstrdup(r->pool, sub->content_encoding);
        if (sub->content_languages)
            r->content_languages = apr_array_copy(r->pool, sub->content_languages);
    }
    ap_destroy_sub_req(sub);
    return found;
}

static int magic_find_type(request_rec *r)
{
    const magic_conf *conf;
    magic_result result; /* large: cleared only where it is used */
    magic_said said;
    int rv;

    if (r->finfo.filetype == APR_NOFILE || !r->filename || r->content_type)
        return DECLINED;
    conf = ap_get_module_config(r->server->module_config, &mime_magic_module);
    if (!conf->rules)
        return DECLINED;
    if (magic_by_revision(r))
        return DECLINED;
    magic_begin(&result);
    rv = magic_by_kind(r, conf, &result);
    if (rv != OK)
        return rv;
    if (!magic_say(r->pool, result.text, &said))
        return DECLINED;
    ap_set_content_type_ex(r, said.type, 1);
    if (said.encoding)
        r->content_encoding = said.encoding;
    return OK;
}

static const command_rec magic_commands[] = {
    AP_INIT_TAKE1("MimeMagicFile", magic_set_file, NULL, RSRC_CONF,
                  "Path to MIME Magic file (in file(1) format)"),
    {.name = NULL},
};

/* Behind mod_mime, which knows by the name alone. */
static void magic_register_hooks(apr_pool_t *p)
{
    static const char *const before[] = {"mod_mime.c", NULL};

    (void)p;
    ap_hook_post_config(magic_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_type_checker(magic_find_type, before, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&mime_magic_module, NULL);
    brg_hooks_need_directive(&mime_magic_module, "type_checker", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&mime_magic_module);
}

module AP_MODULE_DECLARE_DATA mime_magic_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, magic_create, magic_merge, magic_commands,
    magic_register_hooks,    0,
};
