/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mod_info: the handler server-info, a page of the server's settings, modules, hooks and configuration; and the configuration
 * on standard output with -D DUMP_CONFIG.
 */
#include "info_private.h"
#include "ap_mpm.h"
#include "ap_release.h"
#include "http_core.h"
#include "http_main.h"
#include "http_protocol.h"
#include "apr_strings.h"
#include "apr_version.h"
#include "apu_version.h"
#include "brigade/hooks.h"
#include "brigade/response_cache.h"
#include "brigade/util.h"
#include <stdlib.h>
#include <string.h>

extern module info_module;

typedef struct info_text {
    const char *module, *text;
} info_text;

typedef struct info_server_conf {
    apr_array_header_t *texts; /* info_text */
} info_server_conf;

static void *info_create_server(apr_pool_t *p, server_rec *s)
{
    info_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->texts = apr_array_make(p, 4, sizeof(info_text));
    return conf;
}

static void *info_merge_server(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const info_server_conf *base = base_conf, *add = add_conf;
    info_server_conf *conf = apr_pcalloc(p, sizeof *conf);

    conf->texts = apr_array_append(p, add->texts, base->texts);
    return conf;
}

/* ---- the server ---- */

static int info_mpm(int query)
{
    int value = 0;

    ap_mpm_query(query, &value);
    return value;
}

static void info_versions(request_rec *r)
{
    ap_rprintf(r,
               "<dl><dt><strong>Server Version:</strong> "
               "<font size=\"+1\"><tt>%s</tt></font></dt>\n"
               "<dt><strong>Server Built:</strong> <font size=\"+1\"><tt>%s</tt></font></dt>\n",
               ap_get_server_description(), ap_get_server_built());
    ap_rprintf(r,
               "<dt><strong>Server loaded APR Version:</strong> <tt>%s</tt></dt>\n"
               "<dt><strong>Compiled with APR Version:</strong> <tt>%s</tt></dt>\n"
               "<dt><strong>Server loaded APU Version:</strong> <tt>%s</tt></dt>\n"
               "<dt><strong>Compiled with APU Version:</strong> <tt>%s</tt></dt>\n"
               "<dt><strong>Server loaded PCRE Version:</strong> <tt>%s</tt></dt>\n"
               "<dt><strong>Compiled with PCRE Version:</strong> <tt>%s</tt></dt>\n",
               apr_version_string(), APR_VERSION_STRING, apu_version_string(), APU_VERSION_STRING,
               ap_pcre_version_string(AP_REG_PCRE_LOADED),
               ap_pcre_version_string(AP_REG_PCRE_COMPILED));
    ap_rprintf(r, "<dt><strong>Module Magic Number:</strong> <tt>%d:%d</tt></dt>\n",
               MODULE_MAGIC_NUMBER_MAJOR, MODULE_MAGIC_NUMBER_MINOR);
}

