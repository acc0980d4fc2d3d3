/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_COMPAT_H
#define AP_COMPAT_H

/** @file ap_compat.h  Names that modules for old versions still use. */
#define MODULE_VAR_EXPORT AP_MODULE_DECLARE_DATA
#define ap_send_http_header(r) ;

#endif
