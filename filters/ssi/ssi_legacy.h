/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_LEGACY_H
#define SSI_LEGACY_H

/** @file ssi_legacy.h  Trees of the expression language of Apache 2.2. Read-only once parsed. */
#include "apr_pools.h"

typedef enum legacy_kind {
    LEGACY_END,
    LEGACY_STRING,
    LEGACY_REGEX,
    LEGACY_GROUP,
    LEGACY_CLOSE,
    LEGACY_NOT,
    LEGACY_ACCESS,
    LEGACY_AND,
    LEGACY_OR,
    LEGACY_EQ,
    LEGACY_NE,
    LEGACY_LT,
    LEGACY_GT,
    LEGACY_LE,
    LEGACY_GE
} legacy_kind;

typedef struct legacy_node {
    legacy_kind kind;
    int has_regex;    /* here or below */
    const char *text; /* of a string or regex; variables not replaced */
    struct legacy_node *left, *right;
} legacy_node;

/* Values of *error; compared by address. */
extern const char LEGACY_E_INVALID[], LEGACY_E_OPEN[], LEGACY_E_CLOSE[];

/** NULL: the expression is empty, or *error is set. */
legacy_node *legacy_parse(apr_pool_t *p, const char *text, const char **error);

#endif
