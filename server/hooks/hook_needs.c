/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions under which hooks have work to do (brigade/hooks.h). */
#include "hook_needs.h"
#include "hook_lists.h"
#include "module_rows.h"
#include "brigade/assert.h"
#include "brigade/hooks.h"
#include "apr_hooks.h"
#include <string.h>

typedef struct hook_need {
    const module *of;
    const char *hooks;
    const char *directives; /* NULL: all of the module */
    int everywhere;
    int counts; /* declared since hook_needs_forget() */
} hook_need;

static hook_need needs[HOOK_NEEDS_MOST];
static int needs_n;

/* Handlers by name, of modules that declared some. */
static struct needs_handler {
    const char *module_name, *names;
} needs_handlers[HOOK_NEEDS_MOST];
static int needs_handlers_n;

/* Directives met in all servers, whichever they were read in. Any thread may add to it. */
static uint64_t needs_everywhere[HOOK_NEEDS_WORDS];
static uint64_t needs_told[HOOK_NEEDS_WORDS]; /* of these, the set by which all lists are made */
static void (*needs_changed)(void);           /* set once lists are made */

void hook_needs_forget(void)
{
    BRG_ASSERT(needs_n >= 0 && needs_n <= HOOK_NEEDS_MOST);
    for (int i = 0; i < needs_n; i++)
        needs[i].counts = 0; /* the place stays: directives may have been read already */
    needs_handlers_n = 0;
}

/* Modules are about to be unloaded. */
static apr_status_t needs_end(void *unused)
{
    (void)unused;
    needs_n = needs_handlers_n = 0;
    needs_changed = NULL;
    memset(needs_everywhere, 0, sizeof needs_everywhere);
    memset(needs_told, 0, sizeof needs_told);
    return APR_SUCCESS;
}

static int needs_list_has(const char *list, const char *word)
{
    return module_list_has(list, word, strlen(word));
}

static hook_need *need_place(const module *m, const char *hooks, const char *directives)
{
    for (hook_need *n = needs; n < needs + needs_n; n++)
        if (n->of == m && n->hooks == hooks && n->directives == directives)
            return n;
    if (needs_n == HOOK_NEEDS_MOST)
        return NULL;
    if (!needs_n && apr_hook_global_pool)
        apr_pool_cleanup_register(apr_hook_global_pool, NULL, needs_end, apr_pool_cleanup_null);
    return &needs[needs_n++];
}

BRG_DECLARE(void)
brg_hooks_need_directive(const module *m, const char *hooks, const char *directives, int where)
{
    hook_need *n = need_place(m, hooks, directives);

    BRG_ASSERT(m != NULL && hooks != NULL);
    if (n)
        *n = (hook_need){m, hooks, directives, where == BRG_HOOKS_EVERYWHERE, 1};
}

BRG_DECLARE(void) brg_handlers_are_for(const module *m, const char *names)
{
    BRG_ASSERT(m != NULL && names != NULL);
    if (needs_handlers_n < HOOK_NEEDS_MOST)
        needs_handlers[needs_handlers_n++] = (struct needs_handler){m->name, names};
}

static int needs_bit(const uint64_t *set, int i)
{
    return set[i / 64] >> (i % 64) & 1;
}

/* A thread that comes while another one makes the lists waits for it: its own request is to find them. */
static void needs_meet_everywhere(int i)
{
    const uint64_t bit = UINT64_C(1) << (i % 64);

    if (__atomic_load_n(&needs_told[i / 64], __ATOMIC_ACQUIRE) & bit)
        return;
    __atomic_fetch_or(&needs_everywhere[i / 64], bit, __ATOMIC_RELAXED);
    if (needs_changed)
        needs_changed();
    __atomic_fetch_or(&needs_told[i / 64], bit, __ATOMIC_RELEASE);
}

static hook_server *needs_server(server_rec *s, apr_pool_t *p)
{
    hook_server **at = (hook_server **)s->module_config + HOOK_SERVER_SLOT;

    if (!*at)
        *at = apr_pcalloc(p, sizeof **at);
    return *at;
}

void hook_needs_directive(const module *m, const char *name, server_rec *s, apr_pool_t *p)
{
    BRG_ASSERT(m != NULL && name != NULL);
    for (int i = 0; i < needs_n; i++) {
        const hook_need *n = &needs[i];

        if (n->directives ? !needs_list_has(n->directives, name) : n->of != m)
            continue;
        if (!n->everywhere && !needs_changed && s)
            needs_server(s, p)->own.met[i / 64] |= UINT64_C(1) << (i % 64);
        else
            needs_meet_everywhere(i);
    }
}

hook_needs hook_needs_of(const server_rec *main_server, const server_rec *s)
{
    const server_rec *const both[] = {main_server, s};
    hook_needs found;

    for (int w = 0; w < HOOK_NEEDS_WORDS; w++)
        found.met[w] = __atomic_load_n(&needs_everywhere[w], __ATOMIC_RELAXED);
    for (int k = 0; k < 2; k++) {
        const hook_server *at =
            both[k] ? ((hook_server *const *)both[k]->module_config)[HOOK_SERVER_SLOT] : NULL;

        for (int w = 0; at && w < HOOK_NEEDS_WORDS; w++)
            found.met[w] |= at->own.met[w];
    }
    return found;
}

int hook_needs_met(const hook_needs *of, const hook_link *link, const char *hook)
{
    int found = 1;

    BRG_ASSERT(of != NULL && link != NULL);
    for (int i = 0; link->module && i < needs_n; i++) {
        if (!needs[i].counts || strcmp(needs[i].of->name, link->module) != 0 ||
            !needs_list_has(needs[i].hooks, hook))
            continue;
        if (needs_bit(of->met, i))
            return 2;
        found = 0;
    }
    return found;
}

const char *hook_needs_handlers(const char *module_name)
{
    for (int i = 0; module_name && i < needs_handlers_n; i++)
        if (!strcmp(needs_handlers[i].module_name, module_name))
            return needs_handlers[i].names;
    return NULL;
}

void hook_needs_each_handler(void (*visit)(void *baton, const char *name, size_t len), void *baton)
{
    for (int i = 0; i < needs_handlers_n; i++)
        for (const char *at = needs_handlers[i].names; *at; at += strspn(at, " ")) {
            const size_t len = strcspn(at, " ");

            visit(baton, at, len);
            at += len;
        }
}

void hook_needs_on_change(void (*fn)(void))
{
    needs_changed = fn;
}
