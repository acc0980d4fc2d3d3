/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in modules: which of them are active in a configuration.
 *
 * Apache has some of them as shared modules, which are active only if LoadModule names them. The
 * same holds here as soon as a configuration has a LoadModule line for a module of Apache
 * (BuiltinModules loaded). In one without such a line all are active. An IfModule before the first
 * such line must give the same result, so that line makes the reading begin again, without these
 * modules.
 *
 * BuiltinModule NAME Off takes one out for the length of a generation, so that LoadModule can open the
 * binary of the same name in its place. The same is done for a configuration that asks a built-in module
 * for what it does not offer: that is found out when its directives are walked, and then all is read
 * again. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_request.h"
#include "apr_hooks.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "configuration.h"
#include "declarations.h"
#include "provider.h"
#include <stdio.h>
#include <string.h>

APLOG_USE_MODULE(core);

#define CONF_BUILTIN_MAX 64

typedef enum conf_presence {
    CONF_PRESENT_AUTO,
    CONF_PRESENT_ALL,
    CONF_PRESENT_LOADED
} conf_presence;

static int conf_hooks_stale;       /* a module was taken out after its hooks had been registered */
static int conf_stock_loaded;      /* there was a LoadModule line for a module of Apache */
static int conf_mpm_named;         /* there was one for a process model */
static int conf_of_apache;         /* by these lines it is a configuration of Apache's */
static int conf_reread;            /* reading has to start over, with what was found out */
static conf_presence conf_present; /* what holds for the reading that goes on */
static conf_presence conf_present_asked;         /* by BuiltinModules; AUTO: not yet */
static char conf_switched_off[CONF_BUILTIN_MAX]; /* by BuiltinModule; by place in the table */
/* CONF_ON, or CONF_UNLESS_LACKING by Auto. */
enum { CONF_ON = 1, CONF_UNLESS_LACKING };
static char conf_switched_on[CONF_BUILTIN_MAX];
static char conf_replaceable[CONF_BUILTIN_MAX]; /* LoadModule named a file that is there */
static char conf_named[CONF_BUILTIN_MAX];       /* LoadModule named it */
static char conf_lacks[CONF_BUILTIN_MAX]
                      [512]; /* what a built-in module does not offer, and where */

/* Built-in modules that Apache has as shared ones, in Debian's package for instance. */
static int conf_builtin_is_shared(const module *m)
{
    static const char *const shared[] = {"mod_access_compat.c",
                                         "mod_alias.c",
                                         "mod_authz_core.c",
                                         "mod_authz_host.c",
                                         "mod_autoindex.c",
                                         "mod_brotli.c",
                                         "mod_deflate.c",
                                         "mod_dir.c",
                                         "mod_env.c",
                                         "mod_expires.c",
                                         "mod_filter.c",
                                         "mod_headers.c",
                                         "mod_http2.c",
                                         "mod_include.c",
                                         "mod_mime.c",
                                         "mod_remoteip.c",
                                         "mod_reqtimeout.c",
                                         "mod_request.c",
                                         "mod_rewrite.c",
                                         "mod_setenvif.c",
                                         "mod_ssl.c",
                                         "mod_status.c",
                                         "mod_zstd.c",
                                         NULL};

    for (int i = 0; shared[i]; i++)
        if (!strcmp(m->name, shared[i]))
            return 1;
    return 0;
}

/* Built-in modules that LoadModule takes in a configuration of Apache's only if BuiltinModule NAME On or Auto stands
 * before it. */
static int conf_builtin_is_second(const module *m)
{
    return !strcmp(m->name, "mod_deflate.c") || !strcmp(m->name, "mod_brotli.c");
}

/* Whether BuiltinModule switched a built-in module off. */
static char *conf_switch_of(const module *m)
{
    int i = 0;

    while (ap_prelinked_modules[i] && ap_prelinked_modules[i] != m)
        i++;
    BRG_ASSERT(ap_prelinked_modules[i] == m && i < CONF_BUILTIN_MAX);
    return &conf_switched_off[i];
}

/* Whether it switched one on. */
static char *conf_switch_on_of(const module *m)
{
    return &conf_switched_on[conf_switch_of(m) - conf_switched_off];
}

/* What this configuration asks of a built-in module that it does not offer; "": nothing. */
static char *conf_lack_of(const module *m)
{
    return conf_lacks[conf_switch_of(m) - conf_switched_off];
}

module *conf_builtin_find(const char *symbol)
{
    for (const ap_module_symbol_t *s = ap_prelinked_module_symbols; s->name; s++)
        if (!strcmp(s->name, symbol))
            return s->modp;
    return NULL;
}

/* LoadModule takes the file that it names: where something lacks; of modules that are second to Apache's, in
 * configurations of Apache's and in those that name what is built in; and HTTP/2 of our own goes over TLS of our own. */
static int conf_builtin_gives_way(const module *m)
{
    const module *ssl = conf_builtin_find("ssl_module");

    if (*conf_lack_of(m))
        return 1;
    if (*conf_switch_on_of(m))
        return 0;
    if (conf_builtin_is_second(m))
        return conf_present != CONF_PRESENT_AUTO;
    return !strcmp(m->name, "mod_http2.c") && ssl && (*conf_lack_of(ssl) || *conf_switch_of(ssl));
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
    memset(conf_switched_off, 0, sizeof conf_switched_off);
    memset(conf_switched_on, 0, sizeof conf_switched_on);
    memset(conf_replaceable, 0, sizeof conf_replaceable);
    memset(conf_named, 0, sizeof conf_named);
    for (module **m = ap_prelinked_modules; *m; m++) {
        const char *error;

        (*m)->name = apr_filepath_name_get((*m)->name);
        if (conf_present == CONF_PRESENT_LOADED && conf_builtin_is_shared(*m))
            continue;
        error = ap_add_loaded_module(*m, process->pool, conf_builtin_symbol(*m));
        if (error)
            return error;
    }
    conf_hooks_stale = 0;
    return NULL;
}

