/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the configuration whose directive belongs to a module of Apache that is not here. They
 * are gathered while the tree is walked, so that one run reports all of them. */
#include "brigade/assert.h"
#include "http_config.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"

APLOG_USE_MODULE(core);

typedef struct conf_unsupported {
    const ap_directive_t *directive;
    const char *mod;
} conf_unsupported;

static apr_array_header_t *conf_unsupported_lines; /* in the generation's pool */
static int conf_unsupported_n;                     /* lines that were reported last */

void conf_unsupported_reset(void)
{
    conf_unsupported_lines = NULL;
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
