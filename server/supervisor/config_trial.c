/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of a configuration, in a process of its own. Modules see a start: the configuration is read twice, in the run mode
 * of a server, and all hooks up to the beginning of service are run. trial.h lists its limits. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "mpm_common.h"
#include "apr_strings.h"
#include "upgrade.h"
#include "generation.h"
#include "kept_secret.h"
#include "listen_sockets.h"
#include "mpm_settings.h"
#include "pidfile.h"
#include "trial.h"

#include <errno.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

/* "start", or "reload" and the addresses that the server has; NULL: none */
static const char *trial_order;

int conf_trial_asked(void)
{
    const char *order = getenv(CONF_TRIAL_VARIABLE), *secrets;

    if (order)
        trial_order = strdup(order);
    if (order && (secrets = strstr(order, CONF_TRIAL_SECRETS)) != NULL)
        kept_secret_take(atoi(secrets + strlen(CONF_TRIAL_SECRETS)));
    unsetenv(CONF_TRIAL_VARIABLE);
    return trial_order != NULL;
}

static int trial_is_reload(void)
{
    return !strncmp(trial_order, CONF_TRIAL_RELOAD, strlen(CONF_TRIAL_RELOAD));
}

/* A start writes it; a server that runs has done so. */
static apr_status_t trial_of_pid_file(apr_pool_t *p)
{
    const char *path = ap_pid_fname ? ap_server_root_relative(p, ap_pid_fname) : NULL;
    pid_t other;

    if (!path || !pidfile_wanted(ap_pid_fname) || pidfile_read(p, path, &other) == APR_SUCCESS ||
        access(ap_make_dirstr_parent(p, path), W_OK | X_OK) == 0)
        return APR_SUCCESS;
    if (errno == EACCES && geteuid())
        return APR_SUCCESS; /* whoever may not write it does not start this server */
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, NULL,
                 APLOGNO(00099) "could not create %s", path);
    conf_fault_found("");
    return APR_EGENERAL;
}

static apr_status_t trial_run(process_rec *process)
{
    apr_status_t rv;

    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    rv = conf_generation_read(process, CONF_DEPTH_CHECK);
    if (rv != APR_SUCCESS || !mpm_settings.trial_is_full)
        return rv;
    rv = conf_generation_open(process, CONF_DEPTH_TRIAL);
    if (rv != APR_SUCCESS)
        return rv;
    conf_generation_clear(process);
    rv = conf_generation_read(process, CONF_DEPTH_TRIAL);
    if (rv != APR_SUCCESS)
        return rv;
    conf_fault_phase();
    return trial_of_pid_file(process->pool);
}

void conf_trial(process_rec *process)
{
    BRG_ASSERT(trial_order != NULL);
    /* Nobody waits for the result of one whose server was killed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Daemons that modules start are of this process's group: the asking process ends the rest of it. */
    if (trial_is_reload())
        (void)setpgid(0, 0);
    trial_begin(trial_is_reload() ? TRIAL_RELOAD : TRIAL_START);
    listen_trial_addresses(trial_order);
    ap_run_mode = AP_SQ_RM_NORMAL;
    if (trial_is_reload())
        ap_config_generation = (int)getpid(); /* modules name files by it */
    if (trial_run(process) != APR_SUCCESS) {
        fprintf(stderr, "\n" CONF_TRIAL_FAULT "%s\n", conf_fault());
        mpm_process_exit(process, 1);
    }
    fprintf(stderr, "\n" CONF_TRIAL_GOOD "\n");
    upgrade_checked();
    mpm_process_exit(process, 0);
}
