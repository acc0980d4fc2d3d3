/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FRESHNESS_STRUCTURED_FIELD_H
#define BRIGADE_FRESHNESS_STRUCTURED_FIELD_H

/**
 * @file structured_field.h
 * Structured fields: lists, dictionaries and items, read in place. A value is valid only as a whole, so a reader that
 * acts on members goes through all of them first.
 *
 * Threads: any. Blocking: no. Source: RFC 9651, section 4.2.
 */
#include <stddef.h>
#include <stdint.h>

typedef enum sf_type {
    SF_INTEGER,
    SF_DECIMAL,
    SF_STRING,
    SF_TOKEN,
    SF_BYTES,
    SF_BOOLEAN,
    SF_DATE,
    SF_DISPLAY,
    SF_INNER_LIST
} sf_type;

/** A bare item, or an inner list as text. */
typedef struct sf_item {
    uint8_t type;     /**< sf_type */
    int64_t number;   /**< of SF_INTEGER, SF_DATE, SF_BOOLEAN; the whole part of SF_DECIMAL */
    const char *text; /**< between quotes, colons or brackets; a token; a number as it is written */
    size_t len;
    const char *params; /**< its parameters as they are written, from ";" on */
    size_t params_len;
} sf_item;

/** The rest of a value. */
typedef struct sf_cursor {
    const char *p, *end;
    int begun;
} sf_cursor;

/** Begin with a value, of lines that are joined by ",". */
void sf_begin(sf_cursor *at, const char *value, size_t len);

/** The next member of a list. @return 1, 0 at the end, -1: the value is not valid */
int sf_list_next(sf_cursor *at, sf_item *item);

/** The next member of a dictionary; one without a value is true. Of members with one key the last counts. @return as sf_list_next() */
int sf_dictionary_next(sf_cursor *at, const char **key, size_t *key_len, sf_item *item);

#endif
