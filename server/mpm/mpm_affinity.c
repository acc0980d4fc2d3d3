/* SPDX-License-Identifier: Apache-2.0 */
/* LoopAffinity: lists of processors. */
#include "mpm_affinity.h"
#include "brigade/assert.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <stdlib.h>

affinity_list mpm_affinity;

/* @return behind the number; NULL: not a number */
static const char *affinity_number(const char *at, int *cpu)
{
    char *end;
    const long n = strtol(at, &end, 10);

    if (!apr_isdigit(*at) || n >= CPU_SETSIZE)
        return NULL;
    *cpu = (int)n;
    return end;
}

static const char *affinity_add(apr_pool_t *p, int cpu, const cpu_set_t *usable,
                                affinity_list *list)
{
    BRG_ASSERT(cpu >= 0 && cpu < CPU_SETSIZE);
    if (!CPU_ISSET((size_t)cpu, usable))
        return apr_psprintf(p, "this server may not use processor %d", cpu);
    if (list->n == AFFINITY_MOST)
        return apr_psprintf(p, "more than %d processors", AFFINITY_MOST);
    list->cpu[list->n++] = cpu;
    return NULL;
}

const char *affinity_read(apr_pool_t *p, const char *arg, const cpu_set_t *usable,
                          affinity_list *list)
{
    const char *at = arg, *why = NULL;

    do {
        int first, last;

        if ((at = affinity_number(at, &first)) == NULL)
            break;
        last = first;
        if (*at == '-' && (at = affinity_number(at + 1, &last)) == NULL)
            break;
        if (last < first)
            break;
        for (int cpu = first; cpu <= last && !why; cpu++)
            why = affinity_add(p, cpu, usable, list);
        if (why || !*at)
            return why;
    } while (*at++ == ',');
    return apr_psprintf(p, "\"%s\" is no list of processors, such as 0-3,8", arg);
}

void affinity_all(const cpu_set_t *usable, affinity_list *list)
{
    for (int cpu = 0; cpu < CPU_SETSIZE && list->n < AFFINITY_MOST; cpu++)
        if (CPU_ISSET((size_t)cpu, usable))
            list->cpu[list->n++] = cpu;
}

int affinity_of(const affinity_list *list, int loop)
{
    BRG_ASSERT(loop >= 0 && list->n <= AFFINITY_MOST);
    return list->n ? list->cpu[loop % list->n] : -1;
}
