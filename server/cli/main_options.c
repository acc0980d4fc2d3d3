/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, which is httpd's. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_general.h"
#include "apr_getopt.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brigade/ssi.h"
#include "cached.h"
#include "configuration.h"
#include "main_parts.h"
#include "module_check.h"
#include "memory_check.h"
#include "memory_out.h"
#include "out_of_memory.h"
#include "brigade/memory.h"

APLOG_USE_MODULE(core);

#ifndef BRIGADE_PREFIX
#define BRIGADE_PREFIX HTTPD_ROOT
#endif
#define MAIN_CONFIG_FILE "conf/httpd.conf"

/* ---- the process ---- */

static void main_begin_memory(const char *name)
{
    const char *variable;
    const char *error = memory_begin(oom_of_pool, &variable);

    if (error == NULL)
        return;
    fprintf(stderr, "%s: %s: %s\n", name, variable, error);
    exit(1);
}

/* Before a pool is wanted: where APR has pools of its own, there are none here. */
static void main_begin_runtime(int *argc, const char *const **argv, const char *name)
{
    const char *error = apr_app_initialize(argc, argv, NULL) != APR_SUCCESS
                            ? "cannot initialise the portable runtime"
                            : memory_check();

    if (error == NULL)
        return;
    fprintf(stderr, "%s: %s\n", name, error);
    exit(1);
}

process_rec *main_process_create(int argc, const char *const *argv)
{
    const char *name = argc ? argv[0] : "brigade";
    apr_pool_t *pool;
    process_rec *process;

    main_begin_memory(name);
    main_begin_runtime(&argc, &argv, name);
    if (apr_pool_create(&pool, NULL) != APR_SUCCESS) {
        fprintf(stderr, "%s: out of memory\n", name);
        exit(1);
    }
    apr_pool_abort_set(oom_of_pool, pool);
    apr_pool_tag(pool, "process");
    ap_open_stderr_log(pool);
    process = apr_pcalloc(pool, sizeof *process);
    process->pool = pool;
    brg_pool_create_scoped(&process->pconf, pool, BRG_SCOPE_CONFIGURATION);
    apr_pool_tag(process->pconf, "pconf");
    process->argc = argc;
    process->argv = argv;
    process->short_name = argc ? apr_filepath_name_get(argv[0]) : "brigade";
    ap_pglobal = pool;
    ap_server_argv0 = process->short_name;
    ap_server_pre_read_config = apr_array_make(pool, 1, sizeof(const char *));
    ap_server_post_read_config = apr_array_make(pool, 1, sizeof(const char *));
    ap_server_config_defines = apr_array_make(pool, 1, sizeof(const char *));
    return process;
}

/* ---- where we are ---- */

static int main_is_root(apr_pool_t *p, const char *dir)
{
    apr_finfo_t info;

    return apr_stat(&info, ap_make_full_path(p, dir, MAIN_CONFIG_FILE), APR_FINFO_TYPE, p) ==
           APR_SUCCESS;
}

const char *main_default_root(apr_pool_t *p)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    /* ROOT/bin/brigade and ROOT/brigade, so that an installation may be moved. */
    for (int up = 0; len > 0 && up < 2; up++) {
        char *slash;

        BRG_ASSERT(len < (ssize_t)sizeof self);
        self[len] = '\0';
        slash = strrchr(self, '/');
        if (!slash || slash == self)
            break;
        *slash = '\0';
        len = slash - self;
        if (main_is_root(p, self))
            return apr_pstrdup(p, self);
    }
    return BRIGADE_PREFIX;
}

int main_has_configuration(apr_pool_t *p, const main_options *options)
{
    char *path;

    return apr_filepath_merge(&path, options->root, options->confname, 0, p) == APR_SUCCESS &&
           access(path, R_OK) == 0;
}

/* Packages have a link to /etc in place of the folder: messages name the file that one edits. */
static const char *main_default_file(apr_pool_t *p, const char *root)
{
    char *path = ap_make_full_path(p, root, MAIN_CONFIG_FILE), *file = strrchr(path, '/');
    char *folder = apr_pstrmemdup(p, path, (apr_size_t)(file - path)), *real;
    struct stat st;

    if (lstat(folder, &st) || !S_ISLNK(st.st_mode) || !(real = realpath(folder, NULL)))
        return MAIN_CONFIG_FILE;
    path = apr_pstrcat(p, real, file, NULL);
    free(real);
    return path;
}

