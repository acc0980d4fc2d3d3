/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the configuration whose directive belongs to a module of Apache that is not here. They
 * are gathered while the tree is walked, so that one run reports all of them. */
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"
#include "module_rows.h"
#include <string.h>

APLOG_USE_MODULE(core);

typedef struct conf_unsupported {
    const ap_directive_t *directive;
    const char *mod;
} conf_unsupported;

static apr_array_header_t *conf_unsupported_lines; /* in the generation's pool */
static int conf_unsupported_n;                     /* lines that were reported last */
static apr_array_header_t *conf_absent_modules;    /* symbols */

void conf_unsupported_reset(void)
{
    conf_unsupported_lines = NULL;
    conf_absent_modules = NULL;
}

void conf_unsupported_add(apr_pool_t *p, const ap_directive_t *d, const char *mod)
{
    conf_unsupported *line;

    BRG_ASSERT(d != NULL && mod != NULL);
    if (!conf_unsupported_lines)
        conf_unsupported_lines = apr_array_make(p, 8, sizeof *line);
    line = apr_array_push(conf_unsupported_lines);
    line->directive = d;
    line->mod = mod;
}

int conf_unsupported_report(int lenient)
{
    const apr_array_header_t *lines = conf_unsupported_lines;

    conf_unsupported_reset();
    BRG_ASSERT(!lines || lines->nelts > 0);
    for (int i = 0; lines && i < lines->nelts; i++) {
        const conf_unsupported *l = &APR_ARRAY_IDX(lines, i, conf_unsupported);
        const ap_directive_t *d = l->directive;
        const char *gt = d->directive[0] == '<' ? ">" : "";

        ap_log_error(APLOG_MARK, APLOG_STARTUP | (lenient ? APLOG_WARNING : APLOG_ERR), 0, NULL,
                     "%s:%d: unsupported: %s%s, offered by %s; %s", d->filename, d->line_num,
                     d->directive, gt, l->mod,
                     lenient ? "ignored (-D LENIENT)"
                             : "load it, remove the line, or start with -D LENIENT");
    }
    return conf_unsupported_n = lines ? lines->nelts : 0;
}

int conf_unsupported_last(void)
{
    return conf_unsupported_n;
}

/* ---- modules whose files are not there, for a check that goes on without them ---- */

int conf_absent_add(cmd_parms *cmd, const char *symbol, const char *file)
{
    ap_directive_t *line;

    BRG_ASSERT(symbol != NULL && cmd->config_file != NULL);
    if (!ap_exists_config_define(CONF_TAKEOVER_DEFINE))
        return 0;
    line = apr_pcalloc(cmd->pool, sizeof *line);
    line->directive = cmd->cmd->name;
    line->filename = apr_pstrdup(cmd->pool, cmd->config_file->name);
    line->line_num = (int)cmd->config_file->line_number;
    conf_unsupported_add(cmd->pool, line,
                         apr_pstrcat(cmd->pool, symbol, ": ", file, " is not there", NULL));
    if (!conf_absent_modules)
        conf_absent_modules = apr_array_make(cmd->pool, 4, sizeof(const char *));
    APR_ARRAY_PUSH(conf_absent_modules, const char *) = apr_pstrdup(cmd->pool, symbol);
    return 1;
}

/* The name of the source of a module that no row knows is most often made of its symbol. */
static int conf_absent_is(apr_pool_t *p, const char *symbol, const char *name)
{
    const module_row *row = module_row_of_symbol(symbol);
    const size_t len = strlen(symbol), end = sizeof "_module" - 1;

    if (!strcmp(symbol, name))
        return 1;
    if (row)
        return !strcmp(row->name, name);
    return len > end && !strcmp(symbol + len - end, "_module") &&
           !strcmp(apr_psprintf(p, "mod_%.*s.c", (int)(len - end), symbol), name);
}

int conf_absent_has(apr_pool_t *p, const char *name)
{
    for (int i = 0; conf_absent_modules && i < conf_absent_modules->nelts; i++)
        if (!name || conf_absent_is(p, APR_ARRAY_IDX(conf_absent_modules, i, const char *), name))
            return 1;
    return 0;
}
