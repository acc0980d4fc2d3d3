/* SPDX-License-Identifier: Apache-2.0 */
/* Which modules take part in requests and connections, and what they declared of themselves. The
 * survey walks the registered hooks once per configuration; requests only read its result. */
#include "resolution.h"
#include "resolution_private.h"
#include "resolution_known.h"
#include "request_conf.h"
#include "request_private.h"
#include "core_private.h"
#include "filter_registry.h"
#include "brigade/resolution.h"
#include "http_config.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "http_protocol.h"
#include "http_request.h"
#include "apr_hooks.h"
#include <string.h>
#include <stdatomic.h>

APLOG_USE_MODULE(core);

#define DECLARED_MOST 128

extern module http_module, so_module, unixd_module, mpm_event_module;
extern module mpm_prefork_module;

typedef struct declaration {
    const module *of;
    const char *name; /* of->name: what the hook registry keeps */
    brg_resolution_fn *fn;
    int never;                      /* responses with its part are not remembered */
    const known_module_rule *known; /* declared in its stead */
    int hooks_requests;
    int hooks_phases; /* one that is no handler */
} declaration;

static declaration declared[DECLARED_MOST];
static int declared_n;
static int phases_plain, phases_authenticate;
static enum { CONNS_PLAIN, CONNS_BY_FILTERS, CONNS_FOREIGN } connections_kind;
/* brg_phases_need_worker() was called: while the configuration is read, or for an .htaccess file by
 * any thread. */
static atomic_int phases_wait;

/* The generic shape of what APR_DECLARE_EXTERNAL_HOOK's get function lists. */
typedef struct hook_link {
    void (*fn)(void);
    const char *name;
    const char *const *predecessors, *const *successors;
    int order;
} hook_link;

typedef apr_array_header_t *hook_get_fn(void);

static hook_get_fn *const request_hooks[] = {
    ap_hook_get_create_request,      ap_hook_get_pre_read_request,
    ap_hook_get_post_read_request,   ap_hook_get_quick_handler,
    ap_hook_get_pre_translate_name,  ap_hook_get_translate_name,
    ap_hook_get_map_to_storage,      ap_hook_get_header_parser,
    ap_hook_get_check_user_id,       ap_hook_get_fixups,
    ap_hook_get_type_checker,        ap_hook_get_access_checker,
    ap_hook_get_access_checker_ex,   ap_hook_get_auth_checker,
    ap_hook_get_insert_filter,       ap_hook_get_handler,
    ap_hook_get_log_transaction,     ap_hook_get_post_perdir_config,
    ap_hook_get_dirwalk_stat,        ap_hook_get_force_authn,
    ap_hook_get_insert_error_filter,
};

/* Names and functions may lie in a module that is about to be unloaded. */
static apr_status_t declarations_forget(void *unused)
{
    declared_n = 0;
    atomic_store_explicit(&phases_wait, 0, memory_order_relaxed);
    return APR_SUCCESS;
}

static declaration *declaration_of(const char *name)
{
    for (int i = 0; name && i < declared_n; i++)
        if (!strcmp(declared[i].name, name))
            return &declared[i];
    return NULL;
}

void resolution_forget_declarations(void)
{
    declared_n = 0; /* what directives asked for stays */
}

int resolution_is_declared(const module *m)
{
    return declaration_of(m->name) != NULL || known_rule_of(m) != NULL;
}

static void declare(module *m, brg_resolution_fn *fn, int never)
{
    declaration *d;

    for (int i = 0; i < declared_n; i++)
        if (!strcmp(declared[i].name, m->name)) {
            declared[i].of = m;
            declared[i].fn = fn;
            declared[i].never = never;
            return;
        }
    if (declared_n == DECLARED_MOST)
        return; /* an undeclared module is slower, never wrong */
    if (declared_n == 0 && apr_hook_global_pool)
        apr_pool_cleanup_register(apr_hook_global_pool, NULL, declarations_forget,
                                  apr_pool_cleanup_null);
    d = &declared[declared_n++];
    d->of = m;
    d->name = m->name;
    d->fn = fn;
    d->known = NULL;
    d->never = never;
}

/* Declarations in the stead of Apache's own modules that were loaded as binaries. */
static void declare_known(void)
{
    for (module **m = ap_loaded_modules; *m; m++) {
        const known_module_rule *rule = declaration_of((*m)->name) ? NULL : known_rule_of(*m);
        declaration *d;

        if (!rule)
            continue;
        declare(*m, rule->resolution, rule->resolution == NULL);
        if ((d = declaration_of((*m)->name)) != NULL)
            d->known = rule;
    }
}

static int known_wait(request_rec *r)
{
    for (int i = 0; i < declared_n; i++)
        if (declared[i].known && declared[i].known->waits && declared[i].known->waits(r))
            return 1;
    return 0;
}

BRG_DECLARE(void) brg_resolution_declare(module *m, brg_resolution_fn *fn)
{
    declare(m, fn, 0);
}

BRG_DECLARE(void) brg_nonblocking_declare(module *m)
{
    declare(m, NULL, 1);
}

void resolution_declare_core(void)
{
    static module *const core[] = {&core_module,  &http_module,      &so_module,
                                   &unixd_module, &mpm_event_module, &mpm_prefork_module};

    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        declare(core[i], core[i] == &core_module ? request_resolution : NULL, 0);
}

