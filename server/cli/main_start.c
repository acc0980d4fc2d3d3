/* SPDX-License-Identifier: Apache-2.0 */
/* Starts that fail, and -t, which tells beforehand that one would. */
#include "httpd.h"
#include "brigade/log_service.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_strings.h"
#include "generation.h"
#include "main_parts.h"
#include "mpm_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static void start_say(const process_rec *process, const char *why)
{
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, NULL, "the server does not start: %s",
                 why);
    daemon_say(apr_psprintf(process->pool, "%s: the server does not start: %s\n",
                            process->short_name, why));
}

int main_wait(pid_t child)
{
    int status = 0;
    pid_t ended = -1;

    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

void main_start_failed(process_rec *process)
{
    start_say(process, *conf_fault() ? conf_fault() : "nothing says why");
    mpm_process_exit(process, 1);
}

void main_run_failed(process_rec *process)
{
    const char *log = ap_server_conf ? ap_server_conf->error_fname : NULL;

    if (*conf_fault())
        start_say(process, conf_fault());
    else
        start_say(process, log ? apr_psprintf(process->pool, "its error log (%s) says why", log)
                               : "its error log says why");
}

/* A user who may not write the error log does not start this server: other files closed to him are
 * no mistake. */
static int start_is_allowed(apr_pool_t *p, const server_rec *s)
{
    const char *name = s->error_fname, *path;

    if (!geteuid() || !name || *name == '|' || brg_log_service_is_named(name) ||
        !(path = ap_server_root_relative(p, name)) || !access(path, W_OK))
        return 1;
    return errno == ENOENT && !access(ap_make_dirstr_parent(p, path), W_OK | X_OK);
}

/* -D DUMP_CERTS and the like want to be told something, however much else is wrong. */
static int start_is_dumped(void)
{
    for (int i = 0; i < ap_server_config_defines->nelts; i++)
        if (!strncmp(APR_ARRAY_IDX(ap_server_config_defines, i, const char *), "DUMP_", 5))
            return 1;
    return 0;
}

int main_starts_are_tried(const process_rec *process)
{
    return ap_run_mode == AP_SQ_RM_CONFIG_TEST && !start_is_dumped() && !main_takeover_is_asked() &&
           !main_advice_is_asked() && start_is_allowed(process->pool, ap_server_conf);
}
