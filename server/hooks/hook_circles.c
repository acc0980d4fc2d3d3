/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules say of each hook before and behind which others their functions come. These orders may go round in a circle, such as
 * where a module of the server's own and a file of Apache's come together that nobody knew of together: APR-util's sorting then
 * never ends. So before it sorts, circles are looked for; each is told, and one wish of it is left out: one of the server's own
 * modules, since files agree with each other in Apache.
 *
 * A wish is an edge between two entries of a list. APR-util takes the first entry of the module
 * that a wish names, here all are taken: an order without a circle here has none there.
 */
#include "hook_circles.h"
#include "brigade/assert.h"
#include "http_log.h"
#include "apr_strings.h"
#include <string.h>

APLOG_USE_MODULE(core);

typedef struct circle_search {
    const char *hook;
    hook_link *links;
    int n;
    int *path, depth;     /* entries, each before the next */
    unsigned char *state; /* of an entry: 0 not seen, 1 on the path, 2 done */
} circle_search;

static int names_has(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (name && !strcmp(*names, name))
            return 1;
    return 0;
}

/* The entry that says that a comes before b: a, b or NULL. */
static hook_link *circle_owner(hook_link *a, hook_link *b)
{
    if (names_has(a->successors, b->module))
        return a;
    return names_has(b->predecessors, a->module) ? b : NULL;
}

static int circle_is_file(const hook_link *link)
{
    const module *m = link->module ? ap_find_linked_module(link->module) : NULL;

    return m && m->dynamic_load_handle;
}

/* @return 1: path from *from on is a circle */
static int circle_visit(circle_search *s, int at, int *from)
{
    s->state[at] = 1;
    s->path[s->depth++] = at;
    for (int next = 0; next < s->n; next++) {
        if (s->state[next] == 2 || !circle_owner(&s->links[at], &s->links[next]))
            continue;
        if (s->state[next] == 0) {
            if (circle_visit(s, next, from))
                return 1;
            continue;
        }
        for (*from = 0; s->path[*from] != next; ++*from)
            BRG_ASSERT(*from < s->depth);
        return 1;
    }
    s->depth--;
    s->state[at] = 2;
    return 0;
}

static const char *const *names_without(apr_pool_t *p, const char *const *names, const char *name)
{
    apr_array_header_t *left = apr_array_make(p, 4, sizeof(const char *));

    for (; names && *names; names++)
        if (strcmp(*names, name) != 0)
            APR_ARRAY_PUSH(left, const char *) = *names;
    APR_ARRAY_PUSH(left, const char *) = NULL;
    return (const char *const *)left->elts;
}

/* Leave out the order of one entry towards the next one of the circle. */
static void circle_open(apr_pool_t *p, circle_search *s, int from)
{
    hook_link *a = NULL, *b = NULL, *owner;
    const char *all = "";

    for (int i = from; i < s->depth; i++) {
        hook_link *this = &s->links[s->path[i]];
        hook_link *next = &s->links[s->path[i + 1 < s->depth ? i + 1 : from]];

        all = apr_pstrcat(p, all, i > from ? ", " : "", this->module, NULL);
        if (!a ||
            (circle_is_file(circle_owner(a, b)) && !circle_is_file(circle_owner(this, next)))) {
            a = this;
            b = next;
        }
    }
    owner = circle_owner(a, b);
    BRG_ASSERT(owner != NULL);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                 "hook %s: by what these modules say each comes before the next, and the last "
                 "before the first: %s. What %s says of %s does not count",
                 s->hook, all, owner->module, owner == a ? b->module : a->module);
    if (owner == a)
        a->successors = names_without(p, a->successors, b->module);
    else
        b->predecessors = names_without(p, b->predecessors, a->module);
}

void hook_circles_open(const char *hook, apr_array_header_t *list)
{
    circle_search s = {.hook = hook, .links = (hook_link *)(void *)list->elts, .n = list->nelts};
    int from, found;

    BRG_ASSERT(list->elt_size == (int)sizeof(hook_link));
    s.path = apr_palloc(list->pool, (apr_size_t)s.n * sizeof *s.path);
    s.state = apr_palloc(list->pool, (apr_size_t)s.n + 1);
    do {
        memset(s.state, 0, (apr_size_t)s.n + 1);
        s.depth = found = 0;
        for (int i = 0; i < s.n && !found; i++)
            if (!s.state[i])
                found = circle_visit(&s, i, &from);
        if (found)
            circle_open(list->pool, &s, from);
    } while (found);
}
