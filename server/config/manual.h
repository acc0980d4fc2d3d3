/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SERVER_CONFIG_MANUAL_H
#define BRIGADE_SERVER_CONFIG_MANUAL_H

/**
 * @file manual.h
 * The manual of directives, as text in the program: lines "# MODULE.c", "= NAME", and the entry up to the next of
 * these. All strings are constant and live as long as the program. Threads: any.
 */
#include "apr_pools.h"
#include <stddef.h>

/** All of it, up to a NUL. */
const char *manual_text(void);

/** The line behind the one at @a line; the NUL behind the last. */
const char *manual_next_line(const char *line);

/** The name of the entry that begins at @a line, without angle brackets; *len 0 if none does. */
const char *manual_name(const char *line, size_t *len);

/**
 * The line that begins the entry of directive @a name (any case; with angle brackets or without).
 * @param from  gets the line "# MODULE.c" above it
 * @return NULL: there is no such entry
 */
const char *manual_find(const char *name, const char **from);

/** For a message about @a directive, which no active module offers: ": it is a directive of ..., which ..."; "" if the
 * manual does not have it. From @a p. */
const char *manual_why_missing(apr_pool_t *p, const char *directive);

#endif