/* ---- BuiltinModules, and what LoadModule lines say about it ---- */

void conf_builtin_begin(void)
{
    conf_present = conf_present_asked = CONF_PRESENT_AUTO;
    conf_reread = conf_stock_loaded = conf_mpm_named = conf_of_apache = 0;
    memset(conf_lacks, 0, sizeof conf_lacks);
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

/* It is a configuration of Apache's, which names all that it wants: no such one goes without mod_authz_core
 * or a process model. One of ours may add some of Apache's modules (mod_ssl, say) to what is built in. */
static int conf_is_apaches(const char *symbol)
{
    conf_mpm_named |= !strncmp(symbol, "mpm_", 4);
    conf_stock_loaded |= stock_module_is(symbol);
    if (strcmp(symbol, "authz_core_module") != 0 && !(conf_mpm_named && conf_stock_loaded))
        return 0;
    conf_of_apache = 1;
    return 1;
}

const char *conf_builtin_stock_load(const char *symbol)
{
    const module *m = conf_builtin_find(symbol);

    if (!conf_is_apaches(symbol) || conf_present != CONF_PRESENT_AUTO || (m && *conf_switch_of(m)))
        return NULL;
    conf_present = CONF_PRESENT_LOADED;
    conf_reread = 1;
    return conf_again;
}

module *conf_builtin_absent(const char *symbol)
{
    module *m = conf_builtin_find(symbol);

    if (!m || m->module_index != -1 || *conf_switch_of(m))
        return NULL;
    return conf_builtin_gives_way(m) ? NULL : m;
}

int conf_builtin_waits_for_load(const module *m)
{
    return conf_present == CONF_PRESENT_LOADED && conf_builtin_is_shared(m);
}

void conf_builtin_print(void)
{
    printf("Compiled in modules:\n");
    for (module **m = ap_prelinked_modules; *m; m++)
        if (!conf_builtin_is_shared(*m))
            printf("  %s\n", (*m)->name);
    printf("Compiled in, but only present where LoadModule names them if a configuration loads "
           "modules of Apache (see BuiltinModules):\n");
    for (module **m = ap_prelinked_modules; *m; m++)
        if (conf_builtin_is_shared(*m))
            printf("  %s\n", (*m)->name);
}

/* ---- BuiltinModule NAME Off ---- */

int conf_builtin_is_off(const char *symbol)
{
    const module *m = conf_builtin_find(symbol);

    return m && m->module_index == -1;
}

/* The server needs these. */
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

    if (m && !*conf_switch_of(m) && (m->module_index != -1 || conf_builtin_waits_for_load(m))) {
        *conf_switch_on_of(m) = unless_lacking ? CONF_UNLESS_LACKING : CONF_ON;
        return NULL;
    }
    if (conf_find_module(name))
        return NULL;
    return "is not active: no such built-in module, or it was switched off before";
}

/* ---- what a built-in module does not offer ---- */

void conf_builtin_named_file(const char *symbol, int is_there)
{
    module *m = conf_builtin_find(symbol);

    if (!m || *conf_switch_of(m))
        return;
    conf_named[conf_switch_of(m) - conf_switched_off] = 1;
    conf_replaceable[conf_switch_of(m) - conf_switched_off] = is_there != 0;
    if (m->module_index != -1 && conf_builtin_gives_way(m))
        conf_builtin_replace(m);
}

int conf_builtin_was_named(const module *m)
{
    return conf_named[conf_switch_of(m) - conf_switched_off];
}

const char *conf_builtin_lacks(const cmd_parms *cmd, const module *m, const char *what)
{
    BRG_ASSERT(m->module_index != -1 && what != NULL);
    if (conf_is_htaccess(cmd) || !cmd->directive || *conf_switch_on_of(m) == CONF_ON ||
        !conf_replaceable[conf_switch_of(m) - conf_switched_off])
        return NULL;
    apr_snprintf(conf_lack_of(m), sizeof *conf_lacks, "%s:%d: %s", cmd->directive->filename,
                 cmd->directive->line_num, what);
    conf_reread = 1;
    return conf_again;
}

void conf_builtin_tell_lacks(const server_rec *s)
{
    for (module **m = ap_prelinked_modules; *m; m++)
        if (*conf_lack_of(*m))
            ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s,
                         "%s is not offered by the built-in %s: the file that LoadModule names is "
                         "used in its place",
                         conf_lack_of(*m), (*m)->name);
}

const char *conf_builtin_off(const char *name)
{
    module *m = conf_builtin_named(name);

    if (!m || *conf_switch_of(m))
        return "no such built-in module (see -l)";
    if (conf_builtin_is_vital(m))
        return "the server cannot do without this module";
    *conf_switch_of(m) = 1;
    if (m->module_index != -1)
        conf_builtin_replace(m);
    return NULL;
}

void conf_register_afresh(module **modules, apr_pool_t *pconf)
{
    BRG_ASSERT(modules != NULL && pconf != NULL);
    apr_hook_deregister_all();
    provider_registry_clear();
    /* The binary of a module must not be taken for what the built-in one, taken out, said of
     * itself. */
    declarations_forget();
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
