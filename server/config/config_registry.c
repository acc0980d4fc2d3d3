/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of modules: which are active, the index of each in configuration vectors, and their
 * names.
 *
 * An index belongs to a module from ap_add_module to ap_remove_module. The lowest free one is given
 * out, so that taking a module out of the middle (BuiltinModule Off) can never hand one index to
 * two modules.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "configuration.h"
#include "hook_lists.h"
#include "module_rows.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(core);

#define CONF_MAX_BUILTIN 64
#define CONF_MAX_MODULES (CONF_MAX_BUILTIN + DYNAMIC_MODULE_LIMIT)

AP_DECLARE_DATA module *ap_top_module = NULL;
AP_DECLARE_DATA module **ap_loaded_modules = NULL;

typedef struct conf_slot {
    module *mod;
    const char *symbol, *short_name;
} conf_slot;

static conf_slot conf_slots[CONF_MAX_MODULES];
static module *conf_loaded[CONF_MAX_MODULES + 1];
static int conf_slots_used = HOOK_SERVER_SLOT + 1; /* one more than the highest index in use */
static int conf_dynamic_n;
static int conf_files_n; /* of these, directives about requests */
static int conf_vector_len = CONF_MAX_MODULES;

int conf_vector_slots(void)
{
    return conf_vector_len;
}

void conf_registry_open(void)
{
    conf_vector_len = CONF_MAX_MODULES;
}

void conf_registry_seal(void)
{
    BRG_ASSERT(conf_slots_used <= conf_vector_len);
    conf_vector_len = conf_slots_used;
}

AP_DECLARE(void) ap_reserve_module_slots(int count)
{
    if (count > 0 && conf_vector_len + count <= CONF_MAX_MODULES)
        conf_vector_len += count;
}

static int conf_tree_count(const ap_directive_t *d, const char *name)
{
    int n = 0;

    for (; d; d = d->next) {
        n += !ap_cstr_casecmp(d->directive, name);
        n += conf_tree_count(d->first_child, name);
    }
    return n;
}

AP_DECLARE(void) ap_reserve_module_slots_directive(const char *directive)
{
    ap_reserve_module_slots(conf_tree_count(ap_conftree, directive));
}

static const char *conf_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "mime_module" and "mod_mime.c" both shorten to "mime". */
static const char *conf_short_name(apr_pool_t *p, const char *name)
{
    apr_size_t len = strlen(name);

    if (len > 7 && !strcmp(name + len - 7, "_module"))
        return apr_pstrndup(p, name, len - 7);
    if (len > 2 && !strcmp(name + len - 2, ".c")) {
        int skip = !strncmp(name, "mod_", 4) && len > 6 ? 4 : 0;

        return apr_pstrndup(p, name + skip, len - 2 - skip);
    }
    return name;
}

static int conf_slot_take(void)
{
    for (int i = 0; i < CONF_MAX_MODULES; i++) {
        if (!conf_slots[i].mod && i != HOOK_SERVER_SLOT) {
            if (i >= conf_slots_used)
                conf_slots_used = i + 1;
            return i;
        }
    }
    return -1;
}

static void conf_slot_release(int index)
{
    BRG_ASSERT(index >= 0 && index < conf_slots_used);
    BRG_ASSERT(conf_slots[index].mod != NULL);
    memset(&conf_slots[index], 0, sizeof conf_slots[index]);
    while (conf_slots_used > HOOK_SERVER_SLOT + 1 && !conf_slots[conf_slots_used - 1].mod)
        conf_slots_used--;
}

static const char *conf_module_compatible(apr_pool_t *p, const module *m)
{
    if (m->version == MODULE_MAGIC_NUMBER_MAJOR)
        return NULL;
    return apr_psprintf(p,
                        "module \"%s\" is not compatible with this server: it was built for the "
                        "module interface %d, this is %d",
                        m->name, m->version, MODULE_MAGIC_NUMBER_MAJOR);
}

int conf_has_module_files(void)
{
    return conf_files_n > 0;
}

/* It comes, or goes. @param n  1 or -1 */
static void conf_count_file(const module *m, int n)
{
    if (!m->dynamic_load_handle)
        return;
    conf_dynamic_n += n;
    conf_files_n += module_rows_idle(conf_slots[m->module_index].symbol) ? 0 : n;
    BRG_ASSERT(conf_files_n >= 0 && conf_dynamic_n >= conf_files_n);
}

