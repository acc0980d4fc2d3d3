/* SPDX-License-Identifier: Apache-2.0 */
/* The server around the filter: a configuration with the module in it, read as for a start, but
 * without sockets and logs. */
#include "filter_test.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "generation.h"
#include "filter_registry.h"
#include "main_parts.h"
#include "module_file.h"
#include <stdio.h>

/* Quoted as a configuration wants it. */
static const char *ft_quoted(apr_pool_t *p, const char *path)
{
    char *full;

    if (apr_filepath_merge(&full, NULL, path, APR_FILEPATH_TRUENAME, p) != APR_SUCCESS)
        ft_usage("%s: no such file", path);
    return apr_pstrcat(p, "\"", full, "\"", NULL);
}

/* LoadModule for all modules of the file; in place of those of the server that have the same name.
 */
static void ft_load(process_rec *process, const char *path)
{
    apr_pool_t *p = process->pool;
    module_file file;
    const char *error = module_file_read(&file, path, p);
    int version, minor, found = 0;
    unsigned long magic;

    if (error)
        ft_usage("%s %s", path, error);
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "BuiltinModules all";
    for (int i = 0; i < file.defined->nelts; i++) {
        const module_file_symbol *s = &APR_ARRAY_IDX(file.defined, i, module_file_symbol);

        if (!module_file_is_module(s, &magic, &version, &minor))
            continue;
        if (conf_builtin_find(s->name))
            APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) =
                apr_pstrcat(p, "BuiltinModule ", s->name, " Off", NULL);
        APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) =
            apr_pstrcat(p, "LoadModule ", s->name, " ", ft_quoted(p, path), NULL);
        found = 1;
    }
    if (!found)
        ft_usage("%s has no module structure (NAME_module)", path);
}

void ft_server_start(process_rec *process, ft_options *o)
{
    const char *error;

    conf_generation_init(process);
    if ((error = ap_setup_prelinked_modules(process)) != NULL)
        ft_usage("%s", error);
    if (strcmp(o->module, "builtin"))
        ft_load(process, o->module);
    conf_generation_source("/dev/null", main_default_root(process->pool));
    ap_run_mode = AP_SQ_RM_NORMAL;
    ap_main_state = AP_SQ_MS_CREATE_CONFIG;
    if (conf_generation_read(process, CONF_DEPTH_CHECK) != APR_SUCCESS)
        ft_usage("the configuration is not usable, see above");
    if (ap_run_post_config(process->pconf, conf_plog(), conf_ptemp(), ap_server_conf) != OK)
        ft_usage("a module refuses the configuration (post_config), see above");
    ap_run_optional_fn_retrieve();
    ap_main_state = AP_SQ_MS_RUN_MPM;
    ap_run_child_init(process->pconf, ap_server_conf);
}

static void ft_name_filter(void *found, const ap_filter_rec_t *frec, int is_input)
{
    fprintf(stderr, "  %s %s%s%s\n", is_input ? "input " : "output", frec->name,
            filter_owner(frec) ? "  of " : "", filter_owner(frec) ? filter_owner(frec) : "");
}

ap_filter_rec_t *ft_filter_find(const ft_options *o)
{
    ap_filter_rec_t *frec =
        o->input ? ap_get_input_filter_handle(o->filter) : ap_get_output_filter_handle(o->filter);

    if (frec)
        return frec;
    fprintf(stderr, "Filters that are registered:\n");
    filter_registry_each(ft_name_filter, NULL);
    ft_usage("there is no %s filter %s", o->input ? "input" : "output", o->filter);
}
