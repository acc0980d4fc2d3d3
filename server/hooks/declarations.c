/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of modules, kept by the name of the module. */
#include "declarations.h"
#include "module_rows.h"
#include "apr_hooks.h"
#include "brigade/assert.h"
#include <string.h>

declaration declarations[DECLARATIONS_MOST];
int declarations_n;

/* Set while the configuration is read, or for an .htaccess file by any thread. */
atomic_int declared_phases_wait;

/* Names and functions may lie in a module that is about to be unloaded. */
static apr_status_t declarations_end(void *unused)
{
    declarations_n = 0;
    atomic_store_explicit(&declared_phases_wait, 0, memory_order_relaxed);
    return APR_SUCCESS;
}

declaration *declaration_of(const char *name)
{
    /* As a rule the name is the module's own string. */
    for (int i = 0; i < declarations_n; i++)
        if (declarations[i].name == name)
            return &declarations[i];
    for (int i = 0; name && i < declarations_n; i++)
        if (!strcmp(declarations[i].name, name))
            return &declarations[i];
    return NULL;
}

void declarations_forget(void)
{
    declarations_n = 0; /* needs that directives stated stay */
}

static void declaration_read_row(declaration *d)
{
    const module_row *row = module_row_named(d->name);

    d->query_free = row && row->query_free;
    d->name_free = row && row->name_free;
}

declaration *declaration_add(const module *m, brg_cache_fn *fn, int never)
{
    BRG_ASSERT(m->name != NULL && !(fn && never));
    declaration *d = declaration_of(m->name);

    if (!d) {
        BRG_ASSERT(declarations_n >= 0 && declarations_n <= DECLARATIONS_MOST);
        if (declarations_n == DECLARATIONS_MOST)
            return NULL; /* an undeclared module is slower, never wrong */
        if (declarations_n == 0 && apr_hook_global_pool)
            apr_pool_cleanup_register(apr_hook_global_pool, NULL, declarations_end,
                                      apr_pool_cleanup_null);
        d = &declarations[declarations_n++];
        memset(d, 0, sizeof *d);
        d->name = m->name;
        declaration_read_row(d);
    }
    d->of = m;
    d->fn = fn;
    d->never = never;
    return d;
}

void declarations_drop_unloaded(void)
{
    int kept = 0;

    BRG_ASSERT(ap_loaded_modules != NULL);
    for (int i = 0; i < declarations_n; i++) {
        module *const *m = ap_loaded_modules;

        while (*m && *m != declarations[i].of)
            m++;
        if (*m)
            declarations[kept++] = declarations[i];
    }
    BRG_ASSERT(kept <= declarations_n);
    declarations_n = kept;
}

BRG_DECLARE(void) brg_cache_declare(module *m, brg_cache_fn *fn)
{
    declaration_add(m, fn, 0);
}

BRG_DECLARE(void) brg_cache_name_declare(module *m, brg_cache_name_fn *fn)
{
    declaration *d = declaration_of(m->name);

    if (d)
        d->name_fn = fn;
}

BRG_DECLARE(void)
brg_transaction_log_declare(module *m, brg_transaction_ready_fn *ready, brg_transaction_log_fn *log)
{
    declaration *d = declaration_of(m->name);

    if (!d)
        return; /* undeclared: its answers are not stored */
    d->log_ready = ready;
    d->log_stored = log;
    d->log_declared = 1;
}

BRG_DECLARE(void) brg_transaction_observe(module *m, brg_transaction_ready_fn *ready)
{
    declaration *d = declaration_of(m->name);

    if (d)
        d->unobserved = ready;
}

BRG_DECLARE(void) brg_auth_declare(module *m)
{
    declaration *d = declaration_of(m->name);

    if (d)
        d->auth_inline = 1;
}

BRG_DECLARE(void) brg_auth_ask(module *m, brg_auth_waits_fn *fn)
{
    declaration *d = declaration_of(m->name);

    if (d)
        d->auth_waits = fn;
}

BRG_DECLARE(void) brg_cache_leaves_query(module *m)
{
    declaration *d = declaration_of(m->name);

    if (d)
        d->query_free = 1;
}

BRG_DECLARE(void) brg_nonblocking_declare(module *m)
{
    declaration_add(m, NULL, 1);
}

BRG_DECLARE(void) brg_phases_wait_declare(module *m, brg_phases_wait_fn *fn)
{
    declaration *d = declaration_of(m->name);

    BRG_ASSERT(d != NULL || declarations_n == DECLARATIONS_MOST);
    if (d)
        d->phases_wait = fn;
}

BRG_DECLARE(void) brg_phases_need_worker(void)
{
    atomic_store_explicit(&declared_phases_wait, 1, memory_order_relaxed);
}
