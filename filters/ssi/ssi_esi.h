/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SSI_ESI_H
#define SSI_ESI_H

/**
 * @file ssi_esi.h
 * Edge Side Includes (W3C Note "ESI Language Specification 1.0"): which pieces a document has (ssi_esi_scan.c), and the filter that puts
 * them together (ssi_esi.c). Of the elements there are include, remove and comment, and the comment <!--esi -->.
 */
#include "apr.h"
#include "apr_pools.h"

#define SSI_ESI_TAG_MOST 8192 /**< bytes of a start tag; a longer one is text */

typedef enum ssi_esi_kind {
    SSI_ESI_TEXT,
    SSI_ESI_INCLUDE,
    SSI_ESI_UNKNOWN /**< a start tag of ESI that means nothing here, or is wrong: it is text, too */
} ssi_esi_kind;

/** A value as it is written, without its quotes. */
typedef struct ssi_esi_value {
    const char *at; /**< NULL: there is no such attribute */
    apr_size_t len;
} ssi_esi_value;

typedef struct ssi_esi_piece {
    ssi_esi_kind kind;
    const char *at; /**< of the document; of an include all of the element */
    apr_size_t len;
    ssi_esi_value src, alt; /**< of an include; src is there */
    int goes_on;            /**< onerror="continue" */
} ssi_esi_piece;

/** Where a scan is. Begins as {document, its end}. */
typedef struct ssi_esi_scan {
    const char *at, *end;
    const char *comment_end;                          /**< within <!--esi: its "-->" */
    int no_comment_end, no_remove_end, no_inline_end; /**< such an end is missing from here on */
} ssi_esi_scan;

/**
 * The next piece, all of them in the order of the document. Takes time in proportion to its length.
 * @return 0: past the last
 * Threads: any, one at a time for a scan. Blocking, allocating: no. Errors: none, a malformed tag
 * is text
 */
int ssi_esi_next(ssi_esi_scan *s, ssi_esi_piece *piece);

/** A value with the five entities of XML replaced. @return in @a p; NULL: it has control characters, or is empty */
char *ssi_esi_text(apr_pool_t *p, const ssi_esi_value *value);

/** 1 if Surrogate-Control says content="ESI/1.0". @param value  NULL: there is no such field */
int ssi_esi_is_announced(const char *value);

/** SSIEsi. */
enum { SSI_ESI_OFF, SSI_ESI_ON, SSI_ESI_ALWAYS };

/** The filter. Main thread, once. */
void ssi_esi_register(apr_pool_t *p);

#endif
