/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of directives that are whole numbers. */
#include "core_settings.h"
#include "http_log.h"
#include "brigade/assert.h"
#include "apr_strings.h"
#include <errno.h>

APLOG_USE_MODULE(core);

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

const char *core_number_begin(const cmd_parms *cmd, const char *arg, apr_int64_t min, apr_int64_t max,
                              apr_int64_t *value)
{
    char *end;

    BRG_ASSERT(min <= max);
    errno = 0;
    *value = apr_strtoi64(arg, &end, 10);
    if (end == arg)
        *value = 0;
    if ((errno && end != arg) || *value < min || *value > max)
        return core_number_outside(cmd, arg, min, max);
    if (end == arg || *end)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     "%s: \"%s\" is no whole number: it is read as %" APR_INT64_T_FMT, cmd->cmd->name, arg,
                     *value);
    return NULL;
}
