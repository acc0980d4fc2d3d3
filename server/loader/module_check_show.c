/* SPDX-License-Identifier: Apache-2.0 */
/* The offers of an open module: directives, hooks, filters, providers. */
#include "hook_link.h"
#include "nameless_file.h"
#include "brigade/assert.h"
#include "provider.h"
#include "declarations.h"
#include "module_check.h"
#include "ap_mpm.h"
#include "ap_provider.h"
#include "configuration.h"
#include "core_settings.h"
#include "filter_registry.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "mod_auth.h"
#include "mpm_common.h"
#include "placement.h"
#include "scoreboard.h"
#include "unixd.h"
#include "sms_kinds.h"
#include "ap_expr.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- directives ---- */

static const char *command_arguments(enum cmd_how how)
{
    switch (how) {
    case RAW_ARGS:
        return "...";
    case TAKE1:
        return "A";
    case TAKE2:
        return "A B";
    case ITERATE:
        return "A...";
    case ITERATE2:
        return "A B...";
    case FLAG:
        return "On|Off";
    case NO_ARGS:
        return "";
    case TAKE12:
        return "A [B]";
    case TAKE3:
        return "A B C";
    case TAKE23:
        return "A B [C]";
    case TAKE123:
        return "A [B [C]]";
    case TAKE13:
        return "A [B C]";
    case TAKE_ARGV:
        return "[A...]";
    }
    return "...";
}

static const char *command_place(int where)
{
    const int outside = where & (RSRC_CONF | OR_OPTIONS | OR_FILEINFO | OR_INDEXES);

    if (where & OR_ALL)
        return outside ? "server, directory, .htaccess" : "directory, .htaccess";
    if (where & ACCESS_CONF)
        return outside ? "server, directory" : "directory";
    return "server";
}

void module_check_directives(const module *m)
{
    for (const command_rec *cmd = m->cmds; cmd && cmd->name; cmd++)
        printf("    directive %s %s (%s)%s%s\n", cmd->name, command_arguments(cmd->args_how),
               command_place(cmd->req_override), cmd->errmsg ? ": " : "",
               cmd->errmsg ? cmd->errmsg : "");
    if (m->rewrite_args)
        printf(
            "    a look at the command line (rewrite_args), which is only for built-in modules\n");
}

/* ---- hooks ---- */

/* clang-format off */
#define HOOKS(X) \
    X(pre_config) X(check_config) X(test_config) X(open_logs) X(post_config) \
    X(optional_fn_retrieve) X(pre_mpm) X(mpm) X(drop_privileges) X(child_init) X(child_stopping) \
    X(child_status) X(end_generation) X(monitor) X(mpm_query) X(mpm_get_name) \
    X(create_connection) X(pre_connection) X(process_connection) X(pre_close_connection) \
    X(suspend_connection) X(resume_connection) X(insert_network_bucket) X(get_pollfd_from_conn) \
    X(create_request) X(pre_read_request) X(post_read_request) X(quick_handler) \
    X(pre_translate_name) X(translate_name) X(map_to_storage) X(post_perdir_config) \
    X(header_parser) X(access_checker) X(access_checker_ex) X(force_authn) X(check_user_id) \
    X(note_auth_failure) X(auth_checker) X(type_checker) X(fixups) X(insert_filter) \
    X(insert_error_filter) X(handler) X(log_transaction) X(dirwalk_stat) X(open_htaccess) \
    X(http_scheme) X(default_port) X(protocol_propose) X(protocol_switch) X(protocol_get) \
    X(get_mgmt_items) X(error_log) X(generate_log_id) X(expr_lookup) X(ssl_conn_is_ssl) \
    X(ssl_var_lookup) X(mpm_register_timed_callback) X(get_suexec_identity) \
    X(ssl_add_cert_files) X(ssl_add_fallback_cert_files) X(ssl_answer_challenge) \
    X(ssl_bind_outgoing) X(ssl_ocsp_prime_hook) X(ssl_ocsp_get_resp_hook)
/* clang-format on */

#define HOOK_ROW(hook) {#hook, ap_hook_get_##hook},

static const struct {
    const char *name;
    apr_array_header_t *(*get)(void);
} known_hooks[] = {HOOKS(HOOK_ROW)};

#define KNOWN_HOOKS (sizeof known_hooks / sizeof *known_hooks)

static const char *hook_order(int order)
{
    static char text[40];
    static const struct {
        int order;
        const char *name;
    } names[] = {{APR_HOOK_REALLY_FIRST, "really first"},
                 {APR_HOOK_FIRST, "first"},
                 {APR_HOOK_MIDDLE, "middle"},
                 {APR_HOOK_LAST, "last"},
                 {APR_HOOK_REALLY_LAST, "really last"}};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (order == names[i].order)
            return names[i].name;
    snprintf(text, sizeof text, "order %d", order);
    return text;
}

static void hook_names(const char *word, const char *const *names)
{
    for (; names && *names; names++)
        printf("%s%s", word, *names);
}

