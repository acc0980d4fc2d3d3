/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server gets the lists of all others in which the same needs are met. When an .htaccess file has the first
 * directive of a need, lists are made anew beside the old ones, which requests may be walking: those stay until
 * the configuration ends, as many as there are needs at most.
 */
#include "hook_lists.h"
#include "brigade/assert.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HANDLERS_BUCKETS 64

/* Handlers for requests of one name. */
typedef struct hook_handler {
    const char *name;
    size_t len;
    hook_list list;
    struct hook_handler *next; /* in its bucket */
} hook_handler;

typedef struct hook_handlers {
    hook_handler *beginnings; /* names that end in '*' */
    hook_handler *buckets[HANDLERS_BUCKETS];
} hook_handlers;

/* Memory of this configuration's lists: threads add to it under the lock. */
typedef struct lists_block {
    struct lists_block *next;
    max_align_t bytes[];
} lists_block;

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static lists_block *lists_blocks;
static hook_lists *lists_all;
static server_rec *lists_main;

#define LISTS_HOOK(name) {#name, ap_hook_get_##name},
static const struct {
    const char *name;
    apr_array_header_t *(*get)(void);
} lists_hooks[] = {HOOK_LISTS_EACH(LISTS_HOOK)};

_Static_assert(sizeof lists_hooks / sizeof *lists_hooks == HOOK_LISTS_N, "a hook has no list");

static void *lists_alloc(size_t size)
{
    lists_block *block = calloc(1, sizeof *block + size);

    if (!block)
        return NULL;
    block->next = lists_blocks;
    lists_blocks = block;
    return block->bytes;
}

static apr_status_t lists_end(void *unused)
{
    (void)unused;
    for (lists_block *next; lists_blocks; lists_blocks = next) {
        next = lists_blocks->next;
        free(lists_blocks);
    }
    lists_all = NULL;
    lists_main = NULL;
    hook_needs_on_change(NULL);
    return APR_SUCCESS;
}

static int name_begins(const char *name, size_t len, const char *pattern, size_t pattern_len)
{
    return pattern_len && pattern[pattern_len - 1] == '*' && len >= pattern_len - 1 &&
           !memcmp(name, pattern, pattern_len - 1);
}

/* Is the name on a module's list (brg_handlers_are_for())? */
static int name_is_one_of(const char *name, size_t len, const char *names)
{
    for (size_t n; *names; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        if ((n == len && !memcmp(name, names, n)) || name_begins(name, len, names, n))
            return 1;
    }
    return 0;
}

/* Is the function called for handlers of that name? NULL: for names that nobody listed. */
static int lists_takes(const hook_needs *needs, const hook_link *link, int hook, const char *name,
                       size_t len)
{
    const int met = hook_needs_met(needs, link, lists_hooks[hook].name);
    const char *names = hook == HOOK_handler ? hook_needs_handlers(link->module) : NULL;

    return met == 2 || (names ? name && name_is_one_of(name, len, names) : met);
}

/* @return 0: no memory */
static int lists_fill(hook_list *l, const hook_needs *needs, int hook, const char *name, size_t len)
{
    const apr_array_header_t *all = lists_hooks[hook].get();
    const hook_link *link;

    *l = (hook_list){0};
    if (!all)
        return 1;
    l->links = lists_alloc(sizeof *l->links * (size_t)all->nelts);
    if (!l->links)
        return 0;
    for (int i = 0; (link = hook_link_at(all, i)) != NULL; i++)
        if (lists_takes(needs, link, hook, name, len))
            l->links[l->n++] = *link;
    l->of = all->elts;
    l->of_n = all->nelts;
    return 1;
}

static hook_handler **handlers_bucket(const hook_handlers *h, const char *name, size_t len)
{
    const size_t at = len ? len * 7 + (unsigned char)name[0] : 0;

    return (hook_handler **)&h->buckets[at % HANDLERS_BUCKETS];
}

static const hook_handler *handlers_find(const hook_handlers *h, const char *name, size_t len)
{
    const hook_handler *found = *handlers_bucket(h, name, len);

    while (found && (found->len != len || memcmp(found->name, name, len) != 0))
        found = found->next;
    return found;
}

/* For hook_needs_each_handler(): the lists get one for the name; without memory they are given up. */
static void handlers_add(void *baton, const char *name, size_t len)
{
    hook_lists *lists = baton;
    hook_handler *of, **at;

    BRG_ASSERT(len > 0);
    if (!lists->handlers || handlers_find(lists->handlers, name, len))
        return;
    at = name[len - 1] == '*' ? &lists->handlers->beginnings
                              : handlers_bucket(lists->handlers, name, len);
    of = lists_alloc(sizeof *of);
    if (!of || !lists_fill(&of->list, &lists->needs, HOOK_handler, name, len)) {
        lists->handlers = NULL;
        return;
    }
    of->name = name;
    of->len = len;
    of->next = *at;
    *at = of;
}

static hook_lists *lists_build(const hook_needs *needs)
{
    hook_lists *lists = lists_alloc(sizeof *lists);

    if (!lists || !(lists->handlers = lists_alloc(sizeof *lists->handlers)))
        return NULL;
    lists->needs = *needs;
    for (int hook = 0; hook < HOOK_LISTS_N; hook++)
        if (!lists_fill(&lists->by_hook[hook], needs, hook, NULL, 0))
            return NULL;
    hook_needs_each_handler(handlers_add, lists);
    if (!lists->handlers)
        return NULL;
    lists->next = lists_all;
    lists_all = lists;
    return lists;
}

static const hook_lists *lists_for(const server_rec *s)
{
    const hook_needs needs = hook_needs_of(lists_main, s);
    const hook_lists *found = lists_all;

    while (found && memcmp(&found->needs, &needs, sizeof needs) != 0)
        found = found->next;
    return found ? found : lists_build(&needs);
}

/* Without memory for them all functions are called. */
static void lists_assign(void)
{
    BRG_ASSERT(lists_main != NULL);
    for (const server_rec *s = lists_main; s; s = s->next) {
        hook_server *at = ((hook_server *const *)s->module_config)[HOOK_SERVER_SLOT];

        BRG_ASSERT(at != NULL);
        __atomic_store_n(&at->lists, lists_for(s), __ATOMIC_RELEASE);
    }
}

static void lists_renew(void)
{
    pthread_mutex_lock(&lists_lock);
    lists_assign();
    pthread_mutex_unlock(&lists_lock);
}

void hook_lists_make(server_rec *main_server, apr_pool_t *pconf)
{
    BRG_ASSERT(main_server != NULL && !main_server->is_virtual);
    lists_end(NULL);
    apr_pool_cleanup_register(pconf, NULL, lists_end, apr_pool_cleanup_null);
    lists_main = main_server;
    for (server_rec *s = main_server; s; s = s->next) {
        hook_server **at = (hook_server **)s->module_config + HOOK_SERVER_SLOT;

        if (!*at)
            *at = apr_pcalloc(pconf, sizeof **at);
    }
    hook_needs_on_change(lists_renew);
    lists_assign();
}

const hook_list *hook_lists_handlers(const hook_lists *lists, const char *name)
{
    const size_t len = strlen(name);
    const hook_handler *found = handlers_find(lists->handlers, name, len);

    if (found)
        return &found->list;
    for (found = lists->handlers->beginnings; found; found = found->next)
        if (name_begins(name, len, found->name, found->len))
            return NULL;
    return &lists->by_hook[HOOK_handler];
}
