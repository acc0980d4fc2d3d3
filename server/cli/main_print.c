/* SPDX-License-Identifier: Apache-2.0 */
/* Output of -v, -V, -l, -L, -h and -t -D DUMP_RUN_CFG, in the form that scripts written for httpd
 * read. */
#include "httpd.h"
#include "http_config.h"
#include "brigade/log_service.h"
#include "http_core.h"
#include "http_main.h"
#include "mpm_common.h"
#include "mpm_commands.h"
#include "mpm_settings.h"
#include "unixd.h"
#include "util_mutex.h"
#include "apr_strings.h"
#include "apu_version.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <grp.h>
#include <stdio.h>
#include <unistd.h>
#include "configuration.h"
#include "core_settings.h"
#include "main_parts.h"
#if BRIGADE_TLS
#include "tls_abilities.h"
#endif

/* ---- versions ---- */

void main_print_version(void)
{
    printf("Server version: " BRG_PRODUCT "/" BRIGADE_VERSION " Apache/" AP_SERVER_BASEREVISION
           "-compatible\n");
    printf("Server built:   %s\n", ap_get_server_built());
}

static void main_print_tls(void)
{
#if BRIGADE_TLS
    char abilities[TLS_ABILITIES_BYTES];

    tls_abilities(abilities);
    printf("TLS:            %s\n", abilities);
#endif
}

void main_print_libraries(void)
{
    char pcre[64] = "";

    pcre2_config(PCRE2_CONFIG_VERSION, pcre);
    printf("Server loaded:  APR %s, APR-UTIL %s, PCRE %s\n", apr_version_string(),
           apu_version_string(), pcre);
    printf("Compiled using: APR %s, APR-UTIL %s, PCRE %d.%d %s\n", APR_VERSION_STRING,
           APU_VERSION_STRING, PCRE2_MAJOR, PCRE2_MINOR, APR_STRINGIFY(PCRE2_DATE));
    printf("  and:          %s\n", MAIN_LIBRARIES[0] ? MAIN_LIBRARIES : "no further libraries");
    main_print_tls();
    printf("Built as:       %s, %s\n", MAIN_BUILD, MAIN_BUILD_OPTIONS);
}

static void main_print_switches(const main_options *options)
{
    printf("Server compiled with....\n");
    printf(" -D APR_HAS_SENDFILE\n -D APR_HAS_MMAP\n");
    printf(" -D APR_HAVE_IPV6 (IPv4-mapped addresses enabled)\n");
    printf(" -D APR_USE_PROC_PTHREAD_SERIALIZE\n -D APR_USE_PTHREAD_SERIALIZE\n");
    printf(" -D SINGLE_LISTEN_UNSERIALIZED_ACCEPT\n -D APR_HAS_OTHER_CHILD\n");
    printf(" -D AP_HAVE_RELIABLE_PIPED_LOGS\n");
    printf(" -D DYNAMIC_MODULE_LIMIT=%d\n", DYNAMIC_MODULE_LIMIT);
    printf(" -D HTTPD_ROOT=\"%s\"\n", options->root);
    printf(" -D SUEXEC_BIN=\"%s\"\n", SUEXEC_BIN);
    printf(" -D DEFAULT_PIDLOG=\"%s\"\n", DEFAULT_PIDLOG);
    printf(" -D DEFAULT_SCOREBOARD=\"logs/apache_runtime_status\"\n");
    printf(" -D DEFAULT_ERRORLOG=\"%s\"\n", DEFAULT_ERRORLOG);
    printf(" -D AP_TYPES_CONFIG_FILE=\"%s\"\n", AP_TYPES_CONFIG_FILE);
    printf(" -D SERVER_CONFIG_FILE=\"%s\"\n", options->confname);
}

void main_print_settings(const main_options *options)
{
    main_print_version();
    printf("Server's Module Magic Number: %u:%u\n", MODULE_MAGIC_NUMBER_MAJOR,
           MODULE_MAGIC_NUMBER_MINOR);
    main_print_libraries();
    printf("Architecture:   %ld-bit\n", 8 * (long)sizeof(void *));
    printf("Server MPM:     %s\n", ap_show_mpm());
    printf("  threaded:     %s\n", mpm_settings.prefork ? "no" : "yes (variable thread count)");
    printf("    forked:     yes (%s process count)\n", mpm_settings.prefork ? "variable" : "fixed");
    main_print_switches(options);
}

