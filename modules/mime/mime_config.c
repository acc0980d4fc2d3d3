/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration of mod_mime: the Add* and Remove* directives and how contexts merge.
 *
 * Remove* takes effect when its context is merged over a broader one, after that context's own
 * Add*.
 */
#include "mime_private.h"
#include "http_core.h"
#include "apr_strings.h"

#include <stddef.h>
#include <string.h>

APLOG_USE_MODULE(mime);

void *mime_create_conf(apr_pool_t *p, char *dir)
{
    mime_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->multimatch = MIME_MATCH_UNSET;
    conf->use_path_info = MIME_PATH_INFO_UNSET;
    return conf;
}

static void *mime_overlay_extension(apr_pool_t *p, const void *key, apr_ssize_t len,
                                    const void *overlay_value, const void *base_value,
                                    const void *data)
{
    const mime_extension *overlay = overlay_value;
    mime_extension *merged = apr_pmemdup(p, base_value, sizeof(*merged));
    int i;

    for (i = 0; i < MIME_FIELDS; i++)
        if (overlay->value[i]) {
            merged->value[i] = overlay->value[i];
            merged->line[i] = overlay->line[i];
        }
    return merged;
}

static void mime_remove(apr_pool_t *p, const apr_array_header_t *removals, apr_hash_t *extensions)
{
    const mime_removal *removal = (const mime_removal *)removals->elts;
    int i;

    for (i = 0; i < removals->nelts; i++) {
        const mime_extension *known =
            apr_hash_get(extensions, removal[i].extension, APR_HASH_KEY_STRING);

        if (known && known->value[removal[i].field]) {
            mime_extension *copy = apr_pmemdup(p, known, sizeof(*copy));

            copy->value[removal[i].field] = NULL;
            apr_hash_set(extensions, removal[i].extension, APR_HASH_KEY_STRING, copy);
        }
    }
}

static apr_hash_t *mime_merge_extensions(apr_pool_t *p, const mime_conf *base, const mime_conf *add)
{
    apr_hash_t *merged;

    if (base->extensions && add->extensions) {
        merged = apr_hash_merge(p, add->extensions, base->extensions, mime_overlay_extension, NULL);
    } else {
        merged = add->extensions ? add->extensions : base->extensions;
        if (merged && add->removals)
            merged = apr_hash_copy(p, merged);
    }
    if (merged && add->removals)
        mime_remove(p, add->removals, merged);
    return merged;
}

void *mime_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const mime_conf *base = base_conf, *add = add_conf;
    mime_conf *conf = apr_palloc(p, sizeof(*conf));

    conf->extensions = mime_merge_extensions(p, base, add);
    conf->removals = NULL;
    conf->default_language = add->default_language ? add->default_language : base->default_language;
    conf->multimatch = add->multimatch & MIME_MATCH_UNSET ? base->multimatch : add->multimatch;
    conf->use_path_info =
        add->use_path_info == MIME_PATH_INFO_UNSET ? base->use_path_info : add->use_path_info;
    return conf;
}

static const char *mime_extension_key(cmd_parms *cmd, const char *word)
{
    char *key = apr_pstrdup(cmd->pool, word + (*word == '.'));

    ap_str_tolower(key);
    return key;
}

/* "A;B" as "A\0B\0\0". */
static const char *mime_pack_filters(apr_pool_t *p, const char *list)
{
    char *packed = apr_palloc(p, strlen(list) + 2), *to = packed;

    while (*list) {
        apr_size_t len = strcspn(list, ";");

        if (len > 0) {
            memcpy(to, list, len);
            to += len;
            *to++ = '\0';
        }
        list += len;
        list += *list == ';';
    }
    *to = '\0';
    return packed;
}

static const char *mime_value_for(apr_pool_t *p, mime_field field, const char *value)
{
    char *lower = apr_pstrdup(p, value);

    ap_str_tolower(lower);
    return field == MIME_INPUT_FILTERS || field == MIME_OUTPUT_FILTERS ? mime_pack_filters(p, lower)
                                                                       : lower;
}

static mime_field mime_field_of(const cmd_parms *cmd)
{
    return *(const mime_field *)cmd->info;
}

static mime_extension *mime_extension_for(cmd_parms *cmd, mime_conf *conf, const char *word)
{
    const char *key = mime_extension_key(cmd, word);
    mime_extension *extension = NULL;

    if (conf->extensions == NULL)
        conf->extensions = apr_hash_make(cmd->pool);
    else
        extension = apr_hash_get(conf->extensions, key, APR_HASH_KEY_STRING);
    if (extension == NULL) {
        extension = apr_pcalloc(cmd->pool, sizeof(*extension));
        apr_hash_set(conf->extensions, key, APR_HASH_KEY_STRING, extension);
    }
    return extension;
}

static const char *mime_add(cmd_parms *cmd, void *mconfig, const char *value, const char *word)
{
    mime_field field = mime_field_of(cmd);
    mime_extension *extension = mime_extension_for(cmd, mconfig, word);

    extension->value[field] = mime_value_for(cmd->pool, field, value);
    extension->line[field] = cmd->directive;
    return NULL;
}

/* Unlike the other removals this one also hides types of TypesConfig, and a later AddType ends it.
 */
static const char *mime_remove_type(cmd_parms *cmd, void *mconfig, const char *word)
{
    mime_extension *extension = mime_extension_for(cmd, mconfig, word);

    extension->value[MIME_TYPE] = "";
    extension->line[MIME_TYPE] = cmd->directive;
    return NULL;
}

