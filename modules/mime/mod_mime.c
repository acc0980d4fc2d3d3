/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_mime: metadata by a file's extensions.
 *
 * A name may have many extensions, in any order; each is looked up in the context's mappings and,
 * for the type, in the table of TypesConfig. For types and handlers the last one counts, languages
 * and encodings add up.
 */
#include "mime_private.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/explain.h"
#include "brigade/response_cache.h"
#include "brigade/assert.h"

#include <string.h>

APLOG_USE_MODULE(mime);

/* Extensions longer than this are copied to the request's pool to be looked up. */
#define MIME_EXTENSION_BUFFER 48

/* A line of TypesConfig. */
typedef struct mime_known {
    const char *type;
    int line_num;
} mime_known;

/* Extension -> mime_known. Written while the configuration is read. */
static apr_hash_t *mime_types;
static const char *mime_types_file; /* NULL: the table in the program */

/* mod_negotiation wants to know which parts of a name meant nothing. Written when the configuration
 * is read. */
static int mime_negotiates;

/* In place of a missing file: the content of the installation's. */
static const char mime_built_in[] = {
#include "mime_types.inc"
};

static void mime_take_line(apr_pool_t *p, const char *line, int line_num)
{
    mime_known *known;

    if (*line == '#')
        return;
    known = apr_palloc(p, sizeof *known);
    known->type = ap_getword_conf(p, &line);
    known->line_num = line_num;
    while (*line) {
        char *extension = ap_getword_conf(p, &line);

        ap_str_tolower(extension);
        apr_hash_set(mime_types, extension, APR_HASH_KEY_STRING, known);
    }
}

static void mime_read_types(apr_pool_t *p, ap_configfile_t *file)
{
    char line[MAX_STRING_LEN];

    while (ap_cfg_getline(line, sizeof(line), file) == APR_SUCCESS)
        mime_take_line(p, line, (int)file->line_number);
}

static void mime_take_built_in(apr_pool_t *p, apr_pool_t *ptemp)
{
    char *state, *text = apr_pstrmemdup(ptemp, mime_built_in, sizeof mime_built_in - 1);

    for (char *line = apr_strtok(text, "\n", &state); line; line = apr_strtok(NULL, "\n", &state))
        mime_take_line(p, line, 0);
}

static int mime_is_absent(apr_status_t status)
{
    return APR_STATUS_IS_ENOENT(status) || APR_STATUS_IS_ENOTDIR(status);
}

/* Without TypesConfig: the path of installations and packages, and Debian's for all programs. *file
 * is NULL if neither exists. */
static apr_status_t mime_open_default(ap_configfile_t **file, apr_pool_t *ptemp, const char **path)
{
    static const char *const places[] = {AP_TYPES_CONFIG_FILE, "mime.types", "/etc/mime.types"};
    apr_status_t status = APR_ENOENT;

    *file = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && mime_is_absent(status); i++) {
        *path = ap_server_root_relative(ptemp, places[i]);
        if (*path)
            status = ap_pcfg_openfile(file, ptemp, *path);
    }
    return mime_is_absent(status) ? APR_SUCCESS : status;
}

static apr_status_t mime_open(ap_configfile_t **file, apr_pool_t *ptemp, const server_rec *s,
                              const char **path)
{
    const char *given = ap_get_module_config(s->module_config, &mime_module);

    if (!given)
        return mime_open_default(file, ptemp, path);
    *path = ap_server_root_relative(ptemp, given);
    if (*path)
        return ap_pcfg_openfile(file, ptemp, *path);
    ap_log_error(APLOG_MARK, APLOG_ERR, APR_EBADPATH, s,
                 APLOGNO(01596) "Invalid mime types config path %s", given);
    return APR_EBADPATH;
}

static int mime_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    const char *path = NULL;
    ap_configfile_t *file;
    const apr_status_t status = mime_open(&file, ptemp, s, &path);

    if (status != APR_SUCCESS) {
        if (path)
            ap_log_error(APLOG_MARK, APLOG_ERR, status, s,
                         APLOGNO(01597) "could not open mime types config file %s.", path);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    mime_types = apr_hash_make(p);
    mime_types_file = file ? apr_pstrdup(p, path) : NULL;
    if (file) {
        mime_read_types(p, file);
        ap_cfg_closefile(file);
    } else {
        mime_take_built_in(p, ptemp);
    }
    mime_negotiates = ap_find_linked_module("mod_negotiation.c") != NULL;
    return OK;
}

/* Parts of a name that one request has room for. */
#define MIME_PARTS 16

typedef struct mime_part {
    const char *at;
    apr_size_t len;
} mime_part;

