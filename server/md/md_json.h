/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MD_JSON_H
#define BRIGADE_MD_JSON_H

/**
 * @file md_json.h
 * JSON (RFC 8259) as authorities send it and the store keeps it. Strict: nothing behind the value, valid UTF-8, no name
 * twice in an object, at most MD_JSON_DEPTH levels and MD_JSON_VALUES values. Threads: any. Blocking: no.
 */
#include "apr_pools.h"
#include "apr_tables.h"

#define MD_JSON_DEPTH 16
#define MD_JSON_VALUES 20000

typedef enum md_json_kind {
    MD_JSON_NULL,
    MD_JSON_FALSE,
    MD_JSON_TRUE,
    MD_JSON_NUMBER,
    MD_JSON_TEXT,
    MD_JSON_ARRAY,
    MD_JSON_OBJECT
} md_json_kind;

/** A value. Its parts are in the pool that it was read into. */
typedef struct md_json {
    md_json_kind kind;
    const char *name; /**< in an object; else NULL */
    const char *text; /**< of a text, without NUL bytes in it; of a number, as it was written */
    struct md_json *first, *next;
} md_json;

/** Read @a len bytes. @return NULL: it is no JSON, or too much */
md_json *md_json_read(apr_pool_t *p, const char *text, apr_size_t len);

/* These take NULL, and values of another kind, too: a missing value is NULL, 0 or the fallback. */

/** A member of an object. */
const md_json *md_json_get(const md_json *object, const char *name);
/** A member that is a text. */
const char *md_json_text(const md_json *object, const char *name);
/** A member that is a whole number of 0 to 2^53. */
apr_int64_t md_json_number(const md_json *object, const char *name, apr_int64_t fallback);
/** 1 if a member is true. */
int md_json_is_true(const md_json *object, const char *name);
/** The first of an array's values, to be followed by ->next. */
const md_json *md_json_items(const md_json *array);

/** Text with its quotes and escapes, in @a p. */
const char *md_json_quote(apr_pool_t *p, const char *text);
/** Texts (const char *) as an array. */
const char *md_json_list(apr_pool_t *p, const apr_array_header_t *texts);

#endif
