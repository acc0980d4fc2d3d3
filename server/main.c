/* SPDX-License-Identifier: Apache-2.0 */
/* The program. A start reads the configuration twice, as modules expect: once to test it and to see
 * the purpose of a -k command, then afresh to serve. */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "ap_mpm.h"
#include "mpm_common.h"
#include "cached.h"
#include "upgrade.h"
#include "generation.h"
#include "listen_sockets.h"
#include "ambient.h"
#include "notify.h"
#include "crash.h"
#include "configuration.h"
#include "main_parts.h"
#include "mpm_settings.h"

APLOG_USE_MODULE(core);

/* Configuration is good, as far as -t can tell. */
static void main_end_test(process_rec *process)
{
    if (main_starts_are_tried(process) && !conf_trial_of_start(process))
        mpm_process_exit(process, 1);
    if (ap_run_mode == AP_SQ_RM_CONFIG_TEST)
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_NOERRNO, 0, NULL, "Syntax OK");
    ap_run_test_config(process->pconf, ap_server_conf);
    upgrade_checked();
    mpm_process_exit(process, 0);
}

/* -k: the process model knows the commands. Ends the program unless a server is to be started. */
static void main_signal(process_rec *process, const main_options *options)
{
    APR_OPTIONAL_FN_TYPE(ap_signal_server) *signal_server =
        APR_RETRIEVE_OPTIONAL_FN(ap_signal_server);
    const int verb = cached_verb_of(mpm_command());
    int status = 0;

    if (verb) {
        const pid_t pid = mpm_running(process->pconf);

        mpm_process_exit(process,
                         pid ? cached_command(process->pconf, ap_server_conf, pid,
                                              (cached_verb)verb, options->named, options->named_n)
                             : CACHED_COMMAND_FAILED);
    }
    if (signal_server && signal_server(&status, process->pconf))
        mpm_process_exit(process, status);
}

/* The first reading: all checks, and commands that need no more. */
static void main_first_pass(process_rec *process, const main_options *options)
{
    apr_status_t rv;

    if (upgrade_is_last())
        return; /* there are processes that serve: nothing is read in place before a trial */
    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    rv = conf_generation_read(process, CONF_DEPTH_CHECK);
    if (rv != APR_SUCCESS && conf_fault_is_placed())
        main_start_failed(process);
    if (rv != APR_SUCCESS)
        mpm_process_exit(process, 1);
    if (ap_run_mode != AP_SQ_RM_NORMAL) {
        conf_notices_write();
        main_end_test(process);
    }
    main_signal(process, options);
    if (!mpm_foreground()) /* a terminal; the log gets them from the second reading */
        conf_notices_write();
    if (conf_generation_open(process, CONF_DEPTH_FULL) != APR_SUCCESS)
        main_start_failed(process);
}

/* Serve, generation after generation. @return the program's exit status */
static int main_serve(process_rec *process)
{
    apr_status_t rv;
    int rc;

    if (upgrade_is_last())
        rv = conf_read_generation(process);
    else {
        conf_generation_clear(process);
        rv = conf_generation_read(process, CONF_DEPTH_FULL);
    }
    if (rv != APR_SUCCESS && !upgrade_is_last())
        main_start_failed(process);
    while (rv == APR_SUCCESS) {
        ap_main_state = AP_SQ_MS_RUN_MPM;
        ap_config_generation++; /* as in Apache: 0 while the first one is read */
        rc = ap_run_mpm(process->pconf, conf_plog(), ap_server_conf);
        if (rc != OK && rc != DONE)
            main_run_failed(process);
        if (rc != OK)
            return rc == DONE ? 0 : 1;
        upgrade_if_asked(process);
        rv = conf_read_generation(process);
    }
    return 0; /* it was told to end */
}

/* -V: of the configuration the process model alone is of interest. A configuration that cannot be
 * read leaves the default. */
static void main_show_settings(process_rec *process, const main_options *options)
{
    ap_run_mode = AP_SQ_RM_CONFIG_TEST;
    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    if (main_has_configuration(process->pool, options))
        (void)conf_generation_read(process, CONF_DEPTH_READ);
    main_print_settings(options);
    mpm_process_exit(process, 0);
}

int main(int argc, const char *const *argv)
{
    process_rec *process;
    main_options options = {0};
    const char *error;
    int tries;

    upgrade_first(argv);
    daemon_keep_terminal();
    tries = conf_trial_asked();
    process = main_process_create(argc, argv);
    ambient_begin();
    notify_begin();
    listen_given_begin();
    ap_fatal_signal_setup(
        NULL, process->pool); /* modules may crash while the configuration is read, too */
    crash_exit_watch();
    conf_generation_init(process);
    error = ap_setup_prelinked_modules(process);
    if (error) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_EMERG, 0, NULL, APLOGNO(00012) "%s: %s",
                     ap_server_argv0, error);
        mpm_process_exit(process, 1);
    }
    main_check_module(process);
    main_calibrate(process);
    main_check_ssi(process); /* before the arguments of -k are taken out */
    main_takeover(process);
    main_advice(process);
    main_serve_take(process);
    main_compare_take(process);
    main_explain_take(process);
    main_profile_take(process);
    main_long_options(process);
    ap_run_rewrite_args(process);
    upgrade_begin(process);
    main_options_read(process, &options);
    main_serve_options(&options);
    conf_generation_source(options.confname, options.root);
    if (tries && ap_run_mode == AP_SQ_RM_CONFIG_TEST)
        conf_trial(process);
    if (options.settings)
        main_show_settings(process, &options);
    if (options.tried)
        main_try(process, options.tried);
    if (main_explain_is_asked())
        main_explain(process);
    if (main_profile_is_asked())
        main_profile(process);
    if (main_compare_is_asked())
        main_compare(process);
    main_first_pass(process, &options);
    main_serve_tell();
    mpm_process_exit(process, main_serve(process));
}