/* Give m an index and its names. */
static const char *conf_module_enter(module *m, apr_pool_t *p, const char *symbol)
{
    const module_row *row = symbol ? module_row_of_symbol(symbol) : NULL;
    int index = -1;

    BRG_ASSERT(m->module_index == -1);
    if (!m->dynamic_load_handle || conf_dynamic_n < DYNAMIC_MODULE_LIMIT)
        index = conf_slot_take();
    if (index < 0)
        return apr_psprintf(p, "module \"%s\" could not be loaded: %d modules are loaded already",
                            m->name, conf_dynamic_n);
    BRG_ASSERT(index < CONF_MAX_MODULES);
    m->module_index = index;
    conf_slots[index].mod = m;
    if (row) { /* the pool may be the program's, which would grow with each reading */
        conf_slots[index].symbol = row->symbol;
        conf_slots[index].short_name = row->short_name;
    } else {
        conf_slots[index].symbol = symbol ? apr_pstrdup(p, symbol) : m->name;
        conf_slots[index].short_name = conf_short_name(p, conf_slots[index].symbol);
    }
    conf_count_file(m, 1);
    return NULL;
}

static int conf_module_is_listed(const module *m)
{
    for (const module *i = ap_top_module; i; i = i->next)
        if (i == m)
            return 1;
    return 0;
}

AP_DECLARE(const char *) ap_add_module(module *m, apr_pool_t *p, const char *s)
{
    const char *error = conf_module_compatible(p, m);

    if (error)
        return error;
    m->name = conf_base_name(m->name);
    if (m->module_index == -1) {
        error = conf_module_enter(m, p, s);
        if (error)
            return error;
    }
    if (!conf_module_is_listed(m)) {
        m->next = ap_top_module;
        ap_top_module = m;
    }
    conf_commands_add(m);
    ap_register_hooks(m, p);
    return NULL;
}

AP_DECLARE(void) ap_remove_module(module *m)
{
    module **link = &ap_top_module;

    while (*link && *link != m)
        link = &(*link)->next;
    if (!*link) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf,
                     "Cannot remove module %s: not found in module list", m->name);
        return;
    }
    *link = m->next;
    m->next = NULL;
    BRG_ASSERT(m->module_index >= 0 && conf_slots[m->module_index].mod == m);
    conf_commands_remove(m);
    conf_count_file(m, -1);
    conf_slot_release(m->module_index);
    m->module_index = -1;
}

AP_DECLARE(const char *) ap_add_loaded_module(module *mod, apr_pool_t *p, const char *s)
{
    const char *error = ap_add_module(mod, p, s);
    int n = 0;

    if (error)
        return error;
    BRG_ASSERT(mod->module_index >= 0);
    ap_loaded_modules = conf_loaded;
    while (conf_loaded[n] && conf_loaded[n] != mod)
        n++;
    if (!conf_loaded[n]) {
        BRG_ASSERT(n < CONF_MAX_MODULES);
        conf_loaded[n] = mod;
        conf_loaded[n + 1] = NULL;
    }
    return NULL;
}

AP_DECLARE(void) ap_remove_loaded_module(module *mod)
{
    int n = 0;

    ap_remove_module(mod);
    while (conf_loaded[n] && conf_loaded[n] != mod)
        n++;
    for (; conf_loaded[n]; n++)
        conf_loaded[n] = conf_loaded[n + 1];
}

AP_DECLARE(void) ap_register_hooks(module *m, apr_pool_t *p)
{
    if (!m->register_hooks)
        return;
    apr_hook_debug_current = m->name;
    m->register_hooks(p);
    apr_hook_debug_current = NULL;
}

AP_DECLARE(void) ap_run_rewrite_args(process_rec *process)
{
    for (module *m = ap_top_module; m; m = m->next)
        if (m->rewrite_args)
            m->rewrite_args(process);
}

AP_DECLARE(const char *) ap_find_module_name(module *m)
{
    return m->name;
}

AP_DECLARE(const char *) ap_find_module_short_name(int module_index)
{
    if (module_index < 0 || module_index >= conf_slots_used)
        return NULL;
    return conf_slots[module_index].short_name;
}

AP_DECLARE(module *) ap_find_linked_module(const char *name)
{
    for (module *m = ap_top_module; m; m = m->next)
        if (!strcmp(m->name, name))
            return m;
    return NULL;
}

module *conf_find_module(const char *name)
{
    module *m = ap_find_linked_module(name);

    for (int i = 0; !m && i < conf_slots_used; i++) {
        const conf_slot *slot = &conf_slots[i];

        if (slot->mod && (!strcmp(slot->symbol, name) || !strcmp(slot->short_name, name)))
            m = slot->mod;
    }
    return m;
}

const char *conf_module_symbol(const module *m)
{
    int i = m->module_index;

    return i >= 0 && i < conf_slots_used && conf_slots[i].mod == m ? conf_slots[i].symbol : "";
}

AP_DECLARE(int) ap_get_module_flags(const module *m)
{
    /* A module of an older minor version ends before the field. */
    if (m->version < AP_MODULE_FLAGS_MMN_MAJOR ||
        (m->version == AP_MODULE_FLAGS_MMN_MAJOR && m->minor_version < AP_MODULE_FLAGS_MMN_MINOR))
        return AP_MODULE_FLAG_NONE;
    return m->flags;
}
