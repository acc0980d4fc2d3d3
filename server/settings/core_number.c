/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of directives that are whole numbers. */
#include "core_settings.h"
#include "brigade/assert.h"
#include "brigade/directive.h"
#include "apr_strings.h"
#include "apr_lib.h"
#include <errno.h>
#include <string.h>

static const char *core_number_outside(const cmd_parms *cmd, const char *arg, apr_int64_t min,
                                       apr_int64_t max)
{
    return apr_psprintf(cmd->pool,
                        "%s: parameter must be a number between %" APR_INT64_T_FMT
                        " and %" APR_INT64_T_FMT ": %s",
                        cmd->cmd->name, min, max, arg);
}

const char *core_number(const cmd_parms *cmd, const char *arg, apr_int64_t min, apr_int64_t max,
                        apr_int64_t *value)
{
    char *end;

    BRG_ASSERT(min <= max);
    errno = 0;
    *value = apr_strtoi64(arg, &end, 10);
    if (errno || end == arg || *end || *value < min || *value > max)
        return core_number_outside(cmd, arg, min, max);
    return NULL;
}

const char *core_bytes(const cmd_parms *cmd, const char *arg, apr_int64_t *value)
{
    static const char units[] = "KMG";
    const apr_size_t len = strlen(arg);
    const char *unit = len ? strchr(units, apr_toupper(arg[len - 1])) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    const char *error = core_number(cmd, unit ? apr_pstrmemdup(cmd->temp_pool, arg, len - 1) : arg,
                                    0, APR_INT64_MAX >> shift, value);

    BRG_ASSERT(shift >= 0 && shift < 32);
    if (!error)
        *value <<= shift;
    return error;
}

const char *core_number_begin(const cmd_parms *cmd, const char *arg, apr_int64_t min,
                              apr_int64_t max, apr_int64_t *value)
{
    BRG_ASSERT(min <= max);
    *value = brg_argument_number(cmd, arg);
    return *value < min || *value > max ? core_number_outside(cmd, arg, min, max) : NULL;
}
