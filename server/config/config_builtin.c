/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in modules: which of them are active in a configuration.
 *
 * Apache has some of them as shared modules, which are active only if LoadModule names them. The
 * same holds here as soon as a configuration has a LoadModule line for a module of Apache
 * (BuiltinModules loaded). In one without such a line all are active. An IfModule before the first
 * such line must give the same result, so that line makes the reading begin again, without these
 * modules.
 *
 * BuiltinModule NAME Off takes one out for the length of a generation, so that LoadModule can open
 * the binary of the same name in its place. The same is done for a configuration that asks a
 * built-in module for a missing feature: its directives are walked, that is found, and then
 * everything is read again. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "brigade/directive.h"
#include "apr_hooks.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "configuration.h"
#include "config_family_private.h"
#include "module_rows.h"
#include "declarations.h"
#include "hook_needs.h"
#include "provider.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

APLOG_USE_MODULE(core);

typedef enum conf_presence {
    CONF_PRESENT_AUTO,
    CONF_PRESENT_ALL,
    CONF_PRESENT_LOADED
} conf_presence;

static int conf_hooks_stale;       /* a module was taken out after its hooks had been registered */
static int conf_stock_loaded;      /* there was a LoadModule line for a module of Apache */
static int conf_mpm_named;         /* there was one for a process model */
static int conf_of_apache;         /* by these lines it is a configuration of Apache's */
static int conf_reread;            /* reading has to start over, with this knowledge */
static conf_presence conf_present; /* state of the current reading */
static conf_presence conf_present_asked; /* by BuiltinModules; AUTO: not yet */

/* By the row. A lack lasts until another configuration is read, the rest until reading starts over. */
static conf_module_state conf_states[MODULE_ROWS_MOST];

/* Where in module_rows a built-in module's row stands. */
static int conf_row_number(const module *m)
{
    int i = 0;
    const module_row *row;

    while (ap_prelinked_modules[i] && ap_prelinked_modules[i] != m)
        i++;
    BRG_ASSERT(ap_prelinked_modules[i] == m);
    row = module_row_of_symbol(ap_prelinked_module_symbols[i].name);
    BRG_ASSERT(row != NULL && row->is_builtin);
    return (int)(row - module_rows);
}

static const module_row *conf_row(const module *m)
{
    return &module_rows[conf_row_number(m)];
}

module *conf_builtin_find(const char *symbol)
{
    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++)
        if (!strcmp(s->name, symbol))
            return s->modp;
    return NULL;
}

static conf_module_state *conf_state(const module *m)
{
    return &conf_states[conf_row_number(m)];
}

static int conf_is_out(int place)
{
    return conf_family_is_out(module_rows, conf_states, module_rows_n, place);
}

/* Whether another one, on which this one is built, is left to a file. */
static int conf_needs_what_is_out(const module_row *row)
{
    const module *m = row->needs ? conf_builtin_find(row->needs) : NULL;

    return m && (*conf_state(m)->lack || conf_state(m)->off);
}

/* LoadModule takes the file that it names: where the module, or one of its family, lacks something;
 * and for modules that are second to Apache's, in configurations of Apache's and in those that name
 * built-in modules, if the file is there. */
static int conf_builtin_gives_way(const module *m)
{
    const int place = conf_row_number(m);
    const module_row *row = &module_rows[place];

    if (*conf_states[place].lack || conf_is_out(place))
        return 1;
    if (conf_states[place].on)
        return 0;
    if (row->second)
        return conf_present != CONF_PRESENT_AUTO && conf_states[place].replaceable;
    return conf_needs_what_is_out(row);
}

static const char *conf_builtin_symbol(const module *m)
{
    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++)
        if (s->modp == m)
            return s->name;
    return NULL;
}

/* Enter the built-in modules that are present without LoadModule, in the order of the table. */
AP_DECLARE(const char *) ap_setup_prelinked_modules(process_rec *process)
{
    for (module **m = ap_prelinked_modules; *m; m++)
        if ((*m)->module_index != -1)
            ap_remove_loaded_module(*m);
    for (int i = 0; i < MODULE_ROWS_MOST; i++)
        memset(&conf_states[i], 0, offsetof(conf_module_state, lack));
    for (module **m = ap_prelinked_modules; *m; m++) {
        const char *error;

        (*m)->name = apr_filepath_name_get((*m)->name);
        if ((conf_present == CONF_PRESENT_LOADED && conf_row(*m)->shared) ||
            conf_is_out(conf_row_number(*m)))
            continue;
        error = ap_add_loaded_module(*m, process->pool, conf_builtin_symbol(*m));
        if (error)
            return error;
    }
    conf_hooks_stale = 0;
    return NULL;
}

