/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MemorySystem SCOPE SPECIFICATION and MemoryReport On|Off. MemoryTrace is in memory_trace.c, systems of sections are in
 * memory_sections.c.
 *
 * Systems are built in each server process, before its threads begin. Two scopes begin earlier, in
 * the process that reads the configuration: configuration, whose pool goes on with the new system
 * from that line on, and log. Memory of these outlives modules, so that their kinds have to be
 * the program's own.
 */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"
#include "apr_strings.h"
#include "brigade/sms.h"
#include "memory_sections.h"
#include "memory_settings.h"
#include "trial.h"
#include "memory_scope.h"
#include "sms_kinds.h"
#include <malloc.h>
#include <stdio.h>

/* Memory that malloc keeps at the end of each of its arenas, and blocks that it maps one by one. By
 * default the end goes back as soon as it is 128 KiB: a turn whose answers are longer together had
 * a tenth of its time for pages that went and came. */
#define MEMORY_KEPT (4 << 20)
#define MEMORY_MAPPED (1 << 20)

/* Allocations and frees of two seconds from which on there is something to gain by trimming malloc. */
#define MEMORY_TRIM_CALLS 20000

APLOG_USE_MODULE(memory);

typedef struct memory_conf {
    const char *spec[BRG_SCOPES_N]; /* NULL: not said. All but request: of the main server only */
    memory_stack *request;          /* in a server process */
    int report;                     /* of the main server; -1: not said */
} memory_conf;

static memory_conf *memory_conf_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &memory_module);
}

static void *memory_conf_create(apr_pool_t *p, server_rec *s)
{
    memory_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->report = -1;
    return conf;
}

static void *memory_conf_merge(apr_pool_t *p, void *base, void *add)
{
    memory_conf *conf = apr_pmemdup(p, add, sizeof(*conf));

    if (conf->spec[BRG_SCOPE_REQUEST] == NULL)
        conf->spec[BRG_SCOPE_REQUEST] = ((memory_conf *)base)->spec[BRG_SCOPE_REQUEST];
    return conf;
}

/* ---- directives ---- */

static int memory_scope_is_early(int scope)
{
    return scope == BRG_SCOPE_CONFIGURATION || scope == BRG_SCOPE_LOG;
}

static const char *memory_scope_names(apr_pool_t *p)
{
    const char *names = brg_scope_name(0);
    int scope;

    for (scope = 1; scope < BRG_SCOPES_N; scope++)
        names = apr_pstrcat(p, names, ", ", brg_scope_name(scope), NULL);
    return names;
}

const char *memory_unavailable(apr_pool_t *p)
{
    memory_stack *none;

    if (memory_scope_stack(BRG_SCOPE_REQUEST) != NULL)
        return NULL;
    return memory_stack_create(&none, MEMORY_DEFAULT_SPEC, p);
}

/* NULL, or a message about the specification. */
static const char *memory_spec_check(const char *spec, int scope, apr_pool_t *p)
{
    const brg_sms_plan *plan;
    const char *error = memory_unavailable(p);

    if (error == NULL)
        error = brg_sms_plan_make(&plan, spec, p);
    if (error == NULL && memory_scope_is_early(scope) && !sms_plan_builtin(plan))
        error = "what is of this scope outlives modules: only memory systems that are built in";
    return error;
}

static const char *memory_continue(apr_pool_t *pool, const char *spec, int scope, apr_pool_t *temp)
{
    memory_stack *stack;
    const char *error;

    BRG_ASSERT(memory_scope_is_early(scope));
    error = memory_stack_create(&stack, spec, temp);
    if (error == NULL && pool_continue_on(pool, stack) != 0)
        error = "out of memory";
    if (error == NULL)
        memory_scope_set(scope, stack);
    return error;
}

static const char *memory_set_system(cmd_parms *cmd, void *dir, const char *args)
{
    memory_conf *conf = memory_conf_of(cmd->server);
    const char *name = ap_getword_conf(cmd->pool, &args);
    int scope = brg_scope_by_name(name);
    const char *error;

    if (!strcasecmp(name, "filter"))
        return "MemorySystem: filters have no memory of their own, they draw from the pools of "
               "their request and connection; "
               "MemorySystem request in a <Location> or <Files> where the filter is used is a "
               "system for them";
    if (scope < 0)
        return apr_psprintf(cmd->pool, "MemorySystem: unknown scope \"%s\"; there are %s", name,
                            memory_scope_names(cmd->pool));
    if (cmd->path != NULL && scope != BRG_SCOPE_REQUEST)
        return apr_psprintf(cmd->pool,
                            "MemorySystem %s: in a section only the scope request can be named; "
                            "other memory is older than "
                            "the request that the section is looked up for",
                            brg_scope_name(scope));
    error = ap_check_cmd_context(cmd, scope == BRG_SCOPE_REQUEST ? NOT_IN_LIMIT : GLOBAL_ONLY);
    if (error != NULL)
        return error;
    if (*args == '"' || *args == '\'') {
        const char *quoted = ap_getword_conf(cmd->pool, &args);

        if (*args != '\0')
            return apr_psprintf(cmd->pool, "MemorySystem %s: \"%s\" follows what is in quotes",
                                brg_scope_name(scope), args);
        args = quoted;
    }
    if (*args == '\0')
        return "MemorySystem takes a scope and a specification, such as: request limit(16M) arena";
    error = memory_spec_check(args, scope, cmd->temp_pool);
    if (error != NULL)
        return apr_psprintf(cmd->pool, "MemorySystem %s: %s", brg_scope_name(scope), error);
    BRG_ASSERT(scope < BRG_SCOPES_N);
    if (cmd->path != NULL) {
        memory_section_add(cmd, dir, args);
        return NULL;
    }
    conf->spec[scope] = args;
    error = scope == BRG_SCOPE_CONFIGURATION
                ? memory_continue(cmd->pool, args, scope, cmd->temp_pool)
                : NULL;
    return error;
}

