/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory systems of scopes before a configuration is read, and where it names none.
 *
 *     BRIGADE_MEMORY                  the memory system of every scope; "arena" when it is not set
 *     BRIGADE_MEMORY_PROCESS, ...     that of one scope
 *
 * A configuration is read too late to choose where its own first lines, or the start of the
 * program, are kept. A system from the environment is made once: it goes on counting when the
 * configuration is read again, and in server processes.
 */
#include "memory_out.h"
#include "memory_scope.h"
#include "pool_private.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define VARIABLE "BRIGADE_MEMORY"

static memory_stack *scope_first[BRG_SCOPES_N]; /* from the environment, held here; else NULL */

static void scope_variable(char *out, size_t n, int scope)
{
    snprintf(out, n, VARIABLE "_%s", brg_scope_name(scope));
    for (; *out != '\0'; out++)
        *out = (char)toupper((unsigned char)*out);
}

static const char *scope_value(const char **variable, int scope)
{
    static char name[64];
    const char *value;

    scope_variable(name, sizeof(name), scope);
    *variable = name;
    value = getenv(name);
    if (value != NULL && *value != '\0')
        return value;
    *variable = VARIABLE;
    value = getenv(VARIABLE);
    return value != NULL && *value != '\0' ? value : NULL;
}

static const char *scope_begin(int scope, const char *spec)
{
    const char *error = memory_stack_create(&scope_first[scope], spec, NULL);

    if (error != NULL)
        return error;
    memory_stack_for(scope_first[scope], scope);
    memory_scope_set_default(scope);
    return NULL;
}

const char *memory_begin(apr_abortfunc_t out_of_memory, const char **variable)
{
    const char *error = memory_scopes_begin(MEMORY_DEFAULT_SPEC);
    int scope;

    *variable = VARIABLE;
    pool_root_abort = out_of_memory;
    for (scope = 0; scope < BRG_SCOPES_N && error == NULL; scope++) {
        const char *spec = scope_value(variable, scope);

        if (spec != NULL)
            error = scope_begin(scope, spec);
    }
    return error;
}

void memory_scope_set_default(int scope)
{
    memory_stack *stack = scope_first[scope];

    if (stack != NULL)
        memory_scope_set(scope, memory_stack_hold(stack));
    else if (memory_stack_create(&stack, MEMORY_DEFAULT_SPEC, NULL) == NULL)
        memory_scope_set(scope, stack);
}

const char *memory_scopes_begin(const char *spec)
{
    memory_stack *stack;
    const char *error;
    int scope;

    for (scope = 0; scope < BRG_SCOPES_N; scope++) {
        error = memory_stack_create(&stack, spec, NULL);
        if (error != NULL)
            return error;
        memory_scope_set(scope, stack);
    }
    return NULL;
}
