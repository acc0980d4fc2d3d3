/* SPDX-License-Identifier: Apache-2.0 */
/* Directive name -> definitions, of all active modules. */
#include "httpd.h"
#include "http_config.h"
#include "apr_hash.h"
#include "apr_strings.h"
#include "configuration.h"
#include "brigade/assert.h"

/* The pool of the index is emptied with every change of the set of modules that removes one:
 * rebuilding is cheap and happens while a configuration is read or torn down only. */
static apr_pool_t *conf_index_pool;
static apr_hash_t *conf_index;

static const char *conf_command_key(apr_pool_t *p, const char *name)
{
    char *key = apr_pstrdup(p, name);

    ap_str_tolower(key);
    return key;
}

static void conf_index_clear(void)
{
    if (!conf_index_pool) {
        apr_pool_create(&conf_index_pool, NULL);
        apr_pool_tag(conf_index_pool, "directives");
    } else {
        apr_pool_clear(conf_index_pool);
    }
    conf_index = apr_hash_make(conf_index_pool);
}

void conf_commands_add(module *m)
{
    BRG_ASSERT(m->module_index >= 0);
    if (!conf_index)
        conf_index_clear();
    for (const command_rec *cmd = m->cmds; cmd && cmd->name; cmd++) {
        const char *key = conf_command_key(conf_index_pool, cmd->name);
        conf_command *entry = apr_pcalloc(conf_index_pool, sizeof *entry);

        entry->cmd = cmd;
        entry->mod = m;
        entry->next = apr_hash_get(conf_index, key, APR_HASH_KEY_STRING);
        apr_hash_set(conf_index, key, APR_HASH_KEY_STRING, entry);
    }
}

void conf_commands_remove(const module *gone)
{
    if (!gone->cmds)
        return;
    conf_index_clear();
    if (!ap_loaded_modules)
        return;
    for (module **m = ap_loaded_modules; *m; m++)
        if (*m != gone && (*m)->module_index != -1)
            conf_commands_add(*m);
}

/* Longest name that is looked up without allocating. */
#define CONF_NAME_MAX 128

const conf_command *conf_commands_find(const char *name)
{
    char key[CONF_NAME_MAX];
    apr_size_t len = strlen(name);

    if (!conf_index || len >= sizeof key)
        return NULL;
    memcpy(key, name, len + 1);
    ap_str_tolower(key);
    return apr_hash_get(conf_index, key, (apr_ssize_t)len);
}

AP_DECLARE(int) ap_exists_directive(apr_pool_t *p, const char *name)
{
    module *mod = ap_top_module;

    return ap_find_command_in_modules(name, &mod) != NULL;
}

AP_CORE_DECLARE(const command_rec *) ap_find_command(const char *name, const command_rec *cmds)
{
    for (; cmds && cmds->name; cmds++)
        if (!ap_cstr_casecmp(name, cmds->name))
            return cmds;
    return NULL;
}

AP_CORE_DECLARE(const command_rec *) ap_find_command_in_modules(const char *cmd_name, module **mod)
{
    for (; *mod; *mod = (*mod)->next) {
        const command_rec *cmd = ap_find_command(cmd_name, (*mod)->cmds);

        if (cmd)
            return cmd;
    }
    return NULL;
}
