/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process of the server: its pools, APR, exit(). */
#include "mpm_settings.h"
#include "crash.h"
#include "http_core.h"
#include "http_main.h"
#include "apr_general.h"
#include <stdlib.h>

void mpm_process_exit(process_rec *process, int status)
{
    ap_main_state = AP_SQ_MS_EXITING;
    crash_exit_expected();
    apr_pool_destroy(process->pool);
    apr_terminate();
    exit(status);
}