static void info_options(request_rec *r)
{
    static const char options[] = "<dt><strong>Server Built With:</strong>\n"
                                  "<tt style=\"white-space: pre;\">\n"
#if APR_HAS_SENDFILE
                                  " -D APR_HAS_SENDFILE\n"
#endif
#if APR_HAS_MMAP
                                  " -D APR_HAS_MMAP\n"
#endif
#if APR_HAVE_IPV6
                                  " -D APR_HAVE_IPV6 (IPv4-mapped addresses "
#ifdef AP_ENABLE_V4_MAPPED
                                  "enabled)\n"
#else
                                  "disabled)\n"
#endif
#endif
#if APR_USE_PROC_PTHREAD_SERIALIZE
                                  " -D APR_USE_PROC_PTHREAD_SERIALIZE\n"
#endif
#ifdef SINGLE_LISTEN_UNSERIALIZED_ACCEPT
                                  " -D SINGLE_LISTEN_UNSERIALIZED_ACCEPT\n"
#endif
#if APR_HAS_OTHER_CHILD
                                  " -D APR_HAS_OTHER_CHILD\n"
#endif
#ifdef AP_HAVE_RELIABLE_PIPED_LOGS
                                  " -D AP_HAVE_RELIABLE_PIPED_LOGS\n"
#endif
#ifdef HTTPD_ROOT
                                  " -D HTTPD_ROOT=\"" HTTPD_ROOT "\"\n"
#endif
#ifdef SUEXEC_BIN
                                  " -D SUEXEC_BIN=\"" SUEXEC_BIN "\"\n"
#endif
#ifdef DEFAULT_PIDLOG
                                  " -D DEFAULT_PIDLOG=\"" DEFAULT_PIDLOG "\"\n"
#endif
#ifdef DEFAULT_SCOREBOARD
                                  " -D DEFAULT_SCOREBOARD=\"" DEFAULT_SCOREBOARD "\"\n"
#endif
#ifdef DEFAULT_ERRORLOG
                                  " -D DEFAULT_ERRORLOG=\"" DEFAULT_ERRORLOG "\"\n"
#endif
#ifdef AP_TYPES_CONFIG_FILE
                                  " -D AP_TYPES_CONFIG_FILE=\"" AP_TYPES_CONFIG_FILE "\"\n"
#endif
#ifdef SERVER_CONFIG_FILE
                                  " -D SERVER_CONFIG_FILE=\"" SERVER_CONFIG_FILE "\"\n"
#endif
                                  "</tt></dt>\n";

    ap_rputs(options, r);
}

static void info_settings(request_rec *r)
{
    server_rec *s = r->server;

    ap_rputs("<h2><a name=\"server\">Server Settings</a></h2>", r);
    info_versions(r);
    ap_rprintf(r, "<dt><strong>Hostname/port:</strong> <tt>%s:%u</tt></dt>\n",
               ap_escape_html(r->pool, ap_get_server_name(r)), ap_get_server_port(r));
    ap_rprintf(r,
               "<dt><strong>Timeouts:</strong> <tt>connection: %d &nbsp;&nbsp; keep-alive: %d</tt>"
               "</dt>",
               (int)apr_time_sec(s->timeout), (int)apr_time_sec(s->keep_alive_timeout));
    ap_rprintf(r, "<dt><strong>MPM Name:</strong> <tt>%s</tt></dt>\n", ap_show_mpm());
    ap_rprintf(r,
               "<dt><strong>MPM Information:</strong> <tt>Max Daemons: %d Threaded: %s Forked: %s"
               "</tt></dt>\n",
               info_mpm(AP_MPMQ_MAX_DAEMON_USED), info_mpm(AP_MPMQ_IS_THREADED) ? "yes" : "no",
               info_mpm(AP_MPMQ_IS_FORKED) ? "yes" : "no");
    ap_rprintf(r, "<dt><strong>Server Architecture:</strong> <tt>%ld-bit</tt></dt>\n",
               8 * (long)sizeof(void *));
    ap_rprintf(r, "<dt><strong>Server Root:</strong> <tt>%s</tt></dt>\n", ap_server_root);
    ap_rprintf(r, "<dt><strong>Config File:</strong> <tt>%s</tt></dt>\n", ap_conftree->filename);
    info_options(r);
    ap_rputs("</dl><hr />", r);
}

/* ---- modules ---- */

static int info_compare_modules(const void *a, const void *b)
{
    return strcmp((*(module *const *)a)->name, (*(module *const *)b)->name);
}

static apr_array_header_t *info_modules(apr_pool_t *p)
{
    apr_array_header_t *all = apr_array_make(p, 64, sizeof(module *));

    for (module *m = ap_top_module; m; m = m->next)
        APR_ARRAY_PUSH(all, module *) = m;
    qsort(all->elts, (size_t)all->nelts, sizeof(module *), info_compare_modules);
    return all;
}

/* Names of a module's hooks and handlers, with commas between them. */
static void info_part(request_rec *r, const char *name, int *n)
{
    ap_rprintf(r, "%s<tt>%s</tt>", (*n)++ ? ", " : "", name);
}

