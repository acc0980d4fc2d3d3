/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of memory systems by name: built-in ones, and those of modules. */
#include "sms_private.h"
#include <stdio.h>
#include <string.h>

#define KINDS_MOST 32 /* that modules add */

static const sms_kind kinds_builtin[] = {
    {"arena", sms_arena_create, "chunk=SIZE, keep=SIZE"},
    {"trivial", sms_trivial_create, "chunk=SIZE, keep=SIZE, shared"},
    {"blocks", sms_blocks_create, "size=SIZE, chunk=SIZE, shared"},
    {"system", sms_system_create, "no parameters"},
    {"os", sms_os_create, "huge"},
    {"limit", sms_limit_create, "SIZE, status=503|413, shared"},
    {"tracking", sms_tracking_create, "quiet"},
    {"guard", sms_guard_create, "redzone=SIZE, quarantine=SIZE"},
    {"fault", sms_fault_create, "nth=N, from=N, random=FRACTION, seed=N"},
};
#define KINDS_BUILTIN_N ((int)(sizeof(kinds_builtin) / sizeof(kinds_builtin[0])))

static sms_kind kinds_registered[KINDS_MOST];
static int kinds_registered_n;

const sms_kind *sms_kind_find(const char *name)
{
    int i;

    for (i = 0; i < kinds_registered_n; i++)
        if (strcmp(kinds_registered[i].name, name) == 0)
            return &kinds_registered[i];
    for (i = 0; i < KINDS_BUILTIN_N; i++)
        if (strcmp(kinds_builtin[i].name, name) == 0)
            return &kinds_builtin[i];
    return NULL;
}

BRG_DECLARE(void)
brg_sms_kind_register(const char *name, brg_sms_create_fn *create, const char *help)
{
    int i;

    for (i = 0; i < kinds_registered_n; i++)
        if (strcmp(kinds_registered[i].name, name) == 0)
            break;
    if (i == KINDS_MOST)
        return; /* its name stays unknown, and says so where it is used */
    kinds_registered[i].name = name;
    kinds_registered[i].create = create;
    kinds_registered[i].help = help;
    if (i == kinds_registered_n)
        kinds_registered_n++;
}

void sms_kinds_forget(void)
{
    kinds_registered_n = 0;
}

const sms_kind *sms_kind_added(int n)
{
    return n >= 0 && n < kinds_registered_n ? &kinds_registered[n] : NULL;
}

const char *sms_kinds_told(const char *message, apr_pool_t *p)
{
    char list[SMS_MESSAGE - 100];
    size_t used = 0;
    int i;

    list[0] = '\0';
    for (i = 0; i < KINDS_BUILTIN_N + kinds_registered_n && used < sizeof(list); i++) {
        const sms_kind *kind =
            i < KINDS_BUILTIN_N ? &kinds_builtin[i] : &kinds_registered[i - KINDS_BUILTIN_N];
        int n = snprintf(list + used, sizeof(list) - used, "%s%s(%s)", i > 0 ? ", " : "",
                         kind->name, kind->help);

        used += n > 0 ? (size_t)n : 0;
    }
    return brg_sms_message(p, "%.96s; there are %s", message, list);
}

int sms_kind_builtin(const sms_kind *kind)
{
    return kind >= kinds_builtin && kind < kinds_builtin + KINDS_BUILTIN_N;
}
