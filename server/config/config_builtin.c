/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that are part of the program: entering them at start, and BuiltinModule, which takes one
 * out for the length of a generation so that LoadModule can bring another in its place. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "configuration.h"
#include "declarations.h"
#include "provider.h"

static int conf_hooks_stale; /* a module was taken out after its hooks had been registered */

module *conf_builtin_find(const char *symbol)
{
    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++)
        if (!strcmp(s->name, symbol))
            return s->modp;
    return NULL;
}

static const char *conf_builtin_symbol(const module *m)
{
    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++)
        if (s->modp == m)
            return s->name;
    return NULL;
}

/* Enter all built-in modules that are not active: every one at start, those taken out when a
 * generation ends. */
AP_DECLARE(const char *) ap_setup_prelinked_modules(process_rec *process)
{
    for (module **m = ap_prelinked_modules; *m; m++) {
        const char *error;

        if ((*m)->module_index != -1)
            continue;
        error = ap_add_loaded_module(*m, process->pool, conf_builtin_symbol(*m));
        if (error)
            return error;
    }
    conf_hooks_stale = 0;
    return NULL;
}

int conf_builtin_is_off(const char *symbol)
{
    const module *m = conf_builtin_find(symbol);

    return m && m->module_index == -1;
}

/* Without these there is no server. */
static int conf_builtin_is_vital(const module *m)
{
    static const char *const vital[] = {"core.c",  "http_core.c", "mod_so.c",
                                        "event.c", "prefork.c",   NULL};

    for (int i = 0; vital[i]; i++)
        if (!strcmp(m->name, vital[i]))
            return 1;
    return 0;
}

void conf_builtin_replace(module *m)
{
    ap_remove_loaded_module(m);
    conf_hooks_stale = 1;
}

const char *conf_builtin_off(const char *name)
{
    module *m = conf_find_module(name);

    if (!m || !conf_builtin_symbol(m))
        return "no such built-in module (see -l)";
    if (conf_builtin_is_vital(m))
        return "the server cannot do without this module";
    conf_builtin_replace(m);
    return NULL;
}

void conf_register_afresh(module **modules, apr_pool_t *pconf)
{
    apr_hook_deregister_all();
    provider_registry_clear();
    /* The binary of a module must not be taken for what the built-in one, taken out, said of
     * itself. */
    declarations_forget();
    ap_clear_auth_internal();
    for (module **m = modules; *m; m++)
        ap_register_hooks(*m, pconf);
}

void conf_builtin_settle(apr_pool_t *pconf)
{
    if (!conf_hooks_stale)
        return;
    conf_register_afresh(ap_loaded_modules, pconf);
    conf_hooks_stale = 0;
}
