/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_filter: output filters that are chosen when the response is known.
 */
#include "filter_private.h"
#include "http_core.h"
#include "http_request.h"
#include "brigade/content_coding.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(filter);

static void *modfilter_create_conf(apr_pool_t *p, char *dir)
{
    modfilter_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->filters = apr_hash_make(p);
    return conf;
}

static void modfilter_copy_chain(apr_pool_t *p, const modfilter_link *from, modfilter_link ***end)
{
    for (; from; from = from->next) {
        modfilter_link *link = apr_pcalloc(p, sizeof(*link));

        link->name = from->name;
        **end = link;
        *end = &link->next;
    }
}

static void *modfilter_merge_conf(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const modfilter_conf *base = base_conf, *add = add_conf;
    modfilter_conf *conf = apr_palloc(p, sizeof(*conf));
    modfilter_link **end = &conf->chain;

    conf->filters = apr_hash_overlay(p, add->filters, base->filters);
    conf->resets = base->resets || add->resets;
    if (add->resets || base->chain == NULL) {
        conf->chain = add->chain;
    } else if (add->chain == NULL) {
        conf->chain = base->chain;
    } else {
        conf->chain = NULL;
        modfilter_copy_chain(p, base->chain, &end);
        modfilter_copy_chain(p, add->chain, &end);
    }
    return conf;
}

/* Providers that are chosen by content type alone, which is the file's. Their effect on the body is
 * looked at where a handler offers it. */
static int modfilter_is_by_type(const modfilter_conf *conf, const char *name)
{
    const ap_filter_rec_t *smart = apr_hash_get(conf->filters, name, APR_HASH_KEY_STRING);

    if (smart == NULL)
        return 0;
    for (const ap_filter_provider_t *p = smart->providers; p; p = p->next)
        if (p->expr)
            return 0;
    return 1;
}

static int modfilter_depends(request_rec *r)
{
    const modfilter_conf *conf = ap_get_module_config(r->per_dir_config, &filter_module);

    for (const modfilter_link *link = conf->chain; link; link = link->next)
        if (!modfilter_is_by_type(conf, link->name))
            return BRG_CACHE_VOLATILE;
    return BRG_CACHE_STATIC;
}

static void modfilter_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(brg_filter_chosen);
    APR_REGISTER_OPTIONAL_FN(brg_filter_types);
    ap_hook_insert_filter(modfilter_insert, NULL, NULL, APR_HOOK_MIDDLE);
    brg_cache_declare(&filter_module, modfilter_depends);
    brg_hooks_need_directive(&filter_module, "insert_filter", NULL, BRG_HOOKS_BY_SERVER);
}

module AP_MODULE_DECLARE_DATA filter_module = {
    STANDARD20_MODULE_STUFF,
    modfilter_create_conf,
    modfilter_merge_conf,
    NULL,
    NULL,
    modfilter_commands,
    modfilter_register_hooks,
    0,
};
