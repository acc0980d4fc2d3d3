/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_REGEX_LIMITS_H
#define BRIGADE_BASE_REGEX_LIMITS_H

/**
 * @file regex_limits.h
 * Limits of regular expressions. A match may take time that grows
 * exponentially with its subject, and clients choose subjects: every match is limited, and a match
 * that reaches a limit is an error, not "no match".
 */

#include "program_thread.h"

#define REGEX_LIMIT_DEFAULT 100000 /**< RegexMatchLimit: PCRE's steps of one match */

#define REGEX_LIMIT_MAX 1000000000

/** RegexMatchLimit. While the configuration is read. */
void regex_limit_set(unsigned steps);

/** regex_failures(); written by regex_match.c alone. */
extern PROGRAM_THREAD_LOCAL unsigned regex_failed_n;

/**
 * How many matches of the calling thread ended with an error so far. Access control by expressions
 * compares it before and after, since callers of ap_regexec() mostly take an error for "no match".
 */
static inline unsigned regex_failures(void)
{
    return regex_failed_n;
}

#endif
