/* SPDX-License-Identifier: Apache-2.0 */
/* --takeover-check DIR or FILE: would a site's configuration of Apache serve here as it is? Reads
 * envvars, root and file as apache2ctl does, tests the configuration without its unsupported lines,
 * and ends with notes for the administrator. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "configuration.h"
#include "core_settings.h"
#include "crash.h"
#include "main_parts.h"
#include "mpm_settings.h"
#include "placement.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static const char *takeover_dir; /* NULL: no check was asked for */

/* ---- before the configuration is read ---- */

/* A line for each variable that the shell has once it has read the file: names and values may have
 * anything but NUL in them. */
static void takeover_environment(apr_pool_t *p, const char *file)
{
    const char *command = apr_pstrcat(p, ". ", ap_escape_shell_cmd(p, file), " && env -0", NULL);
    size_t len = 0, room = 256 * 1024;
    char *text = apr_palloc(p, room + 1);
    FILE *in;

    BRG_ASSERT(takeover_dir != NULL);
    setenv("APACHE_CONFDIR", takeover_dir, 1);
    if (access(file, R_OK) || !(in = popen(command, "r")))
        return;
    while (len < room) {
        size_t n = fread(text + len, 1, room - len, in);

        if (n == 0)
            break;
        len += n;
    }
    pclose(in);
    BRG_ASSERT(len <= room);
    text[len] = '\0';
    for (char *at = text; at < text + len; at += strlen(at) + 1) {
        char *value = strchr(at, '=');

        if (value) {
            *value = '\0';
            setenv(at, value + 1, 1);
            *value = '=';
        }
    }
}

/* As Debian and its children, or else as Red Hat and Apache itself lay it out. */
static const char *takeover_file(apr_pool_t *p)
{
    static const char *const names[] = {"apache2.conf", "conf/httpd.conf", "httpd.conf", NULL};

    for (int i = 0; names[i]; i++)
        if (access(apr_pstrcat(p, takeover_dir, "/", names[i], NULL), R_OK) == 0)
            return names[i];
    fprintf(stderr, "%s: neither apache2.conf nor conf/httpd.conf is there\n", takeover_dir);
    return NULL;
}

/* A configuration by its name: it lies in its root, unless its ServerRoot says otherwise. */
static const char *takeover_split(char *path)
{
    struct stat st;
    char *slash = strrchr(path, '/');

    if (!slash || slash == path || stat(path, &st) || !S_ISREG(st.st_mode))
        return NULL;
    *slash = '\0';
    return slash + 1;
}

/* After the two lines of the crash, which name directive and module. No library: see crash.c. */
static void takeover_crashed(void)
{
    static const char verdict[] =
        "Can Brigade take over? No: a module crashed while its directive was read (above)\n";

    if (write(STDOUT_FILENO, verdict, sizeof verdict - 1) < 0)
        return;
}

void main_takeover(process_rec *process)
{
    apr_pool_t *p = process->pool;
    const char **argv, *file;
    char *dir;

    if (process->argc < 2 || strcmp(process->argv[1], "--takeover-check"))
        return;
    if (process->argc > 3 ||
        apr_filepath_merge(&dir, NULL, process->argc == 3 ? process->argv[2] : "/etc/apache2",
                           APR_FILEPATH_TRUENAME, p) != APR_SUCCESS) {
        main_print_usage(stderr, process->argv[0]);
        mpm_process_exit(process, 2);
    }
    file = takeover_split(dir);
    takeover_dir = dir;
    crash_last_resort(takeover_crashed);
    if (!file && !(file = takeover_file(p)))
        mpm_process_exit(process, 1);
    takeover_environment(p, apr_pstrcat(p, dir, "/envvars", NULL));
    argv = apr_pcalloc(p, 11 * sizeof *argv);
    memcpy(argv,
           ((const char *[]){process->argv[0], "-t", "-D", "LENIENT", "-D", CONF_TAKEOVER_DEFINE,
                             "-d", dir, "-f", file, NULL}),
           11 * sizeof *argv);
    process->argc = 10;
    process->argv = argv;
}

