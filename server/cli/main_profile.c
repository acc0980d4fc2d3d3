/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --profile: which functions, and which calls of the kernel, the processor's time goes to.
 *
 * Counting and drawing is brigade-profile's (build/tools), which lies beside this program and starts it again under callgrind,
 * strace and perf: as `--profile-trial URL SOCKET`, which answers requests at that socket (main_trial.h) until its standard input ends.
 */
#include "main_parts.h"
#include "main_trial.h"
#include "brigade/assert.h"
#include "http_main.h"

#include "apr_lib.h"
#include "apr_strings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_OPTION "--profile"
#define PROFILE_TRIAL "--profile-trial"
#define PROFILE_TOOL "brigade-profile"

static const char *profile_url, *profile_socket;

/* ---- the tool ---- */

static const char *profile_self(apr_pool_t *p)
{
    char self[4096];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    return len > 0 ? apr_pstrmemdup(p, self, (apr_size_t)len) : "brigade";
}

/* Its arguments: this program, and those of this program. */
static void profile_exec(process_rec *process) __attribute__((noreturn));
static void profile_exec(process_rec *process)
{
    const char *self = profile_self(process->pool);
    const char *tool = apr_psprintf(process->pool, "%.*s" PROFILE_TOOL,
                                    (int)(apr_filepath_name_get(self) - self), self);
    const char **args = apr_pcalloc(process->pool, sizeof *args * (size_t)(process->argc + 2));

    args[0] = tool;
    args[1] = self;
    for (int i = 1; i < process->argc; i++)
        args[i + 1] = process->argv[i];
    execv(tool, (char *const *)(void *)args);
    fprintf(stderr, "%s: %s: %s\n", process->short_name, tool, strerror(errno));
    mpm_process_exit(process, 2);
}

void main_profile_take(process_rec *process)
{
    for (int i = 1; i < process->argc; i++) {
        if (!strcmp(process->argv[i], PROFILE_OPTION))
            profile_exec(process);
        if (!strcmp(process->argv[i], PROFILE_TRIAL) && i == process->argc - 3) {
            profile_url = process->argv[i + 1];
            profile_socket = process->argv[i + 2];
            process->argc = i;
        }
    }
}

/* ---- the site that is measured ---- */

int main_profile_is_asked(void)
{
    return profile_url != NULL;
}

/* Until the tool closes standard input. */
static void profile_wait(void)
{
    char byte;

    printf("%ld\n", (long)getpid());
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR)
        errno = 0;
}

static int profile_tell(void)
{
    return 0;
}

void main_profile(process_rec *process)
{
    const main_trial site = {
        .client = profile_wait, .tell = profile_tell, .socket = profile_socket};

    BRG_ASSERT(profile_url != NULL);
    APR_ARRAY_PUSH(ap_server_config_defines, const char *) = "BRIGADE_TRIAL_LOGS";
    main_trial_read(process);
    mpm_process_exit(process, main_trial_run(process, profile_url, &site));
}
