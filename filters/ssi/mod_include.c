/* SPDX-License-Identifier: Apache-2.0 */
/* Server-side includes: the module. ssi_private.h has a map of its files. */
#include "ssi_private.h"
#include "ssi_esi.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "brigade/response_cache.h"
#include "brigade/ssi.h"
#include "apr_lib.h"
#include "apr_optional.h"
#include "apr_strings.h"

/* ---- elements ---- */

static const ssi_element include_elements[] = {
    {"include", ssi_do_include, 0, 1},   {"echo", ssi_do_echo, 0, 1},
    {"set", ssi_do_set, 0, 1},           {"if", ssi_do_if, 1, 1},
    {"elif", ssi_do_elif, 1, 1},         {"else", ssi_do_else, 1, 1},
    {"endif", ssi_do_endif, 1, 1},       {"config", ssi_do_config, 0, 1},
    {"fsize", ssi_do_fsize, 0, 1},       {"flastmod", ssi_do_flastmod, 0, 1},
    {"exec", ssi_do_exec, 0, 1},         {"printenv", ssi_do_printenv, 0, 1},
    {"comment", ssi_do_comment, 0, 1},   {"block", ssi_do_block, 1, 1},
    {"endblock", ssi_do_endblock, 1, 1},
};

static apr_hash_t *include_registered; /* of other modules; complete before the first request */

const ssi_element *ssi_element_find(const char *name)
{
    for (size_t i = 0; i < sizeof include_elements / sizeof *include_elements; i++)
        if (!strcmp(include_elements[i].name, name))
            return &include_elements[i];
    return include_registered ? apr_hash_get(include_registered, name, APR_HASH_KEY_STRING) : NULL;
}

/* A module cannot replace a built-in element. mod_cgi tries to, with exec; the built-in exec has time limits
 * and runs the program in a process group that can be killed. */
static void ssi_element_register(const char *name, include_handler_fn_t *fn)
{
    apr_pool_t *p;
    ssi_element *element;
    char *lower;

    if (!include_registered)
        return;
    p = apr_hash_pool_get(include_registered);
    lower = apr_pstrdup(p, name);
    for (char *c = lower; *c; c++)
        *c = (char)apr_tolower(*c);
    element = apr_pcalloc(p, sizeof *element);
    element->name = lower;
    element->fn = fn;
    apr_hash_set(include_registered, lower, APR_HASH_KEY_STRING, element);
}

/* The table was in a pool that ends. */
static apr_status_t include_forget(void *unused)
{
    include_registered = NULL;
    return APR_SUCCESS;
}

/* Forget elements of other modules; @a p holds those that come. Main thread, before they register. */
static void ssi_elements_init(apr_pool_t *p)
{
    include_registered = apr_hash_make(p);
    apr_pool_cleanup_register(p, NULL, include_forget, apr_pool_cleanup_null);
}

/* ---- for other modules ---- */

static void ap_register_include_handler(char *tag, include_handler_fn_t *fn)
{
    ssi_element_register(tag, fn);
}

static void ap_ssi_get_tag_and_value(include_ctx_t *ctx, char **tag, char **value, int decode)
{
    ssi_state *s = ctx->intern;
    const ssi_arg *arg;

    BRG_ASSERT_TAG(s, SSI_STATE_TAG);
    *tag = *value = NULL;
    if (!s->directive || s->arg_next >= s->directive->args_n)
        return;
    arg = &s->directive->args[s->arg_next++];
    s->dpool_used = 1;
    *tag = apr_pstrdup(ctx->dpool, arg->name);
    if (arg->value)
        *value = apr_pstrdup(ctx->dpool, decode == SSI_VALUE_DECODED ? arg->decoded : arg->value);
}

static char *ap_ssi_parse_string(include_ctx_t *ctx, const char *in, char *out, apr_size_t length,
                                 int leave_name)
{
    return ssi_expand_into(ctx, in, out, length, leave_name);
}

/* Run by --check-ssi. */
static int brg_check_ssi(apr_pool_t *p, int n, const char *const *files)
{
    return ssi_check_files(p, n, files);
}

/* ---- hooks ---- */

static int include_is_html(const request_rec *r)
{
    const char *type = r->content_type;

    return type && !strncasecmp(type, "text/html", 9) &&
           (!type[9] || type[9] == ';' || apr_isspace(type[9]));
}

/* The types of parsed pages that NCSA's server introduced. */
static int include_is_magic_type(const request_rec *r)
{
    return r->content_type && (!strcmp(r->content_type, INCLUDES_MAGIC_TYPE) ||
                               !strcmp(r->content_type, INCLUDES_MAGIC_TYPE3));
}

static int include_fixup(request_rec *r)
{
    const ssi_dir_conf *conf = ssi_conf_of(r);

    if (conf->xbithack > SSI_XBIT_OFF)
        brg_cache_depends_on_name(r); /* each file has its own bits */

    if (brg_handler_is(r, "server-parsed")) {
        if (!r->content_type || !*r->content_type)
            ap_set_content_type(r, "text/html");
        r->handler = "default-handler";
    } else if (!r->handler && include_is_magic_type(r)) {
        ap_set_content_type(r, "text/html");
        r->handler = "default-handler";
    } else if (conf->xbithack <= SSI_XBIT_OFF || !include_is_html(r) ||
               r->finfo.filetype != APR_REG || !(r->finfo.valid & APR_FINFO_UPROT) ||
               !(r->finfo.protection & APR_UEXECUTE)) {
        return DECLINED;
    }
    ap_add_output_filter_handle(ssi_includes_handle, NULL, r, r->connection);
    return OK;
}

static int include_pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    ssi_conf_reset();
    ssi_elements_init(p);
    return OK;
}

static int include_post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    ssi_tags_prepare(p, s);
    return OK;
}

static int include_depends(request_rec *r)
{
    const ssi_link *link = ap_get_module_config(r->request_config, &include_module);

    return link && (link->top->depends & ~SSI_DEPENDS_KEPT) ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

static void include_register_hooks(apr_pool_t *p)
{
    APR_REGISTER_OPTIONAL_FN(brg_check_ssi);
    APR_REGISTER_OPTIONAL_FN(ap_register_include_handler);
    APR_REGISTER_OPTIONAL_FN(ap_ssi_get_tag_and_value);
    APR_REGISTER_OPTIONAL_FN(ap_ssi_parse_string);
    ssi_filters_register();
    ssi_esi_register(p);
    ap_hook_pre_config(include_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_post_config(include_post_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_fixups(include_fixup, NULL, NULL, APR_HOOK_LAST);
    ap_hook_insert_filter(ssi_choose_thread, NULL, NULL, APR_HOOK_LAST);
    ap_hook_handler(ssi_handler_stop, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(ssi_handler, NULL, NULL, APR_HOOK_LAST);
    brg_cache_declare(&include_module, include_depends);
}

module AP_MODULE_DECLARE_DATA include_module = {
    STANDARD20_MODULE_STUFF, ssi_create_dir_conf, ssi_merge_dir_conf,     ssi_create_server_conf,
    ssi_merge_server_conf,   ssi_commands,        include_register_hooks, 0,
};
