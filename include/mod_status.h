/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOD_STATUS_H
#define MOD_STATUS_H

/** @file mod_status.h  Adding to the status page. */
#include "ap_config.h"
#include "httpd.h"

#define AP_STATUS_SHORT (0x1)    /**< lines for programs, not HTML */
#define AP_STATUS_NOTABLE (0x2)  /**< no tables in HTML */
#define AP_STATUS_EXTENDED (0x4) /**< ExtendedStatus is on */

/** How functions and data of mod_status are declared. */
#define STATUS_DECLARE(type) AP_DECLARE(type)
#define STATUS_DECLARE_NONSTD(type) AP_DECLARE(type)
#define STATUS_DECLARE_DATA AP_DECLARE_DATA

/** Write a part of the page with ap_rputs() and kin. An optional hook: register with APR_OPTIONAL_HOOK. */
APR_DECLARE_EXTERNAL_HOOK(ap, STATUS, int, status_hook, (request_rec * r, int flags))

#endif