static const char *mime_set_removal(cmd_parms *cmd, void *mconfig, const char *word)
{
    mime_conf *conf = mconfig;
    mime_removal *removal;

    if (conf->removals == NULL)
        conf->removals = apr_array_make(cmd->pool, 4, sizeof(*removal));
    removal = apr_array_push(conf->removals);
    removal->extension = mime_extension_key(cmd, word);
    removal->field = mime_field_of(cmd);
    return NULL;
}

static const char *mime_set_path_info(cmd_parms *cmd, void *mconfig, int on)
{
    ((mime_conf *)mconfig)->use_path_info = on ? 1 : 0;
    return NULL;
}

/* Add one option to those of the context, unless the two contradict each other. */
static const char *mime_set_multiviews(cmd_parms *cmd, void *mconfig, const char *option)
{
    static const struct {
        const char *name;
        int flag, excludes;
        const char *conflict;
    } options[] = {
        {"NegotiatedOnly", MIME_MATCH_NEGOTIATED, ~(MIME_MATCH_NEGOTIATED | MIME_MATCH_UNSET),
         "NegotiatedOnly is incompatible with Any, Filters and Handlers"},
        {"Any", MIME_MATCH_ANY, ~(MIME_MATCH_ANY | MIME_MATCH_UNSET),
         "Any is incompatible with NegotiatedOnly, Filters and Handlers"},
        {"Filters", MIME_MATCH_FILTERS, MIME_MATCH_NEGOTIATED | MIME_MATCH_ANY,
         "Filters is incompatible with Any and NegotiatedOnly"},
        {"Handlers", MIME_MATCH_HANDLERS, MIME_MATCH_NEGOTIATED | MIME_MATCH_ANY,
         "Handlers is incompatible with Any and NegotiatedOnly"},
    };
    mime_conf *conf = mconfig;
    const char *error = ap_check_cmd_context(cmd, NOT_IN_LOCATION);
    apr_size_t i;

    if (error)
        return error;
    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcasecmp(option, options[i].name) == 0) {
            if (conf->multimatch & options[i].excludes)
                return options[i].conflict;
            conf->multimatch = (conf->multimatch & ~MIME_MATCH_UNSET) | options[i].flag;
            return NULL;
        }
    }
    return apr_psprintf(cmd->pool, "Unrecognized option '%s'", option);
}

static const char *mime_set_types_file(cmd_parms *cmd, void *mconfig, const char *path)
{
    ap_set_module_config(cmd->server->module_config, &mime_module, (void *)path);
    return NULL;
}

static const mime_field mime_info_type = MIME_TYPE, mime_info_encoding = MIME_ENCODING,
                        mime_info_language = MIME_LANGUAGE, mime_info_charset = MIME_CHARSET,
                        mime_info_handler = MIME_HANDLER, mime_info_input = MIME_INPUT_FILTERS,
                        mime_info_output = MIME_OUTPUT_FILTERS;

const command_rec mime_commands[] = {
    AP_INIT_ITERATE2("AddCharset", mime_add, (void *)&mime_info_charset, OR_FILEINFO,
                     "a charset (e.g., iso-2022-jp), followed by one or more file extensions"),
    AP_INIT_ITERATE2("AddEncoding", mime_add, (void *)&mime_info_encoding, OR_FILEINFO,
                     "an encoding (e.g., gzip), followed by one or more file extensions"),
    AP_INIT_ITERATE2("AddHandler", mime_add, (void *)&mime_info_handler, OR_FILEINFO,
                     "a handler name followed by one or more file extensions"),
    AP_INIT_ITERATE2("AddInputFilter", mime_add, (void *)&mime_info_input, OR_FILEINFO,
                     "input filter name (or ; delimited names) followed by one or more file "
                     "extensions"),
    AP_INIT_ITERATE2("AddLanguage", mime_add, (void *)&mime_info_language, OR_FILEINFO,
                     "a language (e.g., fr), followed by one or more file extensions"),
    AP_INIT_ITERATE2("AddOutputFilter", mime_add, (void *)&mime_info_output, OR_FILEINFO,
                     "output filter name (or ; delimited names) followed by one or more file "
                     "extensions"),
    AP_INIT_ITERATE2("AddType", mime_add, (void *)&mime_info_type, OR_FILEINFO,
                     "a mime type followed by one or more file extensions"),
    AP_INIT_TAKE1("DefaultLanguage", ap_set_string_slot,
                  (void *)offsetof(mime_conf, default_language), OR_FILEINFO,
                  "language to use for documents with no other language file extension"),
    AP_INIT_ITERATE("MultiviewsMatch", mime_set_multiviews, NULL, OR_FILEINFO,
                    "NegotiatedOnly (default), Handlers and/or Filters, or Any"),
    AP_INIT_ITERATE("RemoveCharset", mime_set_removal, (void *)&mime_info_charset, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_ITERATE("RemoveEncoding", mime_set_removal, (void *)&mime_info_encoding, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_ITERATE("RemoveHandler", mime_set_removal, (void *)&mime_info_handler, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_ITERATE("RemoveInputFilter", mime_set_removal, (void *)&mime_info_input, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_ITERATE("RemoveLanguage", mime_set_removal, (void *)&mime_info_language, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_ITERATE("RemoveOutputFilter", mime_set_removal, (void *)&mime_info_output, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_ITERATE("RemoveType", mime_remove_type, NULL, OR_FILEINFO,
                    "one or more file extensions"),
    AP_INIT_TAKE1("TypesConfig", mime_set_types_file, NULL, RSRC_CONF,
                  "the MIME types config file"),
    AP_INIT_FLAG("ModMimeUsePathInfo", mime_set_path_info, NULL, ACCESS_CONF,
                 "Set to 'yes' to allow mod_mime to use path info for type checking"),
    {0},
};