/* One request's findings. */
typedef struct mime_search {
    request_rec *r;
    const mime_conf *conf;
    const char *type, *charset;
    int found;   /**< a part has a meaning for negotiation */
    int n, room; /**< of unknown */
    /* parts without a meaning, in their order: own, or of the request's pool */
    mime_part *unknown;
    mime_part own[MIME_PARTS];
} mime_search;

static void mime_note_unknown(mime_search *search, const char *part, apr_size_t len)
{
    if (!mime_negotiates)
        return;
    if (search->n == search->room) {
        mime_part *more = apr_palloc(search->r->pool, 2 * (apr_size_t)search->room * sizeof *more);

        memcpy(more, search->unknown, (apr_size_t)search->n * sizeof *more);
        search->unknown = more;
        search->room *= 2;
    }
    search->unknown[search->n++] = (mime_part){part, len};
}

/* For negotiation: the parts as strings. Most files have no other than their first, or no part that is known. */
static void mime_tell_unknown(const mime_search *search)
{
    apr_pool_t *p = search->r->pool;
    apr_array_header_t *list = apr_array_make(p, search->n, sizeof(char *));
    apr_size_t size = 0;
    char *to;

    for (int i = 0; i < search->n; i++)
        size += search->unknown[i].len + 1;
    to = apr_palloc(p, size);
    for (int i = 0; i < search->n; i++) {
        APR_ARRAY_PUSH(list, const char *) = to;
        to = mempcpy(to, search->unknown[i].at, search->unknown[i].len);
        *to++ = '\0';
    }
    apr_table_setn(search->r->notes, "ap-mime-exceptions-list", (const char *)list);
}

static void mime_add_language(request_rec *r, const char *language)
{
    if (r->content_languages == NULL)
        r->content_languages = apr_array_make(r->pool, 2, sizeof(char *));
    APR_ARRAY_PUSH(r->content_languages, const char *) = language;
}

static void mime_add_encoding(request_rec *r, const char *encoding)
{
    r->content_encoding = r->content_encoding
                              ? apr_pstrcat(r->pool, r->content_encoding, ", ", encoding, NULL)
                              : encoding;
}

/* Handler and filters do not help to choose among variants, unless MultiviewsMatch says so. */
static int mime_apply_processing(request_rec *r, const mime_extension *extension, int multimatch)
{
    const char *name;
    int found = 0;

    if (extension->value[MIME_HANDLER] && r->proxyreq == PROXYREQ_NONE) {
        r->handler = extension->value[MIME_HANDLER];
        found |= multimatch & MIME_MATCH_HANDLERS;
    }
    if ((name = extension->value[MIME_INPUT_FILTERS]) != NULL) {
        for (; *name; name += strlen(name) + 1)
            ap_add_input_filter(name, NULL, r, r->connection);
        found |= multimatch & MIME_MATCH_FILTERS;
    }
    if ((name = extension->value[MIME_OUTPUT_FILTERS]) != NULL) {
        for (; *name; name += strlen(name) + 1)
            ap_add_output_filter(name, NULL, r, r->connection);
        found |= multimatch & MIME_MATCH_FILTERS;
    }
    return found;
}

static int mime_apply(mime_search *search, const mime_extension *extension)
{
    request_rec *r = search->r;
    int found = 0;

    if (extension->value[MIME_TYPE] && *extension->value[MIME_TYPE]) {
        search->type = extension->value[MIME_TYPE];
        found = 1;
    }
    if (extension->value[MIME_CHARSET]) {
        search->charset = extension->value[MIME_CHARSET];
        found = 1;
    }
    if (extension->value[MIME_LANGUAGE]) {
        mime_add_language(r, extension->value[MIME_LANGUAGE]);
        found = 1;
    }
    if (extension->value[MIME_ENCODING]) {
        mime_add_encoding(r, extension->value[MIME_ENCODING]);
        found = 1;
    }
    return mime_apply_processing(r, extension, search->conf->multimatch) || found;
}

/* brigade --explain: the lines about an extension. */
static void mime_explain_lines(const mime_search *search, const mime_extension *extension)
{
    static const char *const words[MIME_FIELDS] = {
        "type ", "coding ", "language ", "charset ", "handler ", "input filter ", "output filter "};

    for (int i = 0; i < MIME_FIELDS; i++)
        if (extension->value[i])
            BRG_EXPLAIN(search->r, extension->line[i],
                        *extension->value[i]
                            ? apr_pstrcat(search->r->pool, words[i], extension->value[i], NULL)
                            : "no type by this extension");
}