static int survey(hook_get_fn *const *hooks, size_t n, const char *kind)
{
    int plain = 1;

    for (size_t i = 0; i < n; i++) {
        apr_array_header_t *links = hooks[i]();

        for (int k = 0; links && k < links->nelts; k++) {
            const hook_link *l = &((const hook_link *)(const void *)links->elts)[k];
            declaration *d = declaration_of(l->name);

            if (d) {
                d->hooks_requests = 1;
                if (hooks[i] != ap_hook_get_handler)
                    d->hooks_phases = 1;
                continue;
            }
            plain = 0;
            ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, ap_server_conf,
                         "%s hooks %s without a declaration: these run on worker threads",
                         l->name ? l->name : "a module", kind);
        }
    }
    return plain;
}

/* The worst of what modules that hook connections ask for. */
static void survey_connections(void)
{
    static hook_get_fn *const hooks[] = {
        ap_hook_get_create_connection,
        ap_hook_get_pre_connection,
        ap_hook_get_process_connection,
    };

    connections_kind =
        survey(hooks, sizeof hooks / sizeof *hooks, "connections") ? CONNS_PLAIN : CONNS_FOREIGN;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks && connections_kind == CONNS_PLAIN; i++) {
        apr_array_header_t *links = hooks[i]();

        for (int k = 0; links && k < links->nelts; k++) {
            const hook_link *l = &((const hook_link *)(const void *)links->elts)[k];
            const declaration *d = declaration_of(l->name);

            if (d && d->known && d->known->by_filters)
                connections_kind = CONNS_BY_FILTERS;
        }
    }
}

/* A built-in module that was removed promised nothing for a binary that has its name. */
static void declarations_drop_unloaded(void)
{
    int kept = 0;

    for (int i = 0; i < declared_n; i++) {
        module *const *m = ap_loaded_modules;

        while (*m && *m != declared[i].of)
            m++;
        if (*m)
            declared[kept++] = declared[i];
    }
    declared_n = kept;
}

void resolution_survey_hooks(void)
{
    declarations_drop_unloaded();
    declare_known();
    for (int i = 0; i < declared_n; i++)
        declared[i].hooks_requests = declared[i].hooks_phases = 0;
    phases_authenticate = 0;
    for (int i = 0; i < declared_n; i++)
        phases_authenticate |= known_authenticates(declared[i].known);
    survey_connections();
    phases_plain = survey(request_hooks, sizeof request_hooks / sizeof *request_hooks, "requests");
}

int phases_may_run_inline(void)
{
    return phases_plain && !atomic_load_explicit(&phases_wait, memory_order_relaxed);
}

int phases_may_check(const request_rec *r)
{
    return phases_authenticate && apr_table_get(r->headers_in, "Authorization");
}

BRG_DECLARE(void) brg_phases_need_worker(void)
{
    atomic_store_explicit(&phases_wait, 1, memory_order_relaxed);
}

BRG_DECLARE(void) brg_request_needs_worker(request_rec *r)
{
    request_mark_blocking(r);
}

BRG_DECLARE(int) brg_request_may_wait(request_rec *r)
{
    if (request_may_block(r) || known_wait(r))
        return 1;
    for (const ap_filter_t *f = r->output_filters; f && f->r == r; f = f->next)
        if (!f->frec->providers && !brg_filter_is_declared(f->frec))
            return 1;
    return 0;
}

BRG_DECLARE(int) brg_request_rerun_on_worker(request_rec *r)
{
    return conn_on_loop() && request_mark_moving(r);
}

int connections_are_plain(void)
{
    return connections_kind == CONNS_PLAIN;
}

int connections_tell_by_filters(void)
{
    return connections_kind == CONNS_BY_FILTERS;
}

BRG_DECLARE(int) brg_filter_is_declared(const ap_filter_rec_t *frec)
{
    return declaration_of(filter_owner(frec)) != NULL;
}

static int filters_declared(const ap_filter_t *f)
{
    for (; f; f = f->next)
        if (!f->frec->providers && !brg_filter_is_declared(f->frec))
            return 0;
    return 1;
}

int request_may_run_inline(request_rec *r)
{
    return !request_may_block(r) && !r->read_chunked && r->remaining == 0 &&
           !apr_table_get(r->headers_in, "Content-Length") &&
           !apr_table_get(r->headers_in, "Transfer-Encoding") &&
           filters_declared(r->output_filters) && filters_declared(r->input_filters) &&
           !known_wait(r);
}

int resolution_ask_modules(request_rec *r)
{
    int worst = phases_plain ? BRG_RESOLUTION_STATIC : BRG_RESOLUTION_VOLATILE;

    for (int i = 0; i < declared_n && worst < BRG_RESOLUTION_VOLATILE; i++) {
        const declaration *d = &declared[i];

        if ((d->never && d->hooks_phases) || known_is_void(d->known))
            worst = BRG_RESOLUTION_VOLATILE;
        else if (d->fn && d->hooks_requests) {
            int answer = d->fn(r);

            if (answer > worst)
                worst = answer;
        }
    }
    return worst;
}

BRG_DECLARE(int) brg_resolution_ask(request_rec *r)
{
    return resolution_ask_modules(r);
}