/* ---- once it is read ---- */

static int takeover_lines(const ap_directive_t *d, const char *name)
{
    int n = 0;

    for (; d; d = d->next)
        n += (!name || !ap_cstr_casecmp(d->directive, name)) + takeover_lines(d->first_child, name);
    return n;
}

static void takeover_capacity(void)
{
    if (mpm_workers())
        printf("  Apache's process model: event loops and worker threads; %d requests of a process "
               "may wait "
               "for something (MaxRequestWorkers)\n",
               mpm_workers());
    else
        printf(
            "  Apache's process model: as with Apache's mpm_prefork, %d processes of one thread\n",
            mpm_processes_most());
}

/* With mpm_prefork each of them has its meaning in Apache. */
static void takeover_mapped(void)
{
    static const char *const mapped[][2] = {
        {"StartServers", "ServerProcesses"},
        {"MinSpareThreads", "threads start when there is work for them"},
        {"MaxSpareThreads", "threads start when there is work for them"},
        {"ListenCoresBucketsRatio", "every event loop has sockets of its own"},
    };

    printf("Mapped to something else:\n");
    if (mpm_settings.prefork) { /* its lines have Apache's meaning */
        printf("  none\nApache's process model: mpm_prefork, a process for each connection\n");
        return;
    }
    for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++)
        if (mpm_workers() && takeover_lines(ap_conftree, mapped[i][0]))
            printf("  %s: %s\n", mapped[i][0], mapped[i][1]);
    takeover_capacity();
}

static void takeover_modules(void)
{
    int loaded = 0, built_in = 0;

    for (module **m = ap_loaded_modules; *m; m++) {
        loaded += (*m)->dynamic_load_handle != NULL;
        built_in += (*m)->dynamic_load_handle == NULL;
    }
    printf("Offered: %d directives; %d modules from Apache's files, %d built in\n",
           takeover_lines(ap_conftree, NULL) - conf_unsupported_last(), loaded, built_in);
}

static void takeover_differs(void)
{
    printf("What differs:\n");
    printf("  the Server field says %s (ServerTokens), applications see \"%s\" (ServerSoftware)\n",
           BRG_PRODUCT, core_software());
    if (!takeover_lines(ap_conftree, "TraceEnable"))
        printf("  TRACE is refused unless TraceEnable allows it\n");
    printf("  a bad configuration at a reload leaves the running one in force\n");
    printf(
        "  pgrep -f ^/usr/sbin/apache2, which logrotate asks, finds nobody unless the program is "
        "started under that name\n");
    printf("  the manual's page \"Differences from Apache\" lists answers that differ\n");
}

static int takeover_memory(void)
{
    int found = 0;

    apr_hook_sort_all();
    policy_survey_hooks();
    printf("Modules that keep answers out of memory:\n");
    for (module **m = ap_loaded_modules; *m; m++) {
        policy_reason reason;

        if (!policy_keeps_out(*m, &reason))
            continue;
        printf("  %s: %s\n", reason.module, reason.why);
        found = 1;
    }
    if (!found)
        printf("  none\n");
    return found;
}

int main_takeover_is_asked(void)
{
    return takeover_dir != NULL;
}

void main_takeover_report(apr_pool_t *p, server_rec *s)
{
    int refused = conf_unsupported_last();

    if (!takeover_dir)
        return;
    printf("\n%s\n", takeover_dir);
    takeover_modules();
    takeover_mapped();
    main_takeover_limits(p, ap_conftree, 0);
    printf("Refused: %d lines%s\n", refused, refused ? " (they are named above)" : "");
    takeover_differs();
    main_takeover_php(p, ap_conftree);
    takeover_memory();
    printf("Can Brigade take over? %s\n",
           refused ? "No: load the modules of the refused lines, or take these out" : "Yes");
    fflush(stdout);
    if (refused)
        mpm_process_exit(s->process, 1);
}
