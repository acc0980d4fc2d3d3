/* SPDX-License-Identifier: Apache-2.0 */
/* Passing over a section whose condition is false. Its text is not looked at, only counted: each
 * line whose first word begins with '<' opens or closes a section, and a closing line has to name
 * the section that was opened last. The last character of the word that closes is taken for the
 * '>', as in Apache. */
#include "httpd.h"
#include "http_config.h"
#include "apr_strings.h"
#include "configuration.h"

/* Name of the section that a line opens or closes, without brackets. NULL if it does neither. */
static const char *conf_section_name(apr_pool_t *p, const char *line, int *closes)
{
    char *name = ap_getword_conf(p, &line);
    apr_size_t len = strlen(name);

    if (*name != '<')
        return NULL;
    *closes = name[1] == '/';
    if (*closes || name[len - 1] == '>')
        name[len - 1] = '\0';
    return name + (*closes && len > 2) + 1;
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
