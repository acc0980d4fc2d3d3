/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_REGEX_PRIVATE_H
#define BRIGADE_BASE_REGEX_PRIVATE_H

/**
 * @file regex_private.h
 * The target of ap_regex_t.re_pcre: made by regex_pcre2.c, used by
 * regex_match.c. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "ap_regex.h"
#include <pcre2.h>

#define REGEX_CODE_TAG 0x52474358

/** Read-only once it is made. */
typedef struct regex_code {
    uint32_t tag;
    pcre2_code *pcre;
    char text[]; /**< "the pattern", and where it stands if that is known: for the error log */
} regex_code;

#endif
