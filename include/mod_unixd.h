/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_UNIXD_H
#define MOD_UNIXD_H

/** @file mod_unixd.h  Dropping privileges. */
#include "ap_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/** In a new server process: become User and Group. 0, or -1 after logging. */
AP_DECLARE(int) ap_unixd_setup_child(void);

#ifdef __cplusplus
}
#endif
#endif
