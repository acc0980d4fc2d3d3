/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directives of mod_alias. Each of Alias, ScriptAlias and Redirect has two forms: with a URL
 * path, where the target is literal, and without one inside <Location>, where the target is an
 * expression.
 */
#include "alias_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"

#include <stdlib.h>

APLOG_USE_MODULE(alias);

/* cmd->info of ScriptAlias and ScriptAliasMatch */
static const char alias_script_handler[] = "cgi-script";

static alias_server_conf *alias_conf_of(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &alias_module);
}

static apr_array_header_t *alias_list(cmd_parms *cmd, apr_array_header_t **list)
{
    if (*list == NULL)
        *list = apr_array_make(cmd->pool, 8, sizeof(alias_entry));
    return *list;
}

static const char *alias_path_of_section(const cmd_parms *cmd)
{
    const char *name =
        cmd->directive && cmd->directive->parent ? cmd->directive->parent->directive : NULL;

    return name && strcasecmp(name, "<Location") == 0 ? cmd->path : NULL;
}

static const char *alias_parse_expr(cmd_parms *cmd, const char *what, const char *text,
                                    ap_expr_info_t **expr)
{
    const char *error = NULL;

    *expr = ap_expr_parse_cmd(cmd, text, AP_EXPR_FLAG_STRING_RESULT, &error, NULL);
    return error ? apr_pstrcat(cmd->pool, "Cannot parse ", what, " expression '", text,
                               "': ", error, NULL)
                 : NULL;
}

/* An entry that an earlier one hides is surely a mistake, but Apache starts with it. */
static void alias_warn_overlap(cmd_parms *cmd, const apr_array_header_t *aliases,
                               const alias_entry *entry)
{
    const alias_entry *earlier = (const alias_entry *)aliases->elts;
    int i;

    for (i = 0; i < aliases->nelts - 1; i++) {
        if (earlier[i].regex ? ap_regexec(earlier[i].regex, entry->fake, 0, NULL, 0) == 0
                             : alias_match(entry->fake, earlier[i].fake) > 0) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                         APLOGNO(00671) "The %s directive in %s at line %d will probably never "
                                        "match because it overlaps an earlier %sAlias%s.",
                         cmd->cmd->name, cmd->directive->filename, cmd->directive->line_num,
                         earlier[i].handler ? "Script" : "", earlier[i].regex ? "Match" : "");
            return;
        }
    }
}

static const char *alias_add(cmd_parms *cmd, const char *fake, const char *real, int is_pattern)
{
    alias_server_conf *conf = alias_conf_of(cmd);
    const char *error = ap_check_cmd_context(cmd, NOT_IN_DIR_CONTEXT);
    ap_regex_t *regex = NULL;
    alias_entry *entry;

    if (error)
        return error;
    if (is_pattern && (regex = ap_pregcomp(cmd->pool, fake, AP_REG_EXTENDED)) == NULL)
        return "Regular expression could not be compiled.";
    entry = apr_array_push(alias_list(cmd, &conf->aliases));
    entry->fake = fake;
    entry->real = real;
    entry->regex = regex;
    entry->handler = cmd->info;
    entry->status = 0;
    entry->line = cmd->directive;
    if (!is_pattern)
        alias_warn_overlap(cmd, conf->aliases, entry);
    return NULL;
}

static const char *alias_set_alias(cmd_parms *cmd, void *mconfig, const char *fake,
                                   const char *real)
{
    alias_dir_conf *conf = mconfig;
    const char *error;

    if (real)
        return alias_add(cmd, fake, real, 0);
    if (cmd->path == NULL)
        return "Alias must have two arguments when used globally";
    if ((error = ap_check_cmd_context(cmd, NOT_IN_DIRECTORY | NOT_IN_FILES)) != NULL)
        return error;
    conf->alias_set = 1;
    conf->alias_fake = alias_path_of_section(cmd);
    conf->handler = cmd->info;
    return alias_parse_expr(cmd, "alias", fake, &conf->alias);
}

