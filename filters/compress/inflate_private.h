/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTERS_COMPRESS_INFLATE_PRIVATE_H
#define BRIGADE_FILTERS_COMPRESS_INFLATE_PRIVATE_H

/**
 * @file inflate_private.h
 * From gzip to plain: the stream, the output filter INFLATE and the input filter DEFLATE.
 */
#include "compress_private.h"

/** A gzip stream of one or more members (RFC 1952), which is read in pieces of any size. */
typedef struct inflate_stream inflate_stream;

/** How far it is. GARBAGE: the last member ended, and something else follows, which is to be left alone. */
typedef enum inflate_result {
    INFLATE_MORE, /**< it wants more input, or more room */
    INFLATE_END,  /**< a member ended, and all of the input is used: others may follow */
    INFLATE_GARBAGE,
    INFLATE_BAD, /**< no gzip, damaged, or of a wrong checksum or length */
    INFLATE_MEMORY
} inflate_result;

/** Ends with @a p. NULL: no memory. */
inflate_stream *inflate_open(apr_pool_t *p);

/** As far as the input and the room go; @a io is moved. */
inflate_result inflate_step(inflate_stream *s, brg_coder_io *io);

/** 1 if the input may end here: behind a member, or before the first one. */
int inflate_is_complete(const inflate_stream *s);

/**
 * A Content-Encoding without its last coding, if that is gzip or x-gzip: "" if nothing remains.
 * NULL: its last coding is another one, or @a value is NULL.
 */
const char *inflate_rest_of(apr_pool_t *p, const char *value);

const char *inflate_set_limit(cmd_parms *cmd, void *dir, const char *arg);
const char *inflate_set_ratio(cmd_parms *cmd, void *dir, const char *arg);
const char *inflate_set_burst(cmd_parms *cmd, void *dir, const char *arg);

/** To be called by mod_deflate's register_hooks. */
void inflate_register(apr_pool_t *p);

apr_status_t inflate_output(ap_filter_t *f, apr_bucket_brigade *bb);

#endif
