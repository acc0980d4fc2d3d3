/* SPDX-License-Identifier: Apache-2.0 */
/* ErrorDocuments that are a path of the site whose file is not there. Only where it is certain: no line of the configuration and no
 * module can map the path to anything but a file below DocumentRoot. */
#include "core_doubts_private.h"
#include "core_private.h"
#include "apr_strings.h"
#include "http_request.h"

#define DOCUMENTS_HOSTS 64 /* virtual hosts, at most, that one line is looked at for */

/* Whoever has one of these lines maps paths in ways that are not followed here. */
static const char *const documents_mapping[] = {"RewriteRule",
                                                "RewriteMap",
                                                "ProxyPass",
                                                "ProxyPassMatch",
                                                "<Proxy",
                                                "SetHandler",
                                                "AddHandler",
                                                "Action",
                                                "FallbackResource",
                                                "AliasMatch",
                                                "ScriptAliasMatch",
                                                "UserDir",
                                                "VirtualDocumentRoot",
                                                "VirtualScriptAlias",
                                                "WSGIScriptAlias",
                                                "WSGIScriptAliasMatch",
                                                "CheckSpelling",
                                                "JkMount",
                                                "PerlHandler",
                                                "PassengerEnabled",
                                                "MultiviewsMatch",
                                                "Redirect",
                                                "RedirectMatch",
                                                "VirtualDocumentRootIP",
                                                "VirtualScriptAliasIP",
                                                "PrecompressedFiles",
                                                NULL};

/* Modules that take part in mapping and do nothing without such a line. */
static const char *const documents_modules[] = {
    "core.c",      "http_core.c",       "mod_alias.c",       "mod_rewrite.c",
    "mod_proxy.c", "mod_userdir.c",     "mod_vhost_alias.c", "mod_speling.c",
    "mod_dir.c",   "mod_negotiation.c", "mod_setenvif.c",    "mod_headers.c",
    NULL};

static int documents_is_of(const char *const *list, const char *name)
{
    while (*list && ap_cstr_casecmp(*list, name))
        list++;
    return *list != NULL;
}

static int documents_maps_otherwise(const ap_directive_t *tree)
{
    for (; tree; tree = tree->next) {
        if (ap_strcasestr(core_doubts_args(tree), "MultiViews") ||
            documents_is_of(documents_mapping, tree->directive))
            return 1;
        if (documents_maps_otherwise(tree->first_child))
            return 1;
    }
    return 0;
}

/* Names of the modules that may answer for a path. */
static int documents_modules_known(void)
{
    const apr_array_header_t *hooks = ap_hook_get_translate_name();

    for (int i = 0; hooks && i < hooks->nelts; i++)
        if (!documents_is_of(documents_modules,
                             APR_ARRAY_IDX(hooks, i, ap_LINK_translate_name_t).szName))
            return 0;
    return 1;
}

/* The paths of Alias and ScriptAlias: whatever begins like one may lie elsewhere. */
static int documents_is_aliased(apr_pool_t *p, const ap_directive_t *tree, const char *path)
{
    for (; tree; tree = tree->next) {
        const char *args = core_doubts_args(tree), *prefix;

        if (!ap_cstr_casecmp(tree->directive, "Alias") ||
            !ap_cstr_casecmp(tree->directive, "ScriptAlias")) {
            prefix = ap_getword_conf(p, &args);
            if (!*args || !strncasecmp(path, prefix, strlen(prefix)))
                return 1;
        }
        if (documents_is_aliased(p, tree->first_child, path))
            return 1;
    }
    return 0;
}

/* An access file in a folder above may map the path. */
static int documents_has_access_file(apr_pool_t *p, const core_server_config *conf,
                                     const char *path)
{
    char *folder = apr_pstrcat(p, conf->ap_document_root, path, NULL), *slash;
    apr_size_t root_len = strlen(conf->ap_document_root);
    apr_finfo_t info;

    while ((slash = strrchr(folder, '/')) != NULL && (apr_size_t)(slash - folder) >= root_len) {
        const char *names = conf->access_name ? conf->access_name : DEFAULT_ACCESS_FNAME;

        *slash = '\0';
        while (*names)
            if (apr_stat(&info, ap_make_full_path(p, folder, ap_getword_conf(p, &names)),
                         APR_FINFO_TYPE, p) == APR_SUCCESS)
                return 1;
    }
    return 0;
}

/* 1 if there is certainly no such file in the server. */
static int documents_lacks(apr_pool_t *p, server_rec *s, const char *path)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config);
    apr_finfo_t info;
    apr_status_t rv;

    if (!conf->ap_document_root || !ap_is_directory(p, conf->ap_document_root))
        return 0;
    rv = apr_stat(&info, apr_pstrcat(p, conf->ap_document_root, path, NULL), APR_FINFO_TYPE, p);
    return APR_STATUS_IS_ENOENT(rv) && !documents_has_access_file(p, conf, path);
}

/* A line outside of virtual hosts is for all of them. */
static int documents_all_lack(core_doubts *d, server_rec *s, const char *path)
{
    int n = 0;

    if (!documents_lacks(d->p, s, path))
        return 0;
    for (server_rec *v = s == d->main ? s->next : NULL; v; v = v->next)
        if (++n > DOCUMENTS_HOSTS || !documents_lacks(d->p, v, path))
            return 0;
    return 1;
}

static void documents_look(core_doubts *d, const ap_directive_t *node)
{
    const char *args = core_doubts_args(node), *status, *path;
    server_rec *s;

    if (ap_cstr_casecmp(node->directive, "ErrorDocument"))
        return;
    status = ap_getword_conf(d->p, &args);
    path = ap_getword_conf(d->p, &args);
    /* Text, URLs and variables are no files; nor are paths with a query or with escapes. */
    if (*path != '/' || strpbrk(path, " %?#") || documents_is_aliased(d->p, ap_conftree, path))
        return;
    s = core_doubts_server(d, node);
    if (documents_all_lack(d, s, path))
        core_doubts_say(d, node, "ErrorDocument %s: there is no %s below DocumentRoot", status,
                        path);
}

void core_doubts_documents(core_doubts *d)
{
    if (documents_modules_known() && !documents_maps_otherwise(ap_conftree))
        core_doubts_each(d, ap_conftree, documents_look);
}
