/* SPDX-License-Identifier: Apache-2.0 */
/* Families of modules: all built in, or all files. */
#include "config_family_private.h"
#include "brigade/assert.h"
#include <string.h>

/* The next of the family of row @a at, from @a i on; n: past the last. */
static int conf_family_next(const module_row *rows, int n, int at, int i)
{
    BRG_ASSERT(at >= 0 && at < n && i >= 0);
    if (!rows[at].family)
        return n;
    while (i < n && !(rows[i].family && !strcmp(rows[i].family, rows[at].family)))
        i++;
    return i;
}

#define CONF_FAMILY_EACH(i) \
    for (int i = conf_family_next(rows, n, at, 0); i < n; i = conf_family_next(rows, n, at, i + 1))

int conf_family_is_out(const module_row *rows, const conf_module_state *states, int n, int at)
{
    CONF_FAMILY_EACH(i)
    if (*states[i].lack)
        return 1;
    return 0;
}

int conf_family_is_kept(const module_row *rows, const conf_module_state *states, int n, int at)
{
    CONF_FAMILY_EACH(i)
    if (states[i].on == CONF_ON)
        return 1;
    return 0;
}

int conf_family_is_active(const module_row *rows, const conf_module_state *states, int n, int at)
{
    CONF_FAMILY_EACH(i)
    if (states[i].active)
        return 1;
    return 0;
}

int conf_family_has_files(const module_row *rows, const conf_module_state *states, int n, int at)
{
    CONF_FAMILY_EACH(i)
    if (states[i].active && !states[i].replaceable)
        return 0;
    return rows[at].family != NULL;
}