/* ---- BuiltinModules, and LoadModule lines ---- */

void conf_builtin_begin(void)
{
    conf_present = conf_present_asked = CONF_PRESENT_AUTO;
    conf_reread = conf_stock_loaded = conf_mpm_named = conf_of_apache = 0;
    memset(conf_states, 0, sizeof conf_states);
}

int conf_loads_stock(void)
{
    return conf_stock_loaded;
}

int conf_is_of_apache(void)
{
    return conf_of_apache;
}

int conf_builtin_reread(void)
{
    int again = conf_reread;

    conf_reread = 0;
    return again;
}

int conf_builtin_rereads(void)
{
    return conf_reread;
}

static const char conf_again[] = "the configuration is read again";

const char *conf_builtin_modules(const char *which)
{
    conf_presence wanted = !ap_cstr_casecmp(which, "all")      ? CONF_PRESENT_ALL
                           : !ap_cstr_casecmp(which, "loaded") ? CONF_PRESENT_LOADED
                                                               : CONF_PRESENT_AUTO;

    if (wanted == CONF_PRESENT_AUTO)
        return "BuiltinModules must be followed by loaded or all";
    if (conf_present_asked != CONF_PRESENT_AUTO && conf_present_asked != wanted)
        return "BuiltinModules says both loaded and all in one configuration";
    conf_present_asked = wanted;
    conf_reread = (conf_present == CONF_PRESENT_LOADED) != (wanted == CONF_PRESENT_LOADED);
    conf_present = wanted;
    return conf_reread ? conf_again : NULL;
}

/* It is a configuration of Apache's, which names all that it wants: no such one goes without
 * mod_authz_core or a process model. A configuration of ours may add some of Apache's modules
 * (mod_ssl, say) to the built-in ones. */
static int conf_is_apaches(const char *symbol)
{
    conf_mpm_named |= !strncmp(symbol, "mpm_", 4);
    conf_stock_loaded |= module_rows_apaches(symbol);
    if (strcmp(symbol, "authz_core_module") != 0 && !(conf_mpm_named && conf_stock_loaded))
        return 0;
    conf_of_apache = 1;
    return 1;
}

const char *conf_builtin_stock_load(const char *symbol)
{
    const module *m = conf_builtin_find(symbol);

    if (!conf_is_apaches(symbol) || conf_present != CONF_PRESENT_AUTO || (m && conf_state(m)->off))
        return NULL;
    conf_present = CONF_PRESENT_LOADED;
    conf_reread = 1;
    return conf_again;
}

module *conf_builtin_absent(const char *symbol)
{
    module *m = conf_builtin_find(symbol);

    if (!m || m->module_index != -1 || conf_state(m)->off)
        return NULL;
    return conf_builtin_gives_way(m) ? NULL : m;
}

int conf_builtin_waits_for_load(const module *m)
{
    return conf_present == CONF_PRESENT_LOADED && conf_row(m)->shared;
}

/* A line with a name alone means: IfModule knows the module wherever it is loaded, for scripts that
 * ask. */
static void conf_print_shared(const module *m)
{
    const char *by = conf_row(m)->served_by;

    if (by)
        printf("  %s (where LoadModule names it; else %s serves)\n", m->name, by);
    else
        printf("  %s\n", m->name);
}

void conf_builtin_print(void)
{
    printf("Compiled in modules:\n");
    for (module **m = ap_prelinked_modules; *m; m++)
        if (!conf_row(*m)->shared)
            printf("  %s\n", (*m)->name);
    printf("Compiled in, but only present where LoadModule names them if a configuration loads "
           "modules of Apache (see BuiltinModules):\n");
    for (module **m = ap_prelinked_modules; *m; m++)
        if (conf_row(*m)->shared)
            conf_print_shared(*m);
}

/* ---- BuiltinModule NAME Off ---- */

int conf_builtin_is_off(const char *symbol)
{
    const module *m = conf_builtin_find(symbol);

    return m && m->module_index == -1;
}

void conf_builtin_replace(module *m)
{
    BRG_ASSERT(m->module_index != -1);
    ap_remove_loaded_module(m);
    conf_hooks_stale = 1;
}

/* By any of its names: mod_x.c, x_module or x. */
static module *conf_builtin_named(const char *name)
{
    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++) {
        size_t len = strlen(s->name) - strlen("_module");

        if (!strcmp(s->name, name) || !strcmp(s->modp->name, name) ||
            (strlen(name) == len && !strncmp(s->name, name, len)))
            return s->modp;
    }
    return NULL;
}

