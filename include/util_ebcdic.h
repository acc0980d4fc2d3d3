/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_UTIL_EBCDIC_H
#define APACHE_UTIL_EBCDIC_H

/** @file util_ebcdic.h  Nothing to translate where the machine speaks ASCII. */
#include "apr_xlate.h"
#include "httpd.h"
#include "util_charset.h"

#define ap_xlate_proto_to_ascii(x, y)
#define ap_xlate_proto_from_ascii(x, y)
#define ap_rvputs_proto_in_ascii ap_rvputs

#endif
