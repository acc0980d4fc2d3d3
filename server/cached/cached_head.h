/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_HEAD_H
#define BRIGADE_CACHED_CACHED_HEAD_H

/**
 * @file cached_head.h
 * Heads as they lie in the store, on disk and in the tier that machines share: a cached_head_top, the lengths of the fields
 * (name 2 bytes, value 4), the status line, names and values, each with a NUL behind it. Numbers are the machine's. The order
 * is that of sending, so a hit of a loop's own cache reads a head in one pass (cached_seek.c).
 *
 * Other processes write to the memory: a reader copies a head first, and holds each length to its bounds.
 */
#include "freshness.h"
#include "http_answer.h"
#include <string.h>

#define CACHED_HEAD_SIZES 6 /**< bytes of the lengths of a field */

/** Members of cached_head_top.has. */
#define CACHED_HEAD_PLAIN \
    1 /**< no field is sent in another way than as it is stored, and known ones are there once */
#define CACHED_HEAD_DATE 2   /**< the first field is Date */
#define CACHED_HEAD_SERVER 4 /**< the next one, or the first, is Server */
#define CACHED_HEAD_TYPE 8   /**< the last field is Content-Type */

typedef struct cached_head_top {
    uint16_t line_len; /**< of the status line; 0: the usual one */
    uint16_t n;        /**< fields */
    /** which field behind Date and Server it is; HTTP_NO_FIELD: there is none. tag: of a strong ETag */
    uint16_t length_at, modified_at, tag_at;
    uint16_t has; /**< CACHED_HEAD_... */
} cached_head_top;

_Static_assert(sizeof(cached_head_top) == 12, "it lies on disk");

/** Where a reader is. */
typedef struct cached_head_reader {
    const char *line; /**< the status line */
    const char *sizes, *at, *end;
} cached_head_reader;

/** @param bytes  the reader's own copy. @return 0, or -1: it is no head */
static inline int cached_head_begin(cached_head_reader *r, cached_head_top *top, const char *bytes,
                                    uint32_t len)
{
    const char *end = bytes + len;

    if (len < sizeof *top)
        return -1;
    memcpy(top, bytes, sizeof *top);
    bytes += sizeof *top;
    *r = (cached_head_reader){bytes + CACHED_HEAD_SIZES * (size_t)top->n, bytes, bytes, end};
    if ((size_t)(end - bytes) <= CACHED_HEAD_SIZES * (size_t)top->n + top->line_len)
        return -1;
    r->at = r->line + top->line_len + 1;
    return r->at[-1] ? -1 : 0;
}

/** The next field, of those that cached_head_top.n counts. Strings have no NUL before their length. @return as above, but for that */
static inline int cached_head_next(cached_head_reader *r, http_answer_field *f)
{
    uint16_t name_len;

    memcpy(&name_len, r->sizes, 2);
    memcpy(&f->value_len, r->sizes + 2, 4);
    r->sizes += CACHED_HEAD_SIZES;
    if ((size_t)(r->end - r->at) < (size_t)name_len + f->value_len + 2)
        return -1;
    f->name_len = name_len;
    f->name = r->at;
    f->value = r->at + name_len + 1;
    r->at = f->value + f->value_len + 1;
    return f->value[-1] | r->at[-1] ? -1 : 0;
}

/** The head of a stored response: line and fields. */
typedef struct cached_head {
    const char *line; /**< "200 OK", ends with NUL; NULL: the usual one of its status */
    fresh_head head;  /**< names and values end with NUL */
} cached_head;

/** Bytes of a head; in pool. */
const char *cached_head_write(apr_pool_t *p, const char *line, const http_field *field, uint32_t n,
                              uint32_t *len);
/** All of it. @return 0, or -1: no such head. Pointers lead into @a bytes */
int cached_head_read(apr_pool_t *p, const char *bytes, uint32_t len, cached_head *head);

/**
 * 1 if it may be sent with a body of @a len bytes by one who does not believe whoever wrote it: no byte that ends a field or the head, no
 * field of a connection, no other length.
 */
int cached_head_is_sound(const cached_head *head, int code, uint64_t len);

/** Fields of a table, after those of @a field. @return how many there are */
uint32_t cached_fields(apr_pool_t *p, const apr_table_t *table, http_field **field);

#endif