static void hooks_show(void)
{
    for (unsigned i = 0; i < KNOWN_HOOKS; i++) {
        const apr_array_header_t *links = known_hooks[i].get();
        const hook_link *l;

        for (int k = 0; (l = hook_link_at(links, k)) != NULL; k++) {
            printf("    hook %s (%s)", known_hooks[i].name, hook_order(l->order));
            hook_names(", after ", l->predecessors);
            hook_names(", before ", l->successors);
            printf("\n");
        }
    }
}

static int hook_is_known(const char *name)
{
    for (unsigned i = 0; i < KNOWN_HOOKS; i++)
        if (!strcmp(known_hooks[i].name, name))
            return 1;
    return 0;
}

/* APR can write every registration to standard output. From that come those for hooks that other modules
 * define. */
static void hooks_show_foreign(int told)
{
    char line[400], name[100], seen[4000] = " ";
    FILE *in = fdopen(told, "r");

    if (!in)
        return;
    rewind(in);
    while (fgets(line, sizeof line, in)) {
        char word[104];

        if (sscanf(line, " Hooked %99s", name) != 1 || hook_is_known(name))
            continue;
        snprintf(word, sizeof word, " %s ", name);
        if (strstr(seen, word) || strlen(seen) + strlen(name) + 2 > sizeof seen)
            continue;
        strcat(strcat(seen, name), " ");
        printf("    hook %s, of another module\n", name);
    }
    fclose(in);
}

/* ---- filters, providers ---- */

static const char *filter_kind(ap_filter_type type)
{
    if (type < AP_FTYPE_CONTENT_SET)
        return "resource";
    if (type < AP_FTYPE_PROTOCOL)
        return "content set";
    if (type < AP_FTYPE_TRANSCODE)
        return "protocol";
    if (type < AP_FTYPE_CONNECTION)
        return "transcode";
    return type < AP_FTYPE_NETWORK ? "connection" : "network";
}

static void filter_show(void *owner, const ap_filter_rec_t *frec, int is_input)
{
    if (filter_owner(frec) == (const char *)owner)
        printf("    %s filter %s (%s)\n", is_input ? "input" : "output", frec->name,
               filter_kind(frec->ftype));
}

static void providers_show(apr_pool_t *p)
{
    const apr_array_header_t *groups = ap_list_provider_groups(p);

    for (int i = 0; i < groups->nelts; i++) {
        const ap_list_provider_groups_t *g = &APR_ARRAY_IDX(groups, i, ap_list_provider_groups_t);
        const apr_array_header_t *names =
            ap_list_provider_names(p, g->provider_group, g->provider_version);

        for (int k = 0; k < names->nelts; k++)
            printf("    provider %s of %s, version %s\n",
                   APR_ARRAY_IDX(names, k, ap_list_provider_names_t).provider_name,
                   g->provider_group, g->provider_version);
    }
}

static void kinds_show(void)
{
    const sms_kind *kind;

    for (int i = 0; (kind = sms_kind_added(i)) != NULL; i++)
        printf("    memory system %s(%s)\n", kind->name, kind->help);
}

/* ---- the whole ---- */

/* Standard output goes to a file while the module registers. */
static int registered_aloud(module *m, apr_pool_t *p)
{
    int told = nameless_file("hooks", 0), saved = dup(STDOUT_FILENO);

    fflush(stdout);
    dup2(told, STDOUT_FILENO);
    apr_hook_debug_enabled = 1;
    ap_register_hooks(m, p);
    apr_hook_debug_enabled = 0;
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    return told;
}

/* The consequences of missing declarations, and the declarations that are possible. */
static void cost_show(const module *m, const char *name)
{
    const int of_requests = policy_hooks_requests(m), of_connections = policy_hooks_connections(m);

    if (policy_is_declared(m)) {
        printf("    runs on event loops: it declares that it does not wait\n");
        return;
    }
    printf("    runs on worker threads: it does not declare otherwise\n");
    if (!of_requests && !of_connections) {
        printf("    costs other requests nothing: it has no hook that is called for them\n");
        return;
    }
    printf("    costs %s: its hooks are called for each of them. None runs on an event loop, no "
           "answer comes from memory, "
           "and a small file takes some four times as long\n",
           of_connections ? "all connections and requests"
           : policy_hooks_phases(m)
               ? "all requests"
               : "all requests but those that come to no handler (redirects, refusals)");
    printf("    to declare, in its register_hooks: brg_nonblocking_declare(&%s) if it waits for "
           "nothing but local files; "
           "brg_cache_declare(&%s, NULL) if, besides, what it does follows from virtual host, URI, "
           "configuration and files "
           "(brigade/response_cache.h)\n",
           name, name);
}

void module_check_hooks(process_rec *process, module *m, const char *name)
{
    int told;

    BRG_ASSERT(m->magic == MODULE_MAGIC_COOKIE);
    /* Registrations from now on are the module's. */
    apr_hook_deregister_all();
    provider_registry_clear();
    declarations_forget();
    sms_kinds_forget();
    told = registered_aloud(m, process->pconf);
    hooks_show();
    hooks_show_foreign(told);
    filter_registry_each(filter_show, (void *)(uintptr_t)m->name);
    providers_show(process->pool);
    kinds_show();
    cost_show(m, name);
}
