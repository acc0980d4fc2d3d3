/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever registers the first function of a hook tells APR-util of the list, to have it sorted. The
 * functions below take the place of APR-util's, make a note, and pass the call on; before lists are sorted, circles are opened.
 */
#include "hook_names.h"
#include "hook_circles.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "stock_function.h"
#include <dlfcn.h>
#include <stdio.h>

#define HOOKS_MOST 256

typedef struct hook_note {
    const char *name;
    apr_array_header_t *const *list;
    const void *run;
} hook_note;

static hook_note hook_notes[HOOKS_MOST];
static int hook_notes_n;

APU_DECLARE(void)
apr_hook_sort_register(const char *name, apr_array_header_t **list)
    __attribute__((visibility("default")));
APU_DECLARE(void) apr_hook_deregister_all(void) __attribute__((visibility("default")));
APU_DECLARE(void) apr_hook_sort_all(void) __attribute__((visibility("default")));

void apr_hook_sort_register(const char *name, apr_array_header_t **list)
{
    static void (*real)(const char *, apr_array_header_t **);
    char run[80];

    if (!real)
        *(void **)&real = stock_function("apr_hook_sort_register");
    real(name, list);
    BRG_ASSERT(hook_notes_n >= 0 && hook_notes_n <= HOOKS_MOST);
    if (hook_notes_n == HOOKS_MOST)
        return;
    snprintf(run, sizeof run, "ap_run_%s", name);
    hook_notes[hook_notes_n++] = (hook_note){name, list, dlsym(RTLD_DEFAULT, run)};
}

void apr_hook_deregister_all(void)
{
    static void (*real)(void);

    if (!real)
        *(void **)&real = stock_function("apr_hook_deregister_all");
    hook_notes_n = 0;
    real();
}

void apr_hook_sort_all(void)
{
    static void (*real)(void);

    if (!real)
        *(void **)&real = stock_function("apr_hook_sort_all");
    for (int i = 0; i < hook_notes_n; i++)
        if (*hook_notes[i].list)
            hook_circles_open(hook_notes[i].name, *hook_notes[i].list);
    real();
}

int hook_names_each(int (*visit)(void *baton, int hook, const char *name, const void *run),
                    void *baton)
{
    int rc = 0;

    for (int i = 0; i < hook_notes_n && !rc; i++)
        rc = visit(baton, i, hook_notes[i].name, hook_notes[i].run);
    return rc;
}

const void *hook_names_function(int hook, int n, const char **module_name)
{
    const hook_link *link;

    BRG_ASSERT(hook >= 0 && hook < hook_notes_n && n >= 0);
    link = hook_link_at(*hook_notes[hook].list, n);
    if (!link)
        return NULL;
    *module_name = link->module;
    return *(const void *const *)&link->function;
}