static const char *main_root(process_rec *process, const char *arg)
{
    char *path;

    if (apr_filepath_merge(&path, NULL, arg, APR_FILEPATH_TRUENAME, process->pool) != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, NULL, "Invalid -d option %s", arg);
        mpm_process_exit(process, 1);
    }
    return path;
}

/* ---- options ---- */

static void main_define(const char *name)
{
    static const char *const dumps[] = {"DUMP_VHOSTS",   "DUMP_RUN_CFG", "DUMP_MODULES",
                                        "DUMP_INCLUDES", "DUMP_CACHE",   "DUMP_SANDBOX",
                                        "DUMP_PROXY"};

    BRG_ASSERT(ap_server_config_defines != NULL);
    APR_ARRAY_PUSH(ap_server_config_defines, const char *) = name;
    for (unsigned i = 0; i < sizeof dumps / sizeof *dumps; i++)
        if (!strcmp(name, dumps[i]))
            ap_run_mode = AP_SQ_RM_CONFIG_DUMP;
}

static void main_log_level(process_rec *process, const char *arg)
{
    const char *error = ap_parse_log_level(arg, &ap_default_loglevel);

    if (!error)
        return;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, NULL, "%s: %s", process->short_name,
                 error);
    mpm_process_exit(process, 1);
}

/* Options that print something and are done. */
static void main_print(process_rec *process, int c, const main_options *options)
{
    switch (c) {
    case 'v':
        main_print_version();
        break;
    case 'l':
        ap_show_modules();
        break;
    case 'L':
        if (options->about)
            mpm_process_exit(process, main_print_manual(process->pool, options->about) ? 0 : 1);
        ap_show_directives();
        break;
    default:
        main_print_usage(stderr, process->argv[0]);
        mpm_process_exit(process, 1);
    }
    mpm_process_exit(process, 0);
}

static void main_option(process_rec *process, main_options *options, int c, const char *arg)
{
    switch (c) {
    case 'c':
        APR_ARRAY_PUSH(ap_server_post_read_config, const char *) = apr_pstrdup(process->pool, arg);
        break;
    case 'C':
        APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = apr_pstrdup(process->pool, arg);
        break;
    case 'd':
        options->root = main_root(process, arg);
        break;
    case 'D':
        main_define(apr_pstrdup(process->pool, arg));
        break;
    case 'e':
        main_log_level(process, arg);
        break;
    case 'E':
        if (ap_replace_stderr_log(process->pool, arg) != APR_SUCCESS)
            mpm_process_exit(process, 1);
        break;
    case 'f':
        options->confname = apr_pstrdup(process->pool, arg);
        break;
    case 'X':
        main_define("DEBUG");
        break;
    case 't':
        if (ap_run_mode == AP_SQ_RM_UNKNOWN)
            ap_run_mode = AP_SQ_RM_CONFIG_TEST;
        break;
    case 'T':
        ap_document_root_check = 0;
        break;
    case 'S':
        main_define("DUMP_VHOSTS");
        main_define("DUMP_RUN_CFG");
        break;
    case 'M':
        main_define("DUMP_MODULES");
        break;
    }
}

void main_check_ssi(process_rec *process)
{
    APR_OPTIONAL_FN_TYPE(brg_check_ssi) *check = APR_RETRIEVE_OPTIONAL_FN(brg_check_ssi);

    if (process->argc < 2 || strcmp(process->argv[1], "--check-ssi"))
        return;
    if (!check || process->argc < 3) {
        main_print_usage(stderr, process->argv[0]);
        mpm_process_exit(process, 2);
    }
    mpm_process_exit(process, check(process->pool, process->argc - 2, process->argv + 2) ? 1 : 0);
}

void main_check_module(process_rec *process)
{
    if (process->argc < 2 || strcmp(process->argv[1], "--check-module"))
        return;
    if (process->argc < 3) {
        main_print_usage(stderr, process->argv[0]);
        mpm_process_exit(process, 2);
    }
    mpm_process_exit(process, module_check(process, process->argc - 2, process->argv + 2));
}

/* ---- options with two dashes ---- */

/* The known options; all but the first three come first. */
static const char *const main_longs[] = {
    "--help",           "--version",        "--advice",
    "--check-module",   "--check-ssi",      "--calibrate-delivery",
    "--takeover-check", "--compare-memory", "--serve",
    "--explain",        "--profile"};

