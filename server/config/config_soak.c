/* SPDX-License-Identifier: Apache-2.0 */
/* Passing over a section whose condition is false. Its text is not looked at, only counted: each
 * "<Name" opens, each "</Name>" has to close the one that was opened last. */
#include "httpd.h"
#include "http_config.h"
#include "apr_strings.h"
#include "configuration.h"

/* Name of the section that a line opens or closes, without brackets. NULL if it does neither. */
static const char *conf_section_name(apr_pool_t *p, const char *line, int *closes)
{
    const char *args = line;
    char *name;

    if (*line != '<')
        return NULL;
    name = ap_getword_conf(p, &args);
    *closes = name[1] == '/';
    name += *closes ? 2 : 1;
    name[strcspn(name, ">")] = '\0';
    return name;
}

AP_DECLARE(const char *) ap_soak_end_container(cmd_parms *cmd, char *directive)
{
    conf_line line = {cmd->temp_pool, NULL, 0, 0};
    apr_size_t max = conf_line_limit(cmd->pool, cmd->temp_pool);
    apr_array_header_t *open = apr_array_make(cmd->temp_pool, 4, sizeof(const char *));
    apr_status_t rv;

    APR_ARRAY_PUSH(open, const char *) = directive + 1;
    while ((rv = conf_read_line(&line, max, cmd->config_file)) == APR_SUCCESS) {
        const char *want = APR_ARRAY_IDX(open, open->nelts - 1, const char *);
        int closes;
        const char *name = conf_section_name(cmd->temp_pool, line.buf, &closes);

        if (!name)
            continue;
        if (!closes) {
            APR_ARRAY_PUSH(open, const char *) = name;
            continue;
        }
        if (ap_cstr_casecmp(name, want))
            return apr_pstrcat(cmd->pool, "Expected </", want, "> but saw </", name, ">", NULL);
        apr_array_pop(open);
        if (!open->nelts)
            return NULL;
    }
    if (!APR_STATUS_IS_EOF(rv))
        return ap_pcfg_strerror(cmd->temp_pool, cmd->config_file, rv);
    return apr_pstrcat(cmd->pool, "Expected </", APR_ARRAY_IDX(open, open->nelts - 1, const char *),
                       "> before end of configuration", NULL);
}
