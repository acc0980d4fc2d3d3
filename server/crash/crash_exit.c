/* SPDX-License-Identifier: Apache-2.0 */
/* A module that calls exit() ends the process, with all other requests in it. This logs which module it was. */
#include "conf_position.h"
#include "crash.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include <stdlib.h>
#include <unistd.h>

APLOG_USE_MODULE(core);

static pid_t exit_watched; /* the process; 0: none. A process that a module forked is not watched */

void crash_exit_tell(void)
{
    const conf_position at = conf_position_now();
    crash_site site;

    if (getpid() != exit_watched)
        return;
    exit_watched = 0;
    crash_where_here(&site);
    if (at.file) /* a file that LoadModule opens is not known as a module yet */
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, ap_server_conf,
                     "exit() in the directive %s on line %d of %s",
                     at.directive ? at.directive : "", at.line, at.file);
    if (!site.loaded)
        return;
    ap_log_error(APLOG_MARK, APLOG_CRIT, 0, ap_server_conf,
                 "module %s called exit()%s%s: the process ends", site.module,
                 site.filter ? " in filter "
                 : site.hook ? " in hook "
                             : "",
                 site.filter ? site.filter
                 : site.hook ? site.hook
                             : "");
}

void crash_exit_expected(void)
{
    exit_watched = 0;
}

void crash_exit_watch(void)
{
    static int registered;

    exit_watched = getpid();
    if (!registered++ && atexit(crash_exit_tell))
        exit_watched = 0;
}
