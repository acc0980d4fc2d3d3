/* SPDX-License-Identifier: Apache-2.0 */
/* mod_rewrite: RewriteRule and its relatives.
 *
 * Rules of a server run when a URI is to become a file name (rewrite_server.c); rules of sections
 * and .htaccess files in the last phase, when all of them are known (rewrite_dir.c). A rule's
 * dependencies are noted when it is evaluated, so that responses can be stored by them. */
#include "rewrite_private.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_optional.h"
#include "apr_strings.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

static rewrite_conf *rewrite_new_conf(apr_pool_t *p)
{
    rewrite_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->conds = apr_array_make(p, 2, sizeof(rewrite_cond));
    conf->rules = apr_array_make(p, 2, sizeof(rewrite_rule));
    return conf;
}

static void *rewrite_create_server_conf(apr_pool_t *p, server_rec *s)
{
    rewrite_conf *conf = rewrite_new_conf(p);

    conf->server = s;
    conf->maps = apr_hash_make(p);
    return conf;
}

/* The folder always ends with a slash. */
static void *rewrite_create_dir_conf(apr_pool_t *p, char *path)
{
    rewrite_conf *conf = rewrite_new_conf(p);
    apr_size_t len = path ? strlen(path) : 0;

    conf->directory = path;
    if (len && path[len - 1] != '/')
        conf->directory = apr_pstrcat(p, path, "/", NULL);
    return conf;
}

static void rewrite_merge_settings(rewrite_conf *conf, const rewrite_conf *base,
                                   const rewrite_conf *add)
{
    const rewrite_conf *engine = add->on_set ? add : base;
    const rewrite_conf *options = add->options_set ? add : base;

    conf->on = engine->on;
    conf->on_set = base->on_set || add->on_set;
    conf->options = options->options;
    conf->options_set = base->options_set || add->options_set;
}

/* Which rules hold: the narrower ones, or both, in which order. */
static void rewrite_merge_rules(apr_pool_t *p, rewrite_conf *conf, const rewrite_conf *base,
                                const rewrite_conf *add)
{
    const int handed_down = !(add->options & REWRITE_O_IGNORE_INHERIT);
    const int after = (conf->options & REWRITE_O_INHERIT) ||
                      (handed_down && (base->options & REWRITE_O_INHERIT_DOWN));
    const int before = (conf->options & REWRITE_O_INHERIT_BEFORE) ||
                       (handed_down && (base->options & REWRITE_O_INHERIT_DOWN_BEFORE));
    const rewrite_conf *first = after ? add : base, *second = after ? base : add;

    if (!after && !before) {
        conf->maps = add->maps;
        conf->conds = add->conds;
        conf->rules = add->rules;
        return;
    }
    conf->maps = add->maps ? apr_hash_overlay(p, add->maps, base->maps) : NULL;
    conf->conds = apr_array_append(p, first->conds, second->conds);
    conf->rules = apr_array_append(p, first->rules, second->rules);
}

static void *rewrite_merge_server_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const rewrite_conf *base = base_conf, *add = add_conf;
    rewrite_conf *conf = apr_pcalloc(p, sizeof *conf);

    rewrite_merge_settings(conf, base, add);
    conf->server = add->server;
    rewrite_merge_rules(p, conf, base, add);
    return conf;
}

static void *rewrite_merge_dir_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const rewrite_conf *base = base_conf, *add = add_conf, *from = add;
    rewrite_conf *conf = apr_pcalloc(p, sizeof *conf);

    rewrite_merge_settings(conf, base, add);
    conf->directory = add->directory;
    if ((conf->options & REWRITE_O_MERGEBASE) && !add->base_set)
        from = base;
    conf->base = from->base;
    conf->base_set = from->base_set;
    rewrite_merge_rules(p, conf, base, add);
    return conf;
}

static int rewrite_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    rewrite_functions_register(pconf);
    return rewrite_programs_pre_config(pconf);
}

static int rewrite_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    rewrite_effects_begin();
    rewrite_set_proxy_available(ap_find_linked_module("mod_proxy.c") != NULL);
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        return OK;
    return rewrite_programs_start(p, s);
}

/* Tables are read before the first request asks for them. */
static void rewrite_read_maps(server_rec *s)
{
    for (; s; s = s->next) {
        const rewrite_conf *conf = ap_get_module_config(s->module_config, &rewrite_module);
        apr_hash_index_t *at = conf->maps && conf->on ? apr_hash_first(NULL, conf->maps) : NULL;

        for (; at; at = apr_hash_next(at)) {
            const rewrite_map *map = apr_hash_this_val(at);

            if (map->text)
                rewrite_text_prepare(map->text);
        }
    }
}

static void rewrite_child_init(apr_pool_t *p, server_rec *s)
{
    rewrite_programs_child(p, s);
    rewrite_read_maps(s);
}

static void rewrite_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(ap_register_rewrite_mapfunc);
    ap_hook_handler(rewrite_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_config(rewrite_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(rewrite_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(rewrite_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_fixups(rewrite_fixup, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_fixups(rewrite_fixup_type, NULL, NULL, APR_HOOK_LAST);
    ap_hook_translate_name(rewrite_translate, NULL, NULL, APR_HOOK_FIRST);
    brg_cache_declare(&rewrite_module, rewrite_depends);
    brg_cache_name_declare(&rewrite_module, rewrite_name);
    brg_hooks_need_directive(&rewrite_module, "translate_name fixups", NULL, BRG_HOOKS_BY_SERVER);
    brg_handlers_are_for(&rewrite_module, REWRITE_REDIRECT_HANDLER_NAME);
}

AP_DECLARE_MODULE(rewrite) = {
    STANDARD20_MODULE_STUFF,    rewrite_create_dir_conf,   rewrite_merge_dir_conf,
    rewrite_create_server_conf, rewrite_merge_server_conf, rewrite_commands,
    rewrite_register_hooks,     AP_MODULE_FLAG_NONE,
};
