/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a directive name a variable of requests? Its arguments are searched for the forms in which all modules write that:
 * %{NAME}e in formats, env=NAME, %{ENV:NAME} and %{reqenv:NAME}, env("NAME"), reqenv() and v() in expressions, and
 * "Require env NAME". An argument that only looks so costs a page some instructions, no more.
 */
#include "configuration.h"
#include "brigade/environment.h"
#include "apr_lib.h"
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

static atomic_int env_is_named;

/* The v of "env", "reqenv" or "v". */
static int env_is_name(const char *args, const char *v)
{
    if (v[1] == '=' || v[1] == ':' || v[1] == '(')
        return 1;
    return v - args >= 2 && !strncasecmp(v - 2, "env", 3) && !apr_isalnum(v[1]) && v[1] != '_';
}

static int env_is_in(const char *args)
{
    for (const char *at = args; (at = strpbrk(at, "vV}")) != NULL; at++)
        if (*at == '}' ? at[1] == 'e' : env_is_name(args, at))
            return 1;
    return 0;
}

void conf_env_note(const char *directive, const char *args)
{
    if (atomic_load_explicit(&env_is_named, memory_order_relaxed))
        return;
    if ((args && env_is_in(args)) || !strcasecmp(directive, "ProxyPassInterpolateEnv"))
        atomic_store_explicit(&env_is_named, 1, memory_order_relaxed);
}

void conf_env_forget(void)
{
    atomic_store(&env_is_named, 0);
}

BRG_DECLARE(int) brg_env_may_be_read(void)
{
    return conf_has_module_files() || atomic_load_explicit(&env_is_named, memory_order_relaxed);
}