static void info_phases(request_rec *r, const module *m)
{
    int n = 0;

    ap_rputs("<dt><strong>Configuration Phase Participation:</strong>\n", r);
    if (m->create_dir_config)
        info_part(r, "Create Directory Config", &n);
    if (m->merge_dir_config)
        info_part(r, "Merge Directory Configs", &n);
    if (m->create_server_config)
        info_part(r, "Create Server Config", &n);
    if (m->merge_server_config)
        info_part(r, "Merge Server Configs", &n);
    if (!n)
        ap_rputs("<tt> <em>none</em></tt>", r);
    ap_rputs("</dt><dt><strong>Request Phase Participation:</strong>\n", r);
    n = 0;
    for (const info_hook *hook = info_request_hooks; hook->title; hook++)
        if (info_hook_has(hook, m->name))
            info_part(r, hook->title, &n);
    if (!n)
        ap_rputs("<tt> <em>none</em></tt>", r);
    ap_rputs("</dt>\n", r);
}

static void info_commands(request_rec *r, const module *m)
{
    const command_rec *cmd = m->cmds;

    if (!cmd) {
        ap_rputs("<dt><strong>Module Directives:</strong> <tt>none</tt></dt>", r);
        return;
    }
    ap_rputs("<dt><strong>Module Directives:</strong></dt>", r);
    for (; cmd->name; cmd++)
        ap_rprintf(r, "<dd><tt>%s%s - <i>%s</i></tt></dd>\n", ap_escape_html(r->pool, cmd->name),
                   *cmd->name == '<' ? "&gt;" : "",
                   cmd->errmsg ? ap_escape_html(r->pool, cmd->errmsg) : "");
    ap_rputs("<dt><strong>Current Configuration:</strong></dt>\n", r);
    info_config(r, m);
}

static const char *info_text_of(const request_rec *r, const char *name)
{
    const info_server_conf *conf = ap_get_module_config(r->server->module_config, &info_module);

    for (int i = 0; i < conf->texts->nelts; i++) {
        const info_text *text = &APR_ARRAY_IDX(conf->texts, i, const info_text);

        if (!strcmp(text->module, name))
            return text->text;
    }
    return NULL;
}

static void info_one_module(request_rec *r, const module *m)
{
    const char *text = info_text_of(r, m->name);

    ap_rprintf(r,
               "<dl><dt><a name=\"%s\"><strong>Module Name:</strong></a> <font size=\"+1\"><tt>"
               "<a href=\"?%s\">%s</a></tt></font></dt>\n"
               "<dt><strong>Content handlers:</strong> ",
               m->name, m->name, m->name);
    info_handlers(r, m);
    ap_rputs("</dt>", r);
    info_phases(r, m);
    info_commands(r, m);
    if (text)
        ap_rprintf(r, "<dt><strong>Additional Information:</strong>\n</dt><dd>%s</dd>", text);
    ap_rputs("</dl><hr />\n", r);
}

/* ---- pages ---- */

static void info_contents(request_rec *r, const apr_array_header_t *modules)
{
    ap_rputs("<dl><dt><tt>Subpages:<br />"
             "<a href=\"?config\">Configuration Files</a>, "
             "<a href=\"?server\">Server Settings</a>, "
             "<a href=\"?list\">Module List</a>, "
             "<a href=\"?hooks\">Active Hooks</a>, "
             "<a href=\"?providers\">Available Providers</a>"
             "</tt></dt></dl><hr />"
             "<dl><dt><tt>Sections:<br />"
             "<a href=\"#modules\">Loaded Modules</a>, "
             "<a href=\"#server\">Server Settings</a>, "
             "<a href=\"#startup_hooks\">Startup Hooks</a>, "
             "<a href=\"#request_hooks\">Request Hooks</a>, "
             "<a href=\"#other_hooks\">Other Hooks</a>, "
             "<a href=\"#providers\">Providers</a>"
             "</tt></dt></dl><hr />"
             "<h2><a name=\"modules\">Loaded Modules</a></h2><dl><dt><tt>",
             r);
    for (int i = 0; i < modules->nelts; i++) {
        const module *m = APR_ARRAY_IDX(modules, i, module *);

        ap_rprintf(r, "<a href=\"#%s\">%s</a>, ", m->name, m->name);
    }
    ap_rputs("</tt></dt></dl><hr />", r);
}

