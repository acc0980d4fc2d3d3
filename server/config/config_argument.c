/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in arguments of directives, as Apache reads many of them. */
#include "brigade/directive.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "apr_strings.h"

APLOG_USE_MODULE(core);

BRG_DECLARE(apr_int64_t) brg_argument_number(const cmd_parms *cmd, const char *arg)
{
    char *end;
    apr_int64_t n = apr_strtoi64(arg, &end, 10);

    if (end == arg)
        n = 0;
    if (end == arg || *end)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     "%s: \"%s\" is no whole number, it is read as %" APR_INT64_T_FMT,
                     cmd->cmd->name, arg, n);
    return n;
}

BRG_DECLARE(apr_int64_t)
brg_argument_clamp(const cmd_parms *cmd, apr_int64_t n, apr_int64_t least, apr_int64_t most)
{
    apr_int64_t within = n < least ? least : n > most ? most : n;

    BRG_ASSERT(least <= most);
    if (within != n)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     "%s of %" APR_INT64_T_FMT " is not possible, %s to %" APR_INT64_T_FMT,
                     cmd->cmd->name, n, n < within ? "increasing" : "decreasing", within);
    return within;
}
