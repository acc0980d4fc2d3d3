/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_vhost_alias: the folder of a site follows from its name or address.
 *
 * A format has %% (a percent sign), %p (the port) and %N.M: part N of the name, or with .M a part
 * of the letters of this part. 0 is the whole; 1 is the first, -1 the last; with '+' all from there
 * on (or up to there). A missing part is "_".
 */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/vhost_alias.h"
#include <string.h>

#define VALIAS_CGI "/cgi-bin/"
#define VALIAS_PATH_BYTES HUGE_STRING_LEN

extern module vhost_alias_module;
APLOG_USE_MODULE(vhost_alias);

typedef enum valias_mode { VALIAS_UNSET, VALIAS_NONE, VALIAS_NAME, VALIAS_IP } valias_mode;

typedef struct valias_map {
    valias_mode mode;
    const char *format;
} valias_map;

typedef struct valias_conf {
    valias_map documents, programs;
} valias_conf;

static void *valias_create(apr_pool_t *p, server_rec *s)
{
    return apr_pcalloc(p, sizeof(valias_conf));
}

static void *valias_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const valias_conf *base = base_conf, *add = add_conf;
    valias_conf *conf = apr_palloc(p, sizeof *conf);

    conf->documents = add->documents.mode == VALIAS_UNSET ? base->documents : add->documents;
    conf->programs = add->programs.mode == VALIAS_UNSET ? base->programs : add->programs;
    return conf;
}

/* ---- formats ---- */

/* A number with its sign and '+', as "-2+". @return behind it; NULL: not a number */
static const char *valias_skip_number(const char *s)
{
    s += *s == '-';
    if (!apr_isdigit(*s))
        return NULL;
    s++;
    return s + (*s == '+');
}

static int valias_is_format(const char *s)
{
    while ((s = strchr(s, '%')) != NULL) {
        s++;
        if (*s == 'p' || *s == '%') {
            s++;
            continue;
        }
        if (!(s = valias_skip_number(s)))
            return 0;
        if (*s == '.' && !(s = valias_skip_number(s + 1)))
            return 0;
    }
    return 1;
}

static const char *valias_set(cmd_parms *cmd, void *dummy, const char *format)
{
    valias_conf *conf = ap_get_module_config(cmd->server->module_config, &vhost_alias_module);
    valias_map *map = strstr(cmd->cmd->name, "Script") ? &conf->programs : &conf->documents;

    if (format[0] != '/') {
        if (ap_cstr_casecmp(format, "none") != 0)
            return "format string must be an absolute path, or 'none'";
        *map = (valias_map){VALIAS_NONE, NULL};
        return NULL;
    }
    if (!valias_is_format(format))
        return "syntax error in format string";
    map->mode = cmd->info ? VALIAS_IP : VALIAS_NAME;
    map->format = format;
    return NULL;
}

/* ---- paths ---- */

typedef struct valias_range {
    const char *begin, *end;
} valias_range;

typedef struct valias_number {
    int n; /* negative: from the end */
    int is_open;
} valias_number;

static valias_number valias_number_at(const char **format)
{
    const char *s = *format;
    const int sign = *s == '-' ? -1 : 1;
    valias_number found;

    s += *s == '-';
    BRG_ASSERT(apr_isdigit(*s));
    found.n = sign * (*s++ - '0');
    found.is_open = *s == '+';
    *format = s + found.is_open;
    return found;
}

/* Parts of a range that end at separators, or letters of it (separator 0). */
static int valias_parts(valias_range of, char separator)
{
    int n = 1;

    if (!separator)
        return (int)(of.end - of.begin);
    for (const char *c = of.begin; c < of.end; c++)
        n += *c == separator;
    return n;
}

/* Where part @a i begins, from 0. */
static const char *valias_part_at(valias_range of, char separator, int i)
{
    const char *c = of.begin;

    if (!separator)
        return c + i;
    while (i > 0)
        i -= *c++ == separator;
    return c;
}

/* @return 0: there is no such part */
static int valias_pick(valias_range of, char separator, valias_number number, valias_range *part)
{
    const int parts = valias_parts(of, separator);
    const int i = number.n > 0 ? number.n - 1 : parts + number.n;
    int first = i, last = i;

    *part = of;
    if (number.n == 0)
        return of.begin < of.end;
    if (i < 0 || i >= parts)
        return 0;
    if (number.is_open && number.n > 0)
        last = parts - 1;
    else if (number.is_open)
        first = 0;
    part->begin = valias_part_at(of, separator, first);
    part->end =
        last == parts - 1 ? of.end : valias_part_at(of, separator, last + 1) - (separator != 0);
    BRG_ASSERT(part->begin >= of.begin && part->end <= of.end);
    return part->begin < part->end;
}

typedef struct valias_path {
    apr_size_t len;
    char text[VALIAS_PATH_BYTES];
} valias_path;

static int valias_add(valias_path *path, const char *text, apr_size_t len)
{
    BRG_ASSERT(path->len < sizeof path->text);
    if (len >= sizeof path->text - path->len)
        return 0;
    memcpy(path->text + path->len, text, len);
    path->len += len;
    return 1;
}

/* Letters of a name become small. */
static int valias_add_part(valias_path *path, valias_range part)
{
    for (const char *c = part.begin; c < part.end; c++) {
        const char letter = (char)apr_tolower(*c);

        if (!valias_add(path, &letter, 1))
            return 0;
    }
    return 1;
}