static void mime_explain_known(const mime_search *search, const mime_known *known, const char *key,
                               apr_size_t len)
{
    apr_pool_t *p = search->r->pool;
    const ap_directive_t line = {.filename =
                                     mime_types_file ? mime_types_file : "types in the program",
                                 .line_num = known->line_num,
                                 .directive = known->type,
                                 .args = ""};

    BRG_EXPLAIN(search->r, &line, apr_pstrcat(p, "type of .", apr_pstrmemdup(p, key, len), NULL));
}

static void mime_look_up(mime_search *search, const char *part, apr_size_t len)
{
    char buffer[MIME_EXTENSION_BUFFER];
    char *key = len < sizeof(buffer) ? buffer : apr_palloc(search->r->pool, len + 1);
    const mime_extension *extension = NULL;
    const mime_known *known;
    apr_size_t i;
    int found = 0;

    BRG_ASSERT(search && len > 0);
    for (i = 0; i < len; i++)
        key[i] = apr_tolower(part[i]);
    if (search->conf->extensions)
        extension = apr_hash_get(search->conf->extensions, key, len);
    if ((extension == NULL || extension->value[MIME_TYPE] == NULL) &&
        (known = apr_hash_get(mime_types, key, len)) != NULL) {
        search->type = known->type;
        found = 1;
        if (__builtin_expect(brg_explain != NULL, 0))
            mime_explain_known(search, known, key, len);
    }
    if (extension) {
        found |= mime_apply(search, extension);
        if (__builtin_expect(brg_explain != NULL, 0))
            mime_explain_lines(search, extension);
    }
    if (found || (search->conf->multimatch & MIME_MATCH_ANY))
        search->found = 1;
    else
        mime_note_unknown(search, part, len);
}

/* The name whose extensions count: *len characters of the result. */
static const char *mime_resource_name(request_rec *r, const mime_conf *conf, apr_size_t *len)
{
    const char *name = r->filename, *slash;

    if (conf->use_path_info == 1 && r->path_info && *r->path_info)
        name = apr_pstrcat(r->pool, r->filename, r->path_info, NULL);
    *len = strlen(name);
    if (r->proxyreq == PROXYREQ_REVERSE && apr_table_get(r->notes, "proxy-nocanon"))
        *len = strcspn(name, "?"); /* the target is as the client sent it, with its query */
    slash = memrchr(name, '/', *len);
    if (slash) {
        *len -= (apr_size_t)(slash + 1 - name);
        name = slash + 1;
    }
    return name;
}

static void mime_walk_name(mime_search *search, const char *name, apr_size_t len)
{
    const char *end = name + len, *part = name, *dot;

    while (part < end && *part == '.') /* dots in front make no extension */
        part++;
    dot = memchr(part, '.', (apr_size_t)(end - part));
    mime_note_unknown(search, name, (apr_size_t)((dot ? dot : end) - name));
    while (dot) {
        part = dot + 1;
        dot = memchr(part, '.', (apr_size_t)(end - part));
        if ((dot ? dot : end) > part)
            mime_look_up(search, part, (apr_size_t)((dot ? dot : end) - part));
    }
}

static void mime_begin(mime_search *search, request_rec *r, const mime_conf *conf)
{
    search->r = r;
    search->conf = conf;
    search->type = search->charset = NULL;
    search->found = search->n = 0;
    search->room = MIME_PARTS;
    search->unknown = search->own;
}

static int mime_find_type(request_rec *r)
{
    const mime_conf *conf;
    mime_search search;
    const char *name, *type;
    apr_size_t len;

    if (r->finfo.filetype == APR_DIR) {
        ap_set_content_type_ex(r, DIR_MAGIC_TYPE, 1);
        return OK;
    }
    if (r->filename == NULL)
        return DECLINED;
    conf = ap_get_module_config(r->per_dir_config, &mime_module);
    mime_begin(&search, r, conf);
    name = mime_resource_name(r, conf, &len);
    mime_walk_name(&search, name, len);
    if (search.found && mime_negotiates)
        mime_tell_unknown(&search);
    type = search.type ? search.type : r->content_type;
    if (type) {
        type = mime_content_type(r, type, search.charset);
        if (type != r->content_type)
            ap_set_content_type_ex(r, type, 1);
    }
    if (r->content_languages == NULL && conf->default_language)
        mime_add_language(r, conf->default_language);
    return r->content_type ? OK : DECLINED;
}

static void mime_register_hooks(apr_pool_t *p)
{
    ap_hook_post_config(mime_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_type_checker(mime_find_type, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&mime_module, NULL);
}

module AP_MODULE_DECLARE_DATA mime_module = {
    STANDARD20_MODULE_STUFF,
    mime_create_conf,
    mime_merge_conf,
    NULL,
    NULL,
    mime_commands,
    mime_register_hooks,
    0,
};
