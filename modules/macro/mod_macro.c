/* SPDX-License-Identifier: Apache-2.0 */
/* mod_macro: <Macro>, Use and UndefMacro. Lines of a macro are read where a Use stands, with the values of its arguments. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_hash.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/response_cache.h"
#include "macro_private.h"
#include <string.h>

extern module macro_module;
APLOG_USE_MODULE(macro);

/* Definitions of one reading of the configuration, or of an .htaccess file. */
typedef struct macro_reading {
    /* of the configuration, whose macros an .htaccess file may use; NULL */
    const struct macro_reading *server;
    apr_pool_t *pool;   /* for the macros: as long as they may be used */
    apr_hash_t *macros; /* name: macro_definition, or macro_removed; NULL: none was ever defined */
    int ignore_empty, ignore_nesting;
} macro_reading;

static const macro_reading *macro_server; /* NULL: the configuration has none of our directives */
static const macro_definition macro_removed;

static apr_status_t macro_forget(void *server)
{
    if (macro_server == server)
        macro_server = NULL;
    return APR_SUCCESS;
}

static macro_reading *macro_new_reading(cmd_parms *cmd)
{
    const int running = ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_RUN_MPM;
    apr_pool_t *p = running ? cmd->temp_pool : cmd->pool;
    macro_reading *reading = apr_pcalloc(p, sizeof *reading);

    reading->pool = p;
    if (running && macro_server) {
        reading->server = macro_server;
        reading->ignore_empty = macro_server->ignore_empty;
        reading->ignore_nesting = macro_server->ignore_nesting;
    } else if (!running) {
        macro_server = reading;
        apr_pool_cleanup_register(p, reading, macro_forget, apr_pool_cleanup_null);
    }
    return reading;
}

static macro_reading *macro_this_reading(cmd_parms *cmd)
{
    static const char key[] = "brg-macros";
    void *data = NULL;

    apr_pool_userdata_get(&data, key, cmd->temp_pool);
    if (!data) {
        data = macro_new_reading(cmd);
        apr_pool_userdata_setn(data, key, NULL, cmd->temp_pool);
    }
    return data;
}

static int macro_any_defined(const macro_reading *reading)
{
    return reading->macros || (reading->server && reading->server->macros);
}

static const macro_definition *macro_find(const macro_reading *reading, const char *name)
{
    const macro_definition *macro =
        reading->macros ? apr_hash_get(reading->macros, name, APR_HASH_KEY_STRING) : NULL;

    if (!macro && reading->server)
        return macro_find(reading->server, name);
    return macro == &macro_removed ? NULL : macro;
}

static void macro_put(macro_reading *reading, const char *name, const macro_definition *macro)
{
    if (!reading->macros)
        reading->macros = apr_hash_make(reading->pool);
    apr_hash_set(reading->macros, name, APR_HASH_KEY_STRING, macro);
}

static const char *macro_name(apr_pool_t *p, const char **text)
{
    char *name = ap_getword_conf(p, text);

    ap_str_tolower(name);
    return name;
}

/* ---- <Macro> ---- */

static macro_definition *macro_begin(cmd_parms *cmd, macro_reading *reading, const char *name)
{
    macro_definition *macro = apr_pcalloc(reading->pool, sizeof *macro);
    const macro_definition *before = macro_find(reading, name);

    macro->where = apr_psprintf(reading->pool, "defined on line %d of \"%s\"",
                                cmd->config_file->line_number, cmd->config_file->name);
    macro->whole = apr_psprintf(reading->pool, "macro '%s' (%s)", name, macro->where);
    if (before)
        ap_log_error(
            APLOG_MARK, APLOG_WARNING, 0, NULL,
            APLOGNO(02802) "macro '%s' multiply defined: %s, redefined on line %d of \"%s\"", name,
            before->where, cmd->config_file->line_number, cmd->config_file->name);
    if (strchr("$%@", *name))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                     APLOGNO(02803) "%s better prefix a macro name with any of '%s'", macro->whole,
                     "$%@");
    return macro;
}

static const char *macro_section(cmd_parms *cmd, void *tree, const char *arg)
{
    macro_reading *reading = macro_this_reading(cmd);
    const char *end = ap_strrchr_c(arg, '>'), *text, *name, *error;
    macro_definition *macro;

    if (!end)
        return "<Macro> directive missing closing '>'";
    if (end == arg)
        return "<Macro macro definition: empty name";
    macro_warn_behind(cmd, APLOGNO(02801) "non blank chars found after <Macro closing '>'",
                      end + 1);
    text = apr_pstrmemdup(cmd->temp_pool, arg, (apr_size_t)(end - arg));
    name = macro_name(reading->pool, &text);
    if (!*name)
        return "<Macro macro definition: name not found";
    macro = macro_begin(cmd, reading, name);
    error = macro_set_arguments(cmd, reading->pool, macro, text);
    if (!error)
        error = macro_read_lines(cmd, reading->pool, macro, reading->ignore_nesting);
    if (error)
        return error;
    macro_put(reading, name, macro);
    return NULL;
}