void main_print_usage(FILE *out, const char *program)
{
    static const char *const lines[] = {
        "  -D name            : define a name for <IfDefine name>",
        "  -d directory       : ServerRoot until the configuration sets it",
        "  -f file            : the configuration to read",
        "  -C \"directive\"     : read a directive before the configuration",
        "  -c \"directive\"     : read a directive after the configuration",
        "  -e level           : level of messages at start (see LogLevel)",
        "  -E file            : a file for messages at start",
        "  -k command         : start, stop, status, reload, graceful, restart, graceful-stop,",
        "                       upgrade",
        "  -k purge URL..     : end what is stored of it; URL* and tag:NAME, too",
        "  -k soft-purge ..   : it is stale from now on",
        "  -k cache [URL..]   : what is stored of it, and why not; of all: how much",
        "  -v                 : print the version",
        "  --version          : print the version, libraries and options of the build",
        "  -V                 : print these and how it was built",
        "  -h, --help         : print this",
        "  -l                 : print the built-in modules",
        "  -L                 : print the directives of the built-in modules",
        "  -L NAME            : print the manual's entry of a directive or module, or a guide",
        "  -L WORDS           : print which of these answer a question: -L redirect www",
        "  -t                 : check the configuration",
        "  -t -D DUMP_VHOSTS  : print the virtual hosts",
        "  -t -D DUMP_RUN_CFG : print paths, locks, defines and user that the server would have",
        "  -t -D DUMP_SANDBOX : print the files and ports in reach with Sandbox On",
        "  -S                 : both of these",
        "  -t -D DUMP_MODULES : print the active modules (-M)",
        "  -t -D DUMP_INCLUDES: print the files that make up the configuration",
        "  -t -D DUMP_PROXY   : print which requests other servers answer, and which servers",
        "  -t -D DUMP_CERTS   : print the certificates of the built-in ssl module",
        "  -t -D DUMP_CACHE u : is the answer to that URL kept in memory, and if not, why?",
        "  -T                 : start without checking DocumentRoots",
        "  -X                 : one process in the foreground, for a debugger",
        "  --explain [opts] u : which lines of the configuration make that URL's answer what it is",
        "  --serve d [port]   : serve that directory at once, to this machine; [address:]port",
        "  --advice           : check it, and list risky settings, each with its line and its mend",
        "  --takeover-check d : would Apache's configuration in that directory or file serve here?",
        "  --check-module so..: would these modules load, and what do they offer?",
        "  --calibrate-delivery d: measure ways to send files of that directory, by size",
        "  --profile u.|pid   : where the processor's time goes, by function and system call",
        "  --compare-memory u.: measure requests for these URLs with each memory system",
        "  --check-ssi file.. : report mistakes in pages with server-side includes",
        NULL};

    fprintf(out,
            "Usage: %s [-D name] [-d directory] [-f file]\n"
            "       [-C \"directive\"] [-c \"directive\"]\n"
            "       [-k start|stop|status|reload|graceful|restart|graceful-stop|upgrade]\n"
            "       [-k purge|soft-purge|cache URL...]\n"
            "       [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S] [-M] [-X]\nOptions:\n",
            program);
    for (int i = 0; lines[i]; i++)
        fprintf(out, "%s\n", lines[i]);
}

/* ---- -l, -L ---- */

AP_DECLARE(const char *) ap_show_mpm(void)
{
    return mpm_name();
}

AP_DECLARE(void) ap_show_modules(void)
{
    conf_builtin_print();
}

/* "A", "A or B", "A or B or C" of the groups that let a directive into .htaccess. */
static void main_print_overrides(int where)
{
    static const struct {
        int bit;
        const char *name;
    } groups[] = {{OR_AUTHCFG, "AuthConfig"},
                  {OR_LIMIT, "Limit"},
                  {OR_OPTIONS, "Options"},
                  {OR_FILEINFO, "FileInfo"},
                  {OR_INDEXES, "Indexes"}};
    const char *before = "\twhen AllowOverride includes ";

    if ((where & OR_ALL) == OR_ALL) {
        printf("\twhen AllowOverride isn't None\n");
        return;
    }
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (where & groups[i].bit) {
            printf("%s%s", before, groups[i].name);
            before = " or ";
        }
    }
    printf("\n");
}

static void main_print_context(const command_rec *cmd)
{
    int outside = cmd->req_override & (RSRC_CONF | OR_OPTIONS | OR_FILEINFO | OR_INDEXES);
    int inside = cmd->req_override & (ACCESS_CONF | OR_ALL);

    printf("\tAllowed in *.conf ");
    if (outside && inside)
        printf("anywhere");
    else if (outside)
        printf("only outside <Directory>, <Files>, <Location>, or <If>");
    else
        printf("only inside <Directory>, <Files>, <Location>, or <If>");
    if (cmd->req_override & OR_ALL)
        printf(" and in .htaccess");
    printf("\n");
    if (cmd->req_override & OR_ALL)
        main_print_overrides(cmd->req_override);
}

AP_DECLARE(void) ap_show_directives(void)
{
    for (module **m = ap_loaded_modules; m && *m; m++) {
        for (const command_rec *cmd = (*m)->cmds; cmd && cmd->name; cmd++) {
            printf("%s (%s)\n", cmd->name, (*m)->name);
            printf("\t%s\n", cmd->errmsg ? cmd->errmsg : "");
            main_print_context(cmd);
        }
    }
}

/* ---- -t -D DUMP_RUN_CFG ---- */

static const char *main_error_log_name(apr_pool_t *p, const server_rec *s)
{
    const char *name = s->error_fname;

    if (!name || *name == '|' || brg_log_service_is_named(name))
        return name ? name : "";
    return ap_server_root_relative(p, name);
}

static void main_dump_user(apr_file_t *out)
{
    const unixd_config_rec *u = &ap_unixd_config;
    const struct group *group = getgrgid(u->group_id);
    const char *unused = geteuid() ? " not_used" : "";

    apr_file_printf(out, "User: name=\"%s\" id=%lu%s\n", u->user_name, (unsigned long)u->user_id,
                    unused);
    apr_file_printf(out, "Group: name=\"%s\" id=%lu%s\n",
                    u->group_name ? u->group_name : (group ? group->gr_name : ""),
                    (unsigned long)u->group_id, unused);
}

void main_dump_run_config(apr_pool_t *p, server_rec *s)
{
    const core_server_config *conf = core_server_conf_of(s);
    apr_file_t *out;

    if (!ap_exists_config_define("DUMP_RUN_CFG"))
        return;
    apr_file_open_stdout(&out, p);
    apr_file_printf(out, "ServerRoot: \"%s\"\n", ap_server_root);
    apr_file_printf(out, "Main DocumentRoot: \"%s\"\n", conf->ap_document_root);
    apr_file_printf(out, "Main ErrorLog: \"%s\"\n", main_error_log_name(p, s));
    ap_dump_mutexes(p, s, out);
    ap_mpm_dump_pidfile(p, out);
    conf_vars_dump(out);
    main_dump_user(out);
}
