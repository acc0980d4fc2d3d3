/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of directives that are whole numbers. */
#include "core_settings.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <errno.h>

const char *core_number(const cmd_parms *cmd, const char *arg, apr_int64_t min, apr_int64_t max,
                        apr_int64_t *value)
{
    char *end;

    BRG_ASSERT(min <= max);
    errno = 0;
    *value = apr_strtoi64(arg, &end, 10);
    if (errno || end == arg || *end || *value < min || *value > max)
        return apr_psprintf(cmd->pool,
                            "%s: parameter must be a number between %" APR_INT64_T_FMT
                            " and %" APR_INT64_T_FMT ": %s",
                            cmd->cmd->name, min, max, arg);
    return NULL;
}