/* ---- Use ---- */

static const char *macro_check_values(cmd_parms *cmd, const macro_reading *reading,
                                      const macro_definition *macro,
                                      const apr_array_header_t *values, const char *place)
{
    if (values->nelts != macro->arguments->nelts)
        return apr_psprintf(cmd->pool, "%s used with %d arguments instead of %d", macro->whole,
                            values->nelts, macro->arguments->nelts);
    if (reading->ignore_empty || macro->ignore_empty)
        return NULL;
    for (int i = 0; i < values->nelts; i++)
        if (!*APR_ARRAY_IDX(values, i, const char *))
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                         APLOGNO(02798) "%s: empty argument #%d", place, i + 1);
    return NULL;
}

/* The lines take the place of the directive; for messages they are a file that tells where they come from. */
static const char *macro_read(cmd_parms *cmd, ap_directive_t **tree, const char *place,
                              const apr_array_header_t *lines)
{
    ap_configfile_t *outer = cmd->config_file;
    const char *error;

    *tree = NULL;
    cmd->config_file = macro_open(cmd->temp_pool, place, lines);
    error = ap_build_config(cmd, cmd->pool, cmd->temp_pool, tree);
    ap_cfg_closefile(cmd->config_file);
    cmd->config_file = outer;
    return error;
}

static const char *macro_use(cmd_parms *cmd, void *tree, const char *arg)
{
    const macro_reading *reading = macro_this_reading(cmd);
    const char *text = arg, *name = macro_name(cmd->temp_pool, &text), *place, *error;
    const macro_definition *macro;
    apr_array_header_t *values, *lines;

    if (!macro_any_defined(reading))
        return "no macro defined before Use";
    if (!*name)
        return "no macro name specified with Use";
    macro = macro_find(reading, name);
    if (!macro)
        return apr_psprintf(cmd->pool, "macro '%s' undefined", name);
    if (ap_strstr_c(cmd->config_file->name,
                    apr_pstrcat(cmd->temp_pool, "macro '", name, "'", NULL)))
        return apr_psprintf(cmd->pool, "recursive use of macro '%s' is invalid", name);
    values = macro_words(cmd->temp_pool, text);
    place = apr_psprintf(cmd->pool, "%s used on line %d of \"%s\"", macro->whole,
                         cmd->config_file->line_number, cmd->config_file->name);
    error = macro_check_values(cmd, reading, macro, values, place);
    if (error)
        return error;
    error = macro_expand(cmd->temp_pool, macro, values, &lines);
    if (error)
        return apr_psprintf(cmd->pool, "%s error while substituting: %s", place, error);
    return macro_read(cmd, tree, place, lines);
}

/* ---- other directives ---- */

static const char *macro_undefine(cmd_parms *cmd, void *tree, const char *arg)
{
    macro_reading *reading = macro_this_reading(cmd);
    char *name = apr_pstrdup(reading->pool, arg);

    if (!macro_any_defined(reading))
        return "no macro defined before UndefMacro";
    ap_str_tolower(name);
    if (!macro_find(reading, name))
        return apr_psprintf(cmd->pool, "cannot remove undefined macro '%s'", name);
    macro_put(reading, name, &macro_removed);
    return NULL;
}

static const char *macro_ignore_empty(cmd_parms *cmd, void *tree, const char *arg)
{
    macro_this_reading(cmd)->ignore_empty = 1;
    return NULL;
}

static const char *macro_ignore_nesting(cmd_parms *cmd, void *tree, const char *arg)
{
    macro_this_reading(cmd)->ignore_nesting = 1;
    return NULL;
}

static const command_rec macro_commands[] = {
    AP_INIT_RAW_ARGS("<Macro", macro_section, NULL, EXEC_ON_READ | OR_ALL,
                     "name and arguments of a macro, whose lines follow"),
    AP_INIT_RAW_ARGS("Use", macro_use, NULL, EXEC_ON_READ | OR_ALL,
                     "name of a macro, and values for its arguments"),
    AP_INIT_TAKE1("UndefMacro", macro_undefine, NULL, EXEC_ON_READ | OR_ALL,
                  "Remove a macro definition."),
    AP_INIT_RAW_ARGS("MacroIgnoreEmptyArgs", macro_ignore_empty, NULL, EXEC_ON_READ | OR_ALL,
                     "no warning of empty arguments from here on"),
    AP_INIT_RAW_ARGS("MacroIgnoreBadNesting", macro_ignore_nesting, NULL, EXEC_ON_READ | OR_ALL,
                     "no warning of sections that are not in pairs in macros from here on"),
    {0},
};

static void macro_register_hooks(apr_pool_t *p)
{
    brg_cache_declare(&macro_module, NULL);
    brg_cache_leaves_query(&macro_module);
}

module AP_MODULE_DECLARE_DATA macro_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, macro_commands, macro_register_hooks, 0,
};