static int valias_add_name(valias_path *path, const char **format, const char *name)
{
    const valias_range whole = {name, name + strlen(name)};
    valias_range part;
    int found = valias_pick(whole, '.', valias_number_at(format), &part);

    if (**format == '.') {
        valias_number letters;

        ++*format;
        letters = valias_number_at(format);
        found = found && valias_pick(part, '\0', letters, &part);
    }
    return found ? valias_add_part(path, part) : valias_add(path, "_", 1);
}

static int valias_expand(const char *name, int port, const char *format, valias_path *path)
{
    char digits[16];
    int fits = 1;

    while (*format && fits) {
        if (*format != '%') {
            fits = valias_add(path, format++, 1);
        } else if (*++format == '%') {
            fits = valias_add(path, format++, 1);
        } else if (*format == 'p') {
            format++;
            apr_snprintf(digits, sizeof digits, "%d", port);
            fits = valias_add(path, digits, strlen(digits));
        } else {
            fits = valias_add_name(path, &format, name);
        }
    }
    if (!fits)
        return 0;
    while (path->len && path->text[path->len - 1] == '/')
        path->len--;
    path->text[path->len] = '\0';
    return 1;
}

/* The port is looked for only where the format has it. */
static int valias_port(const request_rec *r, const char *format)
{
    return strstr(format, "%p") ? ap_get_server_port(r) : 0;
}

static int valias_map_to(request_rec *r, const valias_map *map, const char *rest, int is_program)
{
    valias_path path = {0};
    const char *name = map->mode == VALIAS_IP ? r->connection->local_ip : ap_get_server_name(r);
    const char *folder;

    BRG_ASSERT(map->format && (map->mode == VALIAS_IP || map->mode == VALIAS_NAME));
    if (!valias_expand(name, valias_port(r, map->format), map->format, &path)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      APLOGNO(10595) "VirtualDocumentRoot expansion too large");
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    folder = apr_pstrmemdup(r->pool, path.text, path.len);
    r->filename = apr_pstrcat(r->pool, folder, rest, NULL);
    r->canonical_filename = (char *)"";
    ap_set_context_info(r, is_program ? "/cgi-bin" : NULL, folder);
    if (!is_program)
        ap_set_document_root(r, folder);
    return OK;
}

static const char *brg_vhost_alias_folder(const server_rec *s, const char *format, const char *name,
                                          int port, apr_pool_t *p)
{
    const valias_conf *conf = ap_get_module_config(s->module_config, &vhost_alias_module);
    valias_path path = {0};

    if (!format && conf->documents.mode == VALIAS_NAME)
        format = conf->documents.format;
    return format && *format == '/' && valias_is_format(format) &&
                   valias_expand(name, port, format, &path)
               ? apr_pstrmemdup(p, path.text, path.len)
               : NULL;
}

static int valias_translate(request_rec *r)
{
    const valias_conf *conf = ap_get_module_config(r->server->module_config, &vhost_alias_module);

    if (conf->programs.format && !strncmp(r->uri, VALIAS_CGI, strlen(VALIAS_CGI))) {
        const int status = valias_map_to(r, &conf->programs, r->uri + strlen(VALIAS_CGI) - 1, 1);

        if (status == OK) {
            r->handler = "cgi-script";
            apr_table_setn(r->notes, "alias-forced-type", r->handler);
        }
        return status;
    }
    if (!conf->documents.format || r->uri[0] != '/')
        return DECLINED;
    return valias_map_to(r, &conf->documents, r->uri, 0);
}

/* Stored responses are not told apart by the connection's address, but by its name, except with
 * UseCanonicalName DNS. */
static int valias_depends(request_rec *r)
{
    const valias_conf *conf = ap_get_module_config(r->server->module_config, &vhost_alias_module);

    return conf->documents.mode == VALIAS_IP || conf->programs.mode == VALIAS_IP
               ? BRG_CACHE_VOLATILE
               : BRG_CACHE_STATIC;
}

static const char valias_by_address;

static const command_rec valias_commands[] = {
    AP_INIT_TAKE1("VirtualScriptAlias", valias_set, NULL, RSRC_CONF,
                  "how to create a ScriptAlias based on the host"),
    AP_INIT_TAKE1("VirtualDocumentRoot", valias_set, NULL, RSRC_CONF,
                  "how to create the DocumentRoot based on the host"),
    AP_INIT_TAKE1("VirtualScriptAliasIP", valias_set, (void *)&valias_by_address, RSRC_CONF,
                  "how to create a ScriptAlias based on the host"),
    AP_INIT_TAKE1("VirtualDocumentRootIP", valias_set, (void *)&valias_by_address, RSRC_CONF,
                  "how to create the DocumentRoot based on the host"),
    {0},
};

static void valias_register_hooks(apr_pool_t *p)
{
    static const char *const before_us[] = {"mod_alias.c", "mod_userdir.c", NULL};

    APR_REGISTER_OPTIONAL_FN(brg_vhost_alias_folder);
    ap_hook_translate_name(valias_translate, before_us, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&vhost_alias_module, valias_depends);
    brg_hooks_need_directive(&vhost_alias_module, "translate_name", NULL, BRG_HOOKS_BY_SERVER);
    brg_cache_leaves_query(&vhost_alias_module);
}

module AP_MODULE_DECLARE_DATA vhost_alias_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, valias_create, valias_merge, valias_commands,
    valias_register_hooks,   0,
};
