/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTER_FILTER_CHECK_H
#define BRIGADE_FILTER_FILTER_CHECK_H

/**
 * @file filter_check.h
 * A checker between filters. Compiled in where BRIGADE_FILTER_CHECK is defined (debug and sanitizer
 * builds); elsewhere the calls below are the plain calls.
 *
 * It finds, and says which filter did it:
 *   a brigade whose ring is broken (the usual cause: a bucket that stands in two brigades)
 *   a bucket that is passed on a second time
 *   a bucket that is used after it was destroyed, or is destroyed twice
 *   a bucket of another connection's allocator
 *   a brigade that the callee did not empty although it returned success
 *   buckets that outlive the request of the filter that made them
 *
 * To know buckets, filter_check_alloc.c takes the place of APR-util's bucket allocator functions in
 * the program: every block gets a header, and a destroyed one is filled with FILTER_CHECK_FILL and
 * kept back for a while (under AddressSanitizer it cannot be touched either).
 *
 * A program of its own may use it: filter_check.c and filter_check_alloc.c with
 * BRIGADE_FILTER_CHECK defined and the program's symbols exported (-rdynamic).
 */
#include "util_filter.h"

typedef enum filter_check_weight {
    FILTER_CHECK_REMARK,  /**< bad manners that do no harm, and that filters of Apache show too */
    FILTER_CHECK_FINDING, /**< a mistake */
    FILTER_CHECK_FATAL    /**< the program would crash or loop if it continued */
} filter_check_weight;

/** Told of every finding. @param c  the connection, or NULL where it is not known */
typedef void filter_check_tell(conn_rec *c, filter_check_weight weight, const char *message);

#ifdef BRIGADE_FILTER_CHECK

#define FILTER_CHECK_FILL 0xdb /**< byte that destroyed blocks consist of */

/**
 * Tell @a tell instead of the error log (findings as "BRG_FILTER_CHECK: ...", remarks at level
 * info). By default a fatal finding also ends the process with abort(). Call it before there are
 * other threads.
 */
void filter_check_to(filter_check_tell *tell);

/** Look at a brigade that is about to be passed to the output filter @a f, before anything else
 * does. */
void filter_check_given(ap_filter_t *f, apr_bucket_brigade *bb);

/** Call the output filter @a f with @a bb, which was looked at. @return its result */
apr_status_t filter_check_pass(ap_filter_t *f, apr_bucket_brigade *bb);

/** Call the input filter @a f. @return its result */
apr_status_t filter_check_get(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                              apr_read_type_e block, apr_off_t readbytes);

/**
 * The pool of request @a r is gone: report buckets that its filters made and left in @a list.
 * @param r  only compared
 * @return how many
 */
int filter_check_request_end(apr_bucket_alloc_t *list, const void *r);

/* ---- between the two files ---- */

/** Facts of a block of a bucket allocator. */
typedef struct filter_check_block {
    struct filter_check_block *next; /**< in the hash chain */
    struct filter_check_list *owner;
    apr_size_t size;
    /** names of the filters in which it was allocated and freed; NULL: outside filters */
    const char *maker, *ender;
    const void *r;             /**< request of the maker */
    const ap_filter_t *receiver; /**< filter that it was last passed to */
    unsigned walk;               /**< the last walk over a brigade that met it */
    unsigned state;
} filter_check_block;

enum { FILTER_CHECK_LIVE = 0x1e55ab1e, FILTER_CHECK_FREED = 0x0ddba11 };

/** The block at @a mem, or NULL if it is not of @a list. @a mem is not read. */
filter_check_block *filter_check_find(apr_bucket_alloc_t *list, const void *mem);

/** Call @a visit for every block that was not freed. */
void filter_check_each(apr_bucket_alloc_t *list, void (*visit)(void *baton, filter_check_block *b),
                       void *baton);

/** The filter that runs on this thread, or NULL. */
const ap_filter_t *filter_check_running(void);

/** Tell of a finding; printf format. */
void filter_check_say(conn_rec *c, filter_check_weight weight, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#else

static inline void filter_check_given(ap_filter_t *f, apr_bucket_brigade *bb)
{
}

static inline apr_status_t filter_check_pass(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return f->frec->filter_func.out_func(f, bb);
}

static inline apr_status_t filter_check_get(ap_filter_t *f, apr_bucket_brigade *bb,
                                            ap_input_mode_t mode, apr_read_type_e block,
                                            apr_off_t readbytes)
{
    return f->frec->filter_func.in_func(f, bb, mode, block, readbytes);
}

static inline int filter_check_request_end(apr_bucket_alloc_t *list, const void *r)
{
    return 0;
}

#endif
#endif