static const char *memory_set_report(cmd_parms *cmd, void *dir, int on)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error == NULL && on)
        error = memory_unavailable(cmd->temp_pool);
    if (error == NULL)
        memory_conf_of(cmd->server)->report = on;
    return error;
}

static const command_rec memory_commands[] = {
    AP_INIT_RAW_ARGS("MemorySystem", memory_set_system, NULL, RSRC_CONF | ACCESS_CONF,
                     "a scope (process, configuration, connection, request, bucket, log) and the "
                     "memory system that "
                     "its pools draw from, such as: limit(16M) arena"),
    AP_INIT_FLAG("MemoryReport", memory_set_report, NULL, RSRC_CONF,
                 "On or Off: whether status pages show what memory systems did"),
    AP_INIT_RAW_ARGS("MemoryTrace", memory_trace_directive, NULL, RSRC_CONF,
                     "a file in which is recorded what requests do with memory, for "
                     "brigade-membench, and how much of it: requests=N bytes=SIZE"),
    {NULL, {NULL}, NULL, 0, 0, NULL}};

/* ---- the process that reads the configuration ---- */

/* Before the modules with these kinds are unloaded. The pool gives up the memory of its system
 * when it is cleared, as it is now. */
static apr_status_t memory_kinds_end(void *unused)
{
    sms_kinds_forget();
    memory_scope_set_default(BRG_SCOPE_CONFIGURATION);
    return APR_SUCCESS;
}

static int memory_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    apr_pool_cleanup_register(pconf, NULL, memory_kinds_end, apr_pool_cleanup_null);
    memory_report_set(0);
    memory_sections_forget();
    memory_trace_forget();
    /* Connections hang from APR's own pool. */
    apr_pool_abort_set(apr_pool_abort_get(ap_pglobal), apr_pool_parent_get(ap_pglobal));
    memory_scope_set_default(BRG_SCOPE_LOG);
    return OK;
}

static int memory_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                               server_rec *s)
{
    memory_report_set(memory_conf_of(s)->report > 0);
    return OK;
}

static int memory_open_logs(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    const char *spec = memory_conf_of(s)->spec[BRG_SCOPE_LOG];
    const char *error = spec != NULL ? memory_continue(plog, spec, BRG_SCOPE_LOG, ptemp) : NULL;

    if (error == NULL)
        return trial_runs() ? OK : memory_trace_open(pconf, s);
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, NULL, "MemorySystem log: %s", error);
    return !OK;
}

/* ---- -t ---- */

const char *memory_spec_long(const char *spec, apr_pool_t *p)
{
    memory_stack *stack;
    const char *text = memory_stack_create(&stack, spec, p);

    if (text != NULL)
        return text;
    text = apr_pstrdup(p, memory_stack_spec(stack));
    memory_stack_drop(stack);
    return text;
}

static const char *memory_spec_shown(const memory_conf *conf, int scope, apr_pool_t *p)
{
    return conf->spec[scope] == NULL ? brg_scope_spec((brg_scope)scope)
                                     : memory_spec_long(conf->spec[scope], p);
}

static void memory_test_config(apr_pool_t *pconf, server_rec *main_server)
{
    const memory_conf *conf = memory_conf_of(main_server);
    const server_rec *s;
    int scope, said = memory_sections_n || ap_exists_config_define("DUMP_MEMORY");

    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        said = said || conf->spec[scope] != NULL;
    for (s = main_server->next; s != NULL; s = s->next)
        said = said || memory_conf_of(s)->spec[BRG_SCOPE_REQUEST] != NULL;
    if (!said)
        return;
    printf("Memory systems:\n");
    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        printf("  %-14s %s\n", brg_scope_name(scope), memory_spec_shown(conf, scope, pconf));
    for (s = main_server->next; s != NULL; s = s->next)
        if (memory_conf_of(s)->spec[BRG_SCOPE_REQUEST] != conf->spec[BRG_SCOPE_REQUEST])
            printf("  %-14s %s (%s, line %u)\n", brg_scope_name(BRG_SCOPE_REQUEST),
                   memory_spec_shown(memory_conf_of(s), BRG_SCOPE_REQUEST, pconf),
                   s->server_hostname != NULL ? s->server_hostname : "*", s->defn_line_number);
    memory_sections_show(pconf);
}

