/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_OS_H
#define APACHE_OS_H

/** @file os.h  Differences between operating systems: here, any Unix. */
#include "apr.h"
#include "ap_config.h"

#ifndef PLATFORM
#define PLATFORM "Unix"
#endif

/** Lock files and semaphores must be given to the user that server processes run as. */
#define AP_NEED_SET_MUTEX_PERMS 1

/** The rewrite_args hook of the MPM. */
#define AP_PLATFORM_REWRITE_ARGS_HOOK ap_mpm_rewrite_args

#endif
