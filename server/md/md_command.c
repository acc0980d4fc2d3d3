/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the administrator: they run as the user of server processes, without this process's
 * descriptors and rights. */
#include "md_job.h"
#include "http_log.h"
#include "unixd.h"
#include "apr_strings.h"
#include "brigade/loop.h"
#include "brigade/assert.h"
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

APLOG_USE_MODULE(md);

#define COMMAND_LOOK_US 20000

static int command_become_user(void)
{
    const unixd_config_rec *u = &ap_unixd_config;

    return geteuid() == 0 &&
           (setgid(u->group_id) || initgroups(u->user_name, u->group_id) || setuid(u->user_id));
}

static const char **command_words(apr_pool_t *p, const char *command, const char *const *more)
{
    apr_array_header_t *all = apr_array_make(p, 8, sizeof(const char *));

    while (*command)
        APR_ARRAY_PUSH(all, const char *) = ap_getword_conf(p, &command);
    for (; *more; more++)
        APR_ARRAY_PUSH(all, const char *) = *more;
    APR_ARRAY_PUSH(all, const char *) = NULL;
    return (const char **)(void *)all->elts;
}

static void command_exec(const char *const *words)
{
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    if (command_become_user() || chdir("/"))
        _exit(126);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

static int command_wait(pid_t pid)
{
    const apr_time_t until = brg_monotonic_now() + apr_time_from_sec(MD_COMMAND_SECONDS);
    int status;

    for (;;) {
        const pid_t done = waitpid(pid, &status, WNOHANG);

        if (done == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (done < 0 && errno != EINTR)
            return -1;
        if (brg_monotonic_now() >= until) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        usleep(COMMAND_LOOK_US);
    }
}

int md_command_run(apr_pool_t *p, server_rec *s, const char *command, const char *const *more)
{
    const char **words = command_words(p, command, more);
    pid_t pid;
    int code;

    BRG_ASSERT(command && more);
    if (!words[0])
        return -1;
    pid = fork();
    if (!pid)
        command_exec(words);
    code = pid > 0 ? command_wait(pid) : -1;
    if (code)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s, "%s failed with exit code %d.", command,
                     code);
    return code;
}

int md_command_tell(apr_pool_t *p, server_rec *s, const md_domain *domain, const char *event)
{
    const char *const told[] = {event, domain->name, NULL};
    const char **names = apr_pcalloc(p, sizeof(*names) * ((apr_size_t)domain->names->nelts + 1));
    int code = 0;

    BRG_ASSERT(domain->name && event);
    if (md_all.message_command)
        code = md_command_run(p, s, md_all.message_command, told);
    if (md_all.notify_command && !strcmp(event, "renewed")) {
        memcpy(names, domain->names->elts, sizeof(*names) * (apr_size_t)domain->names->nelts);
        md_command_run(p, s, md_all.notify_command, names);
    }
    return code ? -1 : 0;
}
