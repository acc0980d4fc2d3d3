/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_REGKEY_H
#define AP_REGKEY_H

/** @file ap_regkey.h  The registry of another operating system: nothing here. */

#endif
