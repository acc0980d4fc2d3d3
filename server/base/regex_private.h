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

/** A pattern that is plain text (regex_literal.c). */
typedef struct regex_literal {
    const char *text;
    uint32_t len; /**< 0: it is another one */
    uint8_t at_begin, at_end;
} regex_literal;

/** @param text  as long as @a pattern; it lives as long as @a l */
void regex_literal_find(regex_literal *l, char *text, const char *pattern, int cflags);

/** As ap_regexec_len() without flags. */
int regex_literal_match(const regex_literal *l, const char *subject, apr_size_t len,
                        apr_size_t nmatch, ap_regmatch_t *pmatch);

/** Read-only once it is made. */
typedef struct regex_code {
    uint32_t tag;
    regex_literal literal;
    pcre2_code *pcre;
    char text[]; /**< "the pattern", and where it stands if that is known: for the error log */
} regex_code;

#endif