static const char *alias_set_alias_match(cmd_parms *cmd, void *mconfig, const char *fake,
                                         const char *real)
{
    return alias_add(cmd, fake, real, 1);
}

typedef struct alias_redirect_args {
    int status;
    int is_section_form; /**< no path of its own: for all of the section */
    const char *from;
    const char *to; /**< NULL: none */
} alias_redirect_args;

/* A redirect's status by name or number. */
static int alias_parse_status(const char *word, int *status)
{
    static const struct {
        const char *name;
        int status;
    } names[] = {
        {"permanent", HTTP_MOVED_PERMANENTLY},
        {"temp", HTTP_MOVED_TEMPORARILY},
        {"seeother", HTTP_SEE_OTHER},
        {"gone", HTTP_GONE},
    };
    apr_size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(word, names[i].name) == 0) {
            *status = names[i].status;
            return 1;
        }
    }
    if (apr_isdigit(*word)) {
        *status = atoi(word);
        return 1;
    }
    return 0;
}

/* Two words: "STATUS URL" in a section, "STATUS PATH" for a status without URL, or "PATH URL". */
static void alias_sort_two(const cmd_parms *cmd, const char *first, const char *second,
                           int has_status, alias_redirect_args *out)
{
    if (!has_status) {
        out->from = first;
        out->to = second;
    } else if (cmd->path && ap_is_HTTP_REDIRECT(out->status)) {
        out->is_section_form = 1;
        out->to = second;
    } else {
        out->from = second;
    }
}

/* Which word is the status, which the path, which the URL? */
static const char *alias_sort_redirect(const cmd_parms *cmd, const char *first, const char *second,
                                       const char *third, alias_redirect_args *out)
{
    int has_status = alias_parse_status(first, &out->status);

    if (third) {
        if (!has_status)
            return "Redirect: invalid first argument (of three)";
        out->from = second;
        out->to = third;
    } else if (second) {
        alias_sort_two(cmd, first, second, has_status, out);
    } else {
        if (cmd->path == NULL && (!has_status || ap_is_HTTP_REDIRECT(out->status)))
            return "URL to redirect to is missing";
        out->is_section_form = 1;
        out->to = has_status ? NULL : first;
    }
    return NULL;
}

static const char *alias_add_section_redirect(cmd_parms *cmd, alias_dir_conf *conf,
                                              const alias_redirect_args *args)
{
    conf->redirect_set = 1;
    conf->redirect_status = args->status;
    conf->redirect = NULL;
    return args->to ? alias_parse_expr(cmd, "redirect", args->to, &conf->redirect) : NULL;
}

static const char *alias_add_redirect(cmd_parms *cmd, alias_dir_conf *conf,
                                      const alias_redirect_args *args, int is_pattern)
{
    alias_entry entry = {0};
    apr_array_header_t **list = cmd->path ? &conf->redirects : &alias_conf_of(cmd)->redirects;

    if (is_pattern) {
        entry.regex = ap_pregcomp(cmd->pool, args->from, AP_REG_EXTENDED);
        if (entry.regex == NULL)
            return "Regular expression could not be compiled.";
    }
    if (!is_pattern && args->to && *args->to != '/' && !ap_is_url(args->to))
        return "Redirect to non-URL";
    entry.fake = args->from;
    entry.real = args->to ? args->to : "";
    entry.status = args->status;
    entry.line = cmd->directive;
    APR_ARRAY_PUSH(alias_list(cmd, list), alias_entry) = entry;
    return NULL;
}

static const char *alias_finish_redirect(cmd_parms *cmd, alias_dir_conf *conf,
                                         const alias_redirect_args *args, int is_pattern)
{
    if (ap_is_HTTP_REDIRECT(args->status) && args->to == NULL)
        return "URL to redirect to is missing";
    if (!ap_is_HTTP_REDIRECT(args->status) && args->to)
        return "Redirect URL not valid for this status";
    return args->is_section_form ? alias_add_section_redirect(cmd, conf, args)
                                 : alias_add_redirect(cmd, conf, args, is_pattern);
}