static void info_everything(request_rec *r, const apr_array_header_t *modules)
{
    info_contents(r, modules);
    info_settings(r);
    info_hooks(r, '#');
    info_providers(r);
    for (int i = 0; i < modules->nelts; i++)
        info_one_module(r, APR_ARRAY_IDX(modules, i, module *));
}

static void info_list(request_rec *r, const apr_array_header_t *modules)
{
    ap_rputs("<dl><dt>Server Module List</dt>", r);
    for (int i = 0; i < modules->nelts; i++)
        ap_rprintf(r, "<dd>%s</dd>", APR_ARRAY_IDX(modules, i, module *)->name);
    ap_rputs("</dl><hr />", r);
}

static void info_subpage(request_rec *r, const apr_array_header_t *modules)
{
    if (!strcasecmp(r->args, "server")) {
        info_settings(r);
    } else if (!strcasecmp(r->args, "hooks")) {
        info_hooks(r, '?');
    } else if (!strcasecmp(r->args, "providers")) {
        info_providers(r);
    } else if (!strcasecmp(r->args, "list")) {
        info_list(r, modules);
    } else if (!strcasecmp(r->args, "config")) {
        ap_rputs("<dl><dt><strong>Configuration:</strong>\n", r);
        info_config(r, NULL);
        ap_rputs("</dl><hr />", r);
    } else {
        for (int i = 0; i < modules->nelts; i++)
            if (!strcasecmp(APR_ARRAY_IDX(modules, i, module *)->name, r->args))
                info_one_module(r, APR_ARRAY_IDX(modules, i, module *));
    }
}

static int info_handler(request_rec *r)
{
    const apr_array_header_t *modules;

    if (!r->handler || strcmp(r->handler, "server-info"))
        return DECLINED;
    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET)
        return DECLINED;
    modules = info_modules(r->pool);
    ap_set_content_type(r, "text/html; charset=ISO-8859-1");
    ap_rputs(DOCTYPE_XHTML_1_0T "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n"
                                "<head>\n"
                                "  <title>Server Information</title>\n"
                                "</head>\n"
                                "<body><h1 style=\"text-align: center\">Apache Server Information"
                                "</h1>\n",
             r);
    if (r->args)
        info_subpage(r, modules);
    else
        info_everything(r, modules);
    ap_rputs(ap_psignature("", r), r);
    ap_rputs("</body></html>\n", r);
    return OK;
}

static int info_depends(request_rec *r)
{
    return r->handler && !strcmp(r->handler, "server-info") ? BRG_CACHE_VOLATILE : BRG_CACHE_STATIC;
}

/* ---- configuration ---- */

static int info_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_file_t *out;

    if (ap_exists_config_define("DUMP_CONFIG") && apr_file_open_stdout(&out, ptemp) == APR_SUCCESS)
        info_config_dump(out);
    return DECLINED;
}

static const char *info_add_text(cmd_parms *cmd, void *dummy, const char *name, const char *text)
{
    info_server_conf *conf = ap_get_module_config(cmd->server->module_config, &info_module);

    APR_ARRAY_PUSH(conf->texts, info_text) = (info_text){name, text};
    return NULL;
}

static const command_rec info_directives[] = {
    AP_INIT_TAKE2("AddModuleInfo", info_add_text, NULL, RSRC_CONF,
                  "a module name and additional information on that module"),
    {0},
};

static void info_register_hooks(apr_pool_t *p)
{
    ap_hook_handler(info_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(info_check_config, NULL, NULL, APR_HOOK_FIRST);
    brg_cache_declare(&info_module, info_depends);
    brg_handlers_are_for(&info_module, "server-info");
    brg_cache_leaves_query(&info_module);
}

module AP_MODULE_DECLARE_DATA info_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, info_create_server, info_merge_server, info_directives,
    info_register_hooks,     0,
};
