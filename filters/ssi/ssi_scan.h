/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the start tag of server-side includes.
 *
 * A pattern is prepared once per start tag, when the configuration is read, and never changes after
 * that: threads share it. Every variant of the search gives the same answers; the server uses
 * `find` of a prepared pattern (test/bench/ssi_scan.c compares them).
 *
 * Two ways to search:
 *   ssi_scan_find()  in one span that holds everything, such as a file in memory.
 *   ssi_scan_feed()  in spans that follow one another, cut anywhere, empty ones too. A state says
 *                    how many bytes before the next span may be the beginning of a tag; the caller
 *                    keeps exactly those back and may let go of all others.
 * None of them reads outside of the spans, blocks, allocates or fails.
 */
#ifndef SSI_SCAN_H
#define SSI_SCAN_H

#include <stddef.h>

#include "apr_pools.h"

typedef struct ssi_pattern ssi_pattern;

/* Offset of the first occurrence in data[0..len), or len if not found. */
typedef size_t (*ssi_find_fn)(const ssi_pattern *pattern, const char *data, size_t len);

struct ssi_pattern {
    const char *bytes;
    size_t len; /* at least 1 */
    ssi_find_fn find;
    size_t *border;        /* [k]: length of the longest proper border of the first k + 1 bytes */
    size_t *order;         /* offsets of bytes, in the order in which ssi_scan_vector.c compares */
    unsigned char *ranked; /* the bytes in that order */
    size_t skip[256];
};

typedef struct ssi_scan_variant {
    const char *name;
    ssi_find_fn find;
} ssi_scan_variant;

/* Bytes at the end of the text so far that are the beginning of the tag. Begin with {0}. */
typedef struct ssi_scan_state {
    size_t held;
} ssi_scan_state;

typedef struct ssi_scan_hit {
    size_t before; /* bytes of the tag that lie before this span, in held ones */
    size_t start;  /* offset in the span of the tag's first byte; 0 if before > 0 */
    size_t end;    /* offset in the span of the byte after the tag */
} ssi_scan_hit;

/* Copies tag (len >= 1) into the pool. */
ssi_pattern *ssi_pattern_make(apr_pool_t *pool, const char *tag, size_t len);

static inline size_t ssi_scan_find(const ssi_pattern *pattern, const char *data, size_t len)
{
    return pattern->find(pattern, data, len);
}

/*
 * Search the next span. Returns 1 and fills *hit for the first tag; the state is then as at the
 * beginning, and the rest of the span, from hit->end, is to be fed again. Returns 0 if no tag ends
 * in this span; then state->held bytes, which may reach back into earlier spans, may begin one.
 */
int ssi_scan_feed(const ssi_pattern *pattern, ssi_scan_state *state, const char *data, size_t len,
                  ssi_scan_hit *hit);

#define SSI_SCAN_VARIANTS 8

/* Fills in every variant that this machine can run, the best last, and a NULL name; their number.
 */
size_t ssi_scan_variants(ssi_scan_variant variants[SSI_SCAN_VARIANTS]);

size_t ssi_find_naive(const ssi_pattern *pattern, const char *data, size_t len);
size_t ssi_find_kmp(const ssi_pattern *pattern, const char *data, size_t len);
size_t ssi_find_horspool(const ssi_pattern *pattern, const char *data, size_t len);
size_t ssi_find_memmem(const ssi_pattern *pattern, const char *data, size_t len);

/* ssi_scan_vector.c: its variants, the best last, how many of them this machine can run, and the
 * order in which they compare the bytes of a tag. */
extern const ssi_scan_variant ssi_vector_variants[];
size_t ssi_vector_usable(void);
void ssi_vector_order(const char *tag, size_t len, size_t *order);

/* Counts bytes that a search looked at; only in the build that measures (test/bench). */
#ifdef SSI_SCAN_COUNT
extern unsigned long long ssi_scan_examined;
#define SSI_EXAMINED(n) ((void)(ssi_scan_examined += (n)))
#else
#define SSI_EXAMINED(n) ((void)0)
#endif

#endif
