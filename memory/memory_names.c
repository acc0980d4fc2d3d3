/* SPDX-License-Identifier: Apache-2.0 */
/* The part that a build with stock APR pools has too: the names of scopes, as in directives and reports. */
#include "memory_scope.h"
#include <strings.h>

static const char *const scope_names[BRG_SCOPES_N] = {
    [BRG_SCOPE_PROCESS] = "process",       [BRG_SCOPE_CONFIGURATION] = "configuration",
    [BRG_SCOPE_CONNECTION] = "connection", [BRG_SCOPE_REQUEST] = "request",
    [BRG_SCOPE_BUCKET] = "bucket",         [BRG_SCOPE_LOG] = "log",
};

BRG_DECLARE(const char *) brg_scope_name(int scope)
{
    return scope >= 0 && scope < BRG_SCOPES_N ? scope_names[scope] : NULL;
}

BRG_DECLARE(int) brg_scope_by_name(const char *name)
{
    int scope;

    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        if (strcasecmp(name, scope_names[scope]) == 0)
            return scope;
    return -1;
}

static int memory_report_on;

void memory_report_set(int on)
{
    memory_report_on = on;
}

BRG_DECLARE(int) brg_memory_reported(void)
{
    return memory_report_on;
}
