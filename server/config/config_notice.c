/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that are taken for compatibility and have no effect. They are gathered while a configuration is
 * walked, which may happen more than once for one start, so that each is told of once. */
#include "brigade/assert.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"

APLOG_USE_MODULE(core);

typedef struct conf_notice_row {
    const char *name, *why;
    int module_index;
} conf_notice_row;

static apr_array_header_t *conf_notice_rows; /* in the generation's pool */

void conf_notices_reset(void)
{
    conf_notice_rows = NULL;
}

void conf_notice_no_effect(const cmd_parms *cmd, int module_index, const char *why)
{
    conf_notice_row *row;

    BRG_ASSERT(why != NULL);
    if (conf_is_htaccess(cmd)) {
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, cmd->server, "%s has no effect here: %s",
                     cmd->cmd->name, why);
        return;
    }
    if (!conf_notice_rows)
        conf_notice_rows = apr_array_make(cmd->pool, 8, sizeof *row);
    for (int i = 0; i < conf_notice_rows->nelts; i++)
        if (!strcmp(APR_ARRAY_IDX(conf_notice_rows, i, conf_notice_row).name, cmd->cmd->name))
            return;
    row = apr_array_push(conf_notice_rows);
    row->name = cmd->cmd->name;
    row->why = why;
    row->module_index = module_index;
}

void conf_notices_write(void)
{
    const apr_array_header_t *rows = conf_notice_rows;

    conf_notices_reset();
    for (int i = 0; rows && i < rows->nelts; i++) {
        const conf_notice_row *row = &APR_ARRAY_IDX(rows, i, conf_notice_row);

        ap_log_error(__FILE__, __LINE__, row->module_index, APLOG_NOTICE | APLOG_STARTUP, 0, NULL,
                     "%s has no effect here: %s", row->name, row->why);
    }
}