/* ---- server processes ---- */

const char *memory_stack_of(memory_stack **stack, const char *spec, int scope, apr_pool_t *p)
{
    const char *error = memory_stack_create(stack, spec, p);

    BRG_ASSERT(error != NULL || *stack != NULL);
    return error != NULL ? apr_psprintf(p, "MemorySystem %s: %s", brg_scope_name(scope), error)
                         : NULL;
}

void memory_stack_begin_request(memory_stack *stack, const char *name, apr_pool_t *p)
{
    memory_stack_for(stack, BRG_SCOPE_REQUEST);
    memory_trace_stack(stack);
    memory_host_add(name, stack, p);
}

/* Virtual hosts that say the same share one. */
static const char *memory_apply_host(server_rec *s, server_rec *main_server, apr_pool_t *p)
{
    memory_conf *conf = memory_conf_of(s);
    const char *error = NULL;
    server_rec *before;

    BRG_ASSERT(s != main_server);
    if (conf->spec[BRG_SCOPE_REQUEST] == NULL) {
        conf->request = memory_scope_stack(BRG_SCOPE_REQUEST);
        return NULL;
    }
    for (before = main_server; before != s; before = before->next)
        if (memory_conf_of(before)->spec[BRG_SCOPE_REQUEST] == conf->spec[BRG_SCOPE_REQUEST]) {
            conf->request = memory_conf_of(before)->request;
            return NULL;
        }
    error = memory_stack_of(&conf->request, conf->spec[BRG_SCOPE_REQUEST], BRG_SCOPE_REQUEST, p);
    if (error == NULL)
        memory_stack_begin_request(conf->request,
                                   apr_psprintf(p, "%s, line %u",
                                                s->server_hostname ? s->server_hostname : "*",
                                                s->defn_line_number),
                                   p);
    return error;
}

const char *memory_conf_apply(server_rec *main_server, apr_pool_t *p)
{
    memory_conf *conf = memory_conf_of(main_server);
    memory_stack *stack;
    const char *error = NULL;
    server_rec *s;
    int scope;

    BRG_ASSERT(!main_server->is_virtual);
    brg_sms_set_default_keep(ap_max_mem_free);
    memory_hosts_begin();
    for (scope = 0; scope < BRG_SCOPES_N && error == NULL; scope++) {
        if (memory_scope_is_early(scope))
            continue;
        if (conf->spec[scope] == NULL) {
            memory_scope_set_default(scope);
            continue;
        }
        error = memory_stack_of(&stack, conf->spec[scope], scope, p);
        if (error == NULL)
            memory_scope_set(scope, stack);
    }
    conf->request = memory_scope_stack(BRG_SCOPE_REQUEST);
    memory_trace_stack(conf->request);
    for (s = main_server->next; s != NULL && error == NULL; s = s->next)
        error = memory_apply_host(s, main_server, p);
    if (error == NULL)
        error = memory_sections_apply(p);
    brg_memory_figures_reset();
    return error;
}

void memory_trim_thread(server_rec *main_server)
{
    memory_stack *usual = memory_scope_stack(BRG_SCOPE_REQUEST);
    server_rec *s;
    int scope;

    for (scope = 0; scope < BRG_SCOPES_N; scope++)
        memory_stack_trim(memory_scope_stack(scope));
    for (s = main_server; s != NULL; s = s->next)
        if (memory_conf_of(s)->request != usual)
            memory_stack_trim(memory_conf_of(s)->request);
    memory_sections_trim();
}

void memory_trim_process(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void memory_keep_process(void)
{
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT);
    mallopt(M_MMAP_THRESHOLD, MEMORY_MAPPED);
#endif
}

/* malloc is trimmed once when a busy time is over: that takes its locks. */
void memory_trim_idle(void)
{
    static uint64_t last, most;
    uint64_t calls = memory_idle(), now = calls > last ? calls - last : 0;

    last = calls;
    if (now > most)
        most = now;
    else if (most > MEMORY_TRIM_CALLS && now <= most / 16) {
        memory_trim_process();
        most = 0;
    }
}

void memory_request_use_server(request_rec *r)
{
    memory_stack *stack = memory_conf_of(r->server)->request;

    if (__builtin_expect(stack != memory_scope_stack(BRG_SCOPE_REQUEST), 0))
        pool_continue_on(r->pool, stack);
}

static void memory_register_hooks(apr_pool_t *p)
{
    ap_hook_pre_config(memory_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_check_config(memory_check_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_open_logs(memory_open_logs, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_test_config(memory_test_config, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA memory_module = {
    STANDARD20_MODULE_STUFF, memory_section_create, memory_section_merge,  memory_conf_create,
    memory_conf_merge,       memory_commands,       memory_register_hooks, 0,
};
