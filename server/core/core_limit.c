/* SPDX-License-Identifier: Apache-2.0 */
/* <Limit> and <LimitExcept>: their content is for some methods only. Setters ask cmd->limited (the
 * known ones, as bits) and cmd->limited_xmethods / cmd->xlimited (others, by name). */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_private.h"
#include "core_section.h"
#include "brigade/assert.h"

static const char *core_limit_add(cmd_parms *cmd, const char *name, int except)
{
    int number = ap_method_number_of(name);

    if (number == M_TRACE && !except)
        return "TRACE cannot be controlled by <Limit>, see TraceEnable";
    if (number == M_INVALID && conf_is_htaccess(cmd))
        /* Numbers belong to the process, and are given out before requests come. */
        return apr_psprintf(cmd->pool,
                            "Could not register method '%s' for %s> from .htaccess configuration",
                            name, cmd->cmd->name);
    if (number == M_INVALID) {
        /* Registered now, so that it has a number when a request comes with it. */
        number = ap_method_register(cmd->pool, name);
        if (number == M_INVALID)
            return apr_pstrcat(cmd->pool, "Unsupported method \"", name, "\" in ", cmd->cmd->name,
                               ">", NULL);
    }
    cmd->limited |= AP_METHOD_BIT << number;
    return NULL;
}

/* The methods of the section, out of those that the sections around it leave. */
static const char *core_limit_narrow(cmd_parms *cmd, apr_int64_t outer, int except)
{
    apr_int64_t limited = except ? ~cmd->limited : cmd->limited;

    BRG_ASSERT(outer != 0);
    cmd->limited = outer & limited;
    if (!cmd->limited)
        return apr_pstrcat(cmd->pool, cmd->cmd->name, "> directive excludes all methods", NULL);
    if (cmd->limited == outer)
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           "> directive specifies methods already excluded", NULL);
    return NULL;
}

AP_CORE_DECLARE_NONSTD(const char *) ap_limit_section(cmd_parms *cmd, void *dummy, const char *arg)
{
    const char *methods, *word, *error = core_section_text(cmd, arg, &methods);
    const command_rec *command = cmd->cmd;
    apr_int64_t outer = cmd->limited;
    int except = cmd->info != NULL;

    if (error)
        return error;
    cmd->limited = 0;
    while (!error && *methods) {
        word = ap_getword_conf(cmd->pool, &methods);
        error = core_limit_add(cmd, word, except);
    }
    if (!error)
        error = core_limit_narrow(cmd, outer, except);
    if (!error)
        error = ap_walk_config(cmd->directive->first_child, cmd, cmd->context);
    cmd->limited = outer;
    cmd->cmd = command;
    return error;
}