static const char *alias_set_redirect_form(cmd_parms *cmd, void *mconfig, int is_pattern,
                                           const char *first, const char *second, const char *third)
{
    alias_redirect_args args = {HTTP_MOVED_TEMPORARILY, 0, NULL, NULL};
    const char *error = alias_sort_redirect(cmd, first, second, third, &args);

    return error ? error : alias_finish_redirect(cmd, mconfig, &args, is_pattern);
}

static const char *alias_set_redirect(cmd_parms *cmd, void *mconfig, const char *first,
                                      const char *second, const char *third)
{
    return alias_set_redirect_form(cmd, mconfig, 0, first, second, third);
}

static const char *alias_set_redirect_match(cmd_parms *cmd, void *mconfig, const char *first,
                                            const char *second, const char *third)
{
    return alias_set_redirect_form(cmd, mconfig, 1, first, second, third);
}

/* RedirectTemp and RedirectPermanent: cmd->info points to the status. */
static const char *alias_set_redirect_fixed(cmd_parms *cmd, void *mconfig, const char *from,
                                            const char *to)
{
    alias_redirect_args args = {*(const int *)cmd->info, 0, from, to};

    return alias_finish_redirect(cmd, mconfig, &args, 0);
}

static const char *alias_set_relative(cmd_parms *cmd, void *mconfig, int on)
{
    ((alias_dir_conf *)mconfig)->redirect_relative = on ? ALIAS_ON : ALIAS_OFF;
    return NULL;
}

static const char *alias_set_preserve_path(cmd_parms *cmd, void *mconfig, int on)
{
    ((alias_dir_conf *)mconfig)->preserve_path = on ? ALIAS_ON : ALIAS_OFF;
    return NULL;
}

static const int alias_temporary = HTTP_MOVED_TEMPORARILY;
static const int alias_permanent = HTTP_MOVED_PERMANENTLY;

const command_rec alias_commands[] = {
    AP_INIT_TAKE12("Alias", alias_set_alias, NULL, RSRC_CONF | ACCESS_CONF,
                   "a fakename and a realname, or a realname in a Location"),
    AP_INIT_TAKE12("ScriptAlias", alias_set_alias, (void *)alias_script_handler,
                   RSRC_CONF | ACCESS_CONF,
                   "a fakename and a realname, or a realname in a Location"),
    AP_INIT_TAKE123("Redirect", alias_set_redirect, NULL, OR_FILEINFO,
                    "an optional status, then document to be redirected and destination URL"),
    AP_INIT_TAKE2("AliasMatch", alias_set_alias_match, NULL, RSRC_CONF,
                  "a regular expression and a filename"),
    AP_INIT_TAKE2("ScriptAliasMatch", alias_set_alias_match, (void *)alias_script_handler,
                  RSRC_CONF, "a regular expression and a filename"),
    AP_INIT_TAKE23("RedirectMatch", alias_set_redirect_match, NULL, OR_FILEINFO,
                   "an optional status, then a regular expression and destination URL"),
    AP_INIT_TAKE2("RedirectTemp", alias_set_redirect_fixed, (void *)&alias_temporary, OR_FILEINFO,
                  "a document to be redirected, then the destination URL"),
    AP_INIT_TAKE2("RedirectPermanent", alias_set_redirect_fixed, (void *)&alias_permanent,
                  OR_FILEINFO, "a document to be redirected, then the destination URL"),
    AP_INIT_FLAG("RedirectRelative", alias_set_relative, NULL, OR_FILEINFO,
                 "Set to ON to allow relative redirect targets to be issued as-is"),
    AP_INIT_FLAG("AliasPreservePath", alias_set_preserve_path, NULL, OR_FILEINFO,
                 "Set to ON to map the full path after the fakename to the realname."),
    {0},
};
