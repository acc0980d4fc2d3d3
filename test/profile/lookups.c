/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which look-ups in tables a server makes, for profile_lookups.py: a part of the server that the linker leads such calls to
 * (--wrap). It writes a line for each look-up, and for each table that is made, to the file that BRIGADE_LOOKUPS names:
 *
 *     make TABLE PLACE        get TABLE PLACE KEY        (set, setn, add, addn, merge, mergen, unset as get)
 *
 * PLACE is the caller's address in the program's file. Look-ups in tables that have no name with this letter are none:
 * memory/pool_table.h knows so without a call.
 */
#include <apr_tables.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOKUPS_LINE 512

static int lookups_file = -1;
static const char *lookups_program; /* where the program lies */

__attribute__((constructor)) static void lookups_begin(void)
{
    const char *name = getenv("BRIGADE_LOOKUPS");
    Dl_info info;

    if (name && dladdr((void *)(uintptr_t)lookups_begin, &info)) {
        lookups_program = info.dli_fbase;
        lookups_file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
}

/* @param from  an address in the call itself, not the one after it, is told */
static void lookups_note(const char *call, const void *table, const char *key, const char *from)
{
    char line[LOOKUPS_LINE];
    int n;

    if (lookups_file < 0)
        return;
    n = snprintf(line, sizeof line, "%s %p %jx %.200s\n", call, table,
                 (uintmax_t)(from - 1 - lookups_program), key);
    if (write(lookups_file, line, (size_t)n) != n)
        abort();
}

#define LOOKUPS_MAKES(name, params, args)                            \
    apr_table_t *__real_##name params;                               \
    apr_table_t *__wrap_##name params;                               \
    apr_table_t *__wrap_##name params                                \
    {                                                                \
        apr_table_t *made = __real_##name args;                      \
        lookups_note("make", made, "", __builtin_return_address(0)); \
        return made;                                                 \
    }

#define LOOKUPS_IN(call, result, back, name, params, args)       \
    result __real_##name params;                                 \
    result __wrap_##name params;                                 \
    result __wrap_##name params                                  \
    {                                                            \
        lookups_note(call, t, key, __builtin_return_address(0)); \
        back __real_##name args;                                 \
    }

LOOKUPS_MAKES(apr_table_make, (apr_pool_t * p, int n), (p, n))
LOOKUPS_MAKES(apr_table_copy, (apr_pool_t * p, const apr_table_t *t), (p, t))
LOOKUPS_IN("get", const char *, return, apr_table_get, (const apr_table_t *t, const char *key),
           (t, key))
LOOKUPS_IN("get", const char *, return, pool_table_find,
           (const apr_table_t *t, const char *key, uint32_t checksum), (t, key, checksum))
LOOKUPS_IN("set", void, , apr_table_set, (apr_table_t * t, const char *key, const char *val),
           (t, key, val))
LOOKUPS_IN("setn", void, , apr_table_setn, (apr_table_t * t, const char *key, const char *val),
           (t, key, val))
LOOKUPS_IN("add", void, , apr_table_add, (apr_table_t * t, const char *key, const char *val),
           (t, key, val))
LOOKUPS_IN("addn", void, , apr_table_addn, (apr_table_t * t, const char *key, const char *val),
           (t, key, val))
LOOKUPS_IN("merge", void, , apr_table_merge, (apr_table_t * t, const char *key, const char *val),
           (t, key, val))
LOOKUPS_IN("mergen", void, , apr_table_mergen, (apr_table_t * t, const char *key, const char *val),
           (t, key, val))
LOOKUPS_IN("unset", void, , apr_table_unset, (apr_table_t * t, const char *key), (t, key))
