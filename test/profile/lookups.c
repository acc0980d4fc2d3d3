/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which look-ups in tables a server makes, for profile_lookups.py: a library to be preloaded under it, where APR is a
 * shared library. It writes a line for each look-up, and for each table that is made, to the file that BRIGADE_LOOKUPS names:
 *
 *     make TABLE PLACE        get TABLE PLACE KEY        (set, setn, add, addn, merge, mergen, unset as get)
 *
 * PLACE is the caller's address in the program's file, or the name of the library that it is in.
 */
#include <apr_tables.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOKUPS_LINE 512

static int lookups_file = -1;
static void *lookups_program; /* where the program lies */

static void *lookups_next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

__attribute__((constructor)) static void lookups_begin(void)
{
    const char *name = getenv("BRIGADE_LOOKUPS");
    void *main_function =
        dlsym(RTLD_DEFAULT, "ap_server_root"); /* the server has it, other programs do not */
    Dl_info info;

    if (name && main_function && dladdr(main_function, &info)) {
        lookups_program = info.dli_fbase;
        lookups_file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
}

static void lookups_note(const char *call, const void *table, const char *key, void *from)
{
    char line[LOOKUPS_LINE];
    Dl_info info;
    int n;

    if (lookups_file < 0 || !dladdr(from, &info))
        return;
    if (info.dli_fbase == lookups_program) /* an address in the call itself, not the one after it */
        n = snprintf(line, sizeof line, "%s %p %jx %.200s\n", call, table,
                     (uintmax_t)((char *)from - 1 - (char *)info.dli_fbase), key);
    else
        n = snprintf(line, sizeof line, "%s %p %.100s %.200s\n", call, table,
                     strrchr(info.dli_fname, '/') + 1, key);
    if (write(lookups_file, line, (size_t)n) != n)
        abort();
}

#define LOOKUPS_MAKES(name, params, args)                                   \
    apr_table_t *name params                                                \
    {                                                                       \
        static apr_table_t *(*next)params;                                  \
        apr_table_t *made;                                                  \
        if (!next)                                                          \
            next = (apr_table_t * (*)params)(uintptr_t)lookups_next(#name); \
        made = next args;                                                   \
        lookups_note("make", made, "", __builtin_return_address(0));        \
        return made;                                                        \
    }

#define LOOKUPS_IN(call, result, back, name, params, args)           \
    result name params                                               \
    {                                                                \
        static result(*next) params;                                 \
        if (!next)                                                   \
            next = (result(*) params)(uintptr_t)lookups_next(#name); \
        lookups_note(call, t, key, __builtin_return_address(0));     \
        back next args;                                              \
    }

LOOKUPS_MAKES(apr_table_make, (apr_pool_t * p, int n), (p, n))
LOOKUPS_MAKES(apr_table_copy, (apr_pool_t * p, const apr_table_t *t), (p, t))
LOOKUPS_IN("get", const char *, return, apr_table_get, (const apr_table_t *t, const char *key),
           (t, key))
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
