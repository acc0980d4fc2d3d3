/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_UTIL_CHARSET_H
#define APACHE_UTIL_CHARSET_H

/** @file util_charset.h  Translation of headers on EBCDIC machines: none here. */
#include "apr.h"

#endif