const char *conf_builtin_on(const char *name, int unless_lacking)
{
    const module *m = conf_builtin_named(name);

    if (m && !conf_state(m)->off &&
        (m->module_index != -1 || conf_builtin_waits_for_load(m) ||
         conf_is_out(conf_row_number(m)))) {
        conf_state(m)->on = unless_lacking ? CONF_UNLESS_LACKING : CONF_ON;
        return NULL;
    }
    if (conf_find_module(name))
        return NULL;
    return "is not active: no such built-in module, or it was switched off before";
}

/* ---- missing features of built-in modules ---- */

static void conf_note_active(void)
{
    for (module **m = ap_prelinked_modules; *m; m++)
        conf_state(*m)->active = (*m)->module_index != -1;
}

static void conf_note_lack(const cmd_parms *cmd, int place, const char *what)
{
    apr_snprintf(conf_states[place].lack, sizeof conf_states[place].lack, "%s:%d: %s",
                 cmd->directive->filename, cmd->directive->line_num, what);
}

/* A file of a family: those of it that are built in give way. */
static const char *conf_family_from_file(const cmd_parms *cmd, const module_row *row)
{
    const int place = row ? (int)(row - module_rows) : 0;

    if (!row || !row->family || !cmd->directive || conf_is_out(place) ||
        conf_family_is_kept(module_rows, conf_states, module_rows_n, place))
        return NULL;
    conf_note_lack(cmd, place, row->symbol);
    conf_note_active();
    if (!conf_family_is_active(module_rows, conf_states, module_rows_n, place))
        return NULL;
    conf_reread = 1;
    return conf_again;
}

const char *conf_builtin_named_file(const cmd_parms *cmd, const char *symbol, int is_there)
{
    module *m = conf_builtin_find(symbol);

    if (!m || conf_state(m)->off)
        return is_there ? conf_family_from_file(cmd, module_row_of_symbol(symbol)) : NULL;
    conf_state(m)->named = 1;
    conf_state(m)->replaceable = is_there != 0;
    if (m->module_index != -1 && conf_builtin_gives_way(m))
        conf_builtin_replace(m);
    return NULL;
}

int conf_builtin_was_named(const module *m)
{
    return conf_state(m)->named;
}

/* Whether files can take the places of all that would have to give way. */
static int conf_is_replaceable(const module *m)
{
    const module_row *row = conf_row(m);

    if (!row->family)
        return conf_state(m)->replaceable;
    conf_note_active();
    return !conf_family_is_kept(module_rows, conf_states, module_rows_n, conf_row_number(m)) &&
           conf_family_has_files(module_rows, conf_states, module_rows_n, conf_row_number(m));
}

BRG_DECLARE(int) brg_module_is_named(const module *m)
{
    return conf_builtin_was_named(m);
}

const char *conf_builtin_lacks(const cmd_parms *cmd, const module *m, const char *what)
{
    BRG_ASSERT(m->module_index != -1 && what != NULL);
    if (conf_is_htaccess(cmd) || !cmd->directive || conf_state(m)->on == CONF_ON ||
        !conf_is_replaceable(m))
        return NULL;
    conf_note_lack(cmd, conf_row_number(m), what);
    conf_reread = 1;
    return conf_again;
}

void conf_builtin_tell_lacks(const server_rec *s)
{
    for (int i = 0; i < module_rows_n; i++) {
        const module_row *row = &module_rows[i];

        if (*conf_states[i].lack && row->family)
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                         "%s is not offered by the built-in modules: the files that LoadModule "
                         "names are used in place of all that belong to the %s modules",
                         conf_states[i].lack, row->family);
        else if (*conf_states[i].lack)
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                         "%s is not offered by the built-in %s: the file that LoadModule names is "
                         "used in its place",
                         conf_states[i].lack, row->name);
    }
}

const char *conf_builtin_off(const char *name)
{
    module *m = conf_builtin_named(name);

    if (!m || conf_state(m)->off)
        return "no such built-in module (see -l)";
    if (conf_row(m)->vital)
        return "the server cannot do without this module";
    conf_state(m)->off = 1;
    if (m->module_index != -1)
        conf_builtin_replace(m);
    return NULL;
}

void conf_register_afresh(module **modules, apr_pool_t *pconf)
{
    BRG_ASSERT(modules != NULL && pconf != NULL);
    apr_hook_deregister_all();
    provider_registry_clear();
    /* The binary of a module must not get the declarations of the built-in one that it replaces. */
    declarations_forget();
    hook_needs_forget();
    ap_clear_auth_internal();
    for (module **m = modules; *m; m++)
        ap_register_hooks(*m, pconf);
}

void conf_builtin_reregister(apr_pool_t *pconf)
{
    if (!conf_hooks_stale)
        return;
    conf_register_afresh(ap_loaded_modules, pconf);
    conf_hooks_stale = 0;
}