/* How many letters have to be put in, taken out or exchanged. */
static size_t main_distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);

    BRG_ASSERT(n < sizeof row / sizeof *row);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t here = corner + (a[i - 1] != b[j - 1]);

            corner = row[j];
            if (row[j] + 1 < here)
                here = row[j] + 1;
            row[j] = row[j - 1] + 1 < here ? row[j - 1] + 1 : here;
        }
    }
    return row[n];
}

static void main_long_refused(process_rec *process, const char *arg)
{
    const char *best = main_longs[0], *name = process->short_name;

    for (size_t i = 0; i < sizeof main_longs / sizeof *main_longs; i++) {
        if (!strcmp(arg, main_longs[i])) {
            fprintf(stderr, "%s: %s has to be the first argument\n", name, arg);
            mpm_process_exit(process, 1);
        }
        if (main_distance(arg, main_longs[i]) < main_distance(arg, best))
            best = main_longs[i];
    }
    fprintf(stderr, "%s: there is no option %s; did you mean %s? (-h prints all)\n", name, arg,
            best);
    mpm_process_exit(process, 1);
}

static int main_is_long(const process_rec *process, int i)
{
    return i > 0 && i < process->argc && !strncmp(process->argv[i], "--", 2) && process->argv[i][2];
}

/* The first one that is no value of another option; NULL: no such word. */
static const char *main_find_long(process_rec *process)
{
    const char *arg, *value = NULL;
    apr_getopt_t *opt;
    char c;

    apr_getopt_init(&opt, process->pool, process->argc, process->argv);
    opt->errfn = NULL; /* errors of other options are reported when those are read */
    while (apr_getopt(opt, "k:" AP_SERVER_BASEARGS, &c, &arg) == APR_SUCCESS)
        value = arg;
    /* It takes two dashes for the end of all options, whatever follows them. */
    if (main_is_long(process, opt->ind - 1) && process->argv[opt->ind - 1] != value)
        return process->argv[opt->ind - 1];
    return main_is_long(process, opt->ind) ? process->argv[opt->ind] : NULL;
}

void main_long_options(process_rec *process)
{
    const char *arg = main_find_long(process);

    if (!arg)
        return;
    if (strcmp(arg, "--help") && strcmp(arg, "--version"))
        main_long_refused(process, arg);
    if (!strcmp(arg, "--help")) {
        main_print_usage(stdout, process->argv[0]);
    } else {
        main_print_version();
        main_print_libraries();
    }
    mpm_process_exit(process, 0);
}

void main_options_read(process_rec *process, main_options *options)
{
    apr_getopt_t *opt;
    const char *arg;
    int printing = 0;
    char c;
    apr_status_t rv;

    options->confname = NULL;
    apr_getopt_init(&opt, process->pool, process->argc, process->argv);
    while ((rv = apr_getopt(opt, AP_SERVER_BASEARGS, &c, &arg)) == APR_SUCCESS) {
        main_option(process, options, c, arg);
        options->settings |= c == 'V';
        if (strchr("vlLh?", c))
            printing = (unsigned char)c;
    }
    if (!options->root)
        options->root = main_default_root(process->pool);
    if (!options->confname)
        options->confname = main_default_file(process->pool, options->root);
    if (ap_exists_config_define("DUMP_CACHE") && opt->ind == opt->argc - 1) {
        options->tried = opt->argv[opt->ind++];
        ap_run_mode = AP_SQ_RM_NORMAL; /* modules are to do all that they do for a server */
    }
    if (cached_verb_of(mpm_command())) {
        options->named = opt->argv + opt->ind;
        options->named_n = opt->argc - opt->ind;
        opt->ind = opt->argc;
    }
    while (printing == 'L' && opt->ind < opt->argc)
        options->about = apr_pstrcat(process->pool, options->about ? options->about : "",
                                     options->about ? " " : "", opt->argv[opt->ind++], NULL);
    if (!APR_STATUS_IS_EOF(rv) || opt->ind < opt->argc ||
        (ap_exists_config_define("DUMP_CACHE") && !options->tried))
        printing = '?';
    if (printing)
        main_print(process, printing, options);
    if (ap_run_mode == AP_SQ_RM_UNKNOWN)
        ap_run_mode = AP_SQ_RM_NORMAL;
    BRG_ASSERT(options->root && options->confname);
}
