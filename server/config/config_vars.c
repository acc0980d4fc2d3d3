/* SPDX-License-Identifier: Apache-2.0 */
/* Names given by -D and Define, for <IfDefine> and for ${NAME} in directives. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "apr_tables.h"
#include <stdlib.h>
#include "configuration.h"

APLOG_USE_MODULE(core);

AP_DECLARE_DATA apr_array_header_t *ap_server_pre_read_config = NULL;
AP_DECLARE_DATA apr_array_header_t *ap_server_post_read_config = NULL;
AP_DECLARE_DATA apr_array_header_t *ap_server_config_defines = NULL;

static apr_array_header_t *conf_command_line_defines;
static apr_table_t *conf_values; /* of Define NAME VALUE; NULL: none yet */

static apr_status_t conf_vars_forget(void *unused)
{
    ap_server_config_defines = conf_command_line_defines;
    conf_values = NULL;
    return APR_SUCCESS;
}

void conf_vars_reset(apr_pool_t *pconf)
{
    if (!conf_command_line_defines)
        conf_command_line_defines = ap_server_config_defines;
    conf_values = NULL;
    ap_server_config_defines = apr_array_copy(pconf, conf_command_line_defines);
    apr_pool_cleanup_register(pconf, NULL, conf_vars_forget, apr_pool_cleanup_null);
}

static int conf_define_index(const char *name)
{
    const apr_array_header_t *defines = ap_server_config_defines;

    for (int i = 0; defines && i < defines->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(defines, i, const char *), name))
            return i;
    return -1;
}

AP_DECLARE(int) ap_exists_config_define(const char *name)
{
    return conf_define_index(name) >= 0;
}

void conf_var_define(apr_pool_t *p, const char *name, const char *value)
{
    BRG_ASSERT(ap_server_config_defines != NULL);
    if (!ap_exists_config_define(name))
        APR_ARRAY_PUSH(ap_server_config_defines, const char *) = name;
    if (!value)
        return;
    if (!conf_values)
        conf_values = apr_table_make(p, 5);
    apr_table_setn(conf_values, name, value);
}

void conf_var_undefine(const char *name)
{
    apr_array_header_t *defines = ap_server_config_defines;
    int i = conf_define_index(name);

    if (i >= 0) {
        BRG_ASSERT(i < defines->nelts);
        for (; i + 1 < defines->nelts; i++)
            APR_ARRAY_IDX(defines, i, const char *) = APR_ARRAY_IDX(defines, i + 1, const char *);
        apr_array_pop(defines);
    }
    if (conf_values)
        apr_table_unset(conf_values, name);
}

/* As in Apache, values are found without regard to case, unlike the names that <IfDefine> asks for. */
const char *conf_var_get(const char *name)
{
    return conf_values ? apr_table_get(conf_values, name) : NULL;
}

void conf_vars_dump(apr_file_t *out)
{
    for (int i = 0; i < ap_server_config_defines->nelts; i++) {
        const char *name = APR_ARRAY_IDX(ap_server_config_defines, i, const char *);
        const char *value = conf_var_get(name);

        if (value)
            apr_file_printf(out, "Define: %s=%s\n", name, value);
        else
            apr_file_printf(out, "Define: %s\n", name);
    }
}

/* ---- ${NAME} ---- */

static const char *conf_var_value(apr_pool_t *p, const char *name)
{
    const char *value = conf_var_get(name);

    if (!value)
        value = getenv(name);
    /* A name with a colon is a map of mod_rewrite, which looks it up itself. */
    if (!value && !strchr(name, ':'))
        ap_log_perror(APLOG_MARK, APLOG_WARNING, 0, p,
                      APLOGNO(00111) "Config variable ${%s} is not defined", name);
    return value ? apr_pstrdup(p, value) : NULL;
}

AP_DECLARE(const char *) ap_resolve_env(apr_pool_t *p, const char *word)
{
    const char *from = word, *open;
    apr_array_header_t *parts;

    if (!strstr(word, "${"))
        return word;
    parts = apr_array_make(p, 8, sizeof(const char *));
    while ((open = strstr(from, "${")) != NULL) {
        const char *close = strchr(open, '}'), *value;

        if (!close)
            break;
        value = conf_var_value(p, apr_pstrmemdup(p, open + 2, (apr_size_t)(close - open - 2)));
        if (!value)
            value = apr_pstrmemdup(p, open, (apr_size_t)(close - open + 1));
        APR_ARRAY_PUSH(parts, const char *) = apr_pstrmemdup(p, from, (apr_size_t)(open - from));
        APR_ARRAY_PUSH(parts, const char *) = value;
        from = close + 1;
    }
    APR_ARRAY_PUSH(parts, const char *) = from;
    return apr_array_pstrcat(p, parts, 0);
}
