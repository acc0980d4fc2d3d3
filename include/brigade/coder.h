/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CODER_H
#define BRIGADE_CODER_H

/**
 * @file brigade/coder.h
 * Compressors of content codings, as far as the server was built with their libraries.
 */
#include "apr.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The codings that are known. */
enum brg_coding {
    BRG_CODING_NONE,
    BRG_CODING_BROTLI,
    BRG_CODING_ZSTD,
    BRG_CODING_GZIP,
    BRG_CODINGS
};

/** A compressor at work. Not in a pool: its owner ends it. */
typedef struct brg_coder brg_coder;

/** How a body is compressed. Numbers are those of the libraries. */
typedef struct brg_coder_settings {
    enum brg_coding coding;
    short
        level; /**< of gzip 1 to 9, or -1 for zlib's own; of br 0 to 11, its quality; of zstd 1 to 22 */
    short
        window; /**< as a power of two: of gzip 1 to 15, of br 10 to 24, of zstd 10 to 23, or 0 for that of the level */
    short memory; /**< of gzip: 1 to 9 */
    short block;  /**< of br: the largest input block as a power of two, 16 to 24; 0: by quality */
    int is_exact; /**< length is right, or the coder fails */
    int hides_level; /**< of gzip: the head says nothing of it (RFC 1952, XFL), as that of Apache's module */
    apr_off_t length; /**< of the body, for tables of its size; -1: not known */
} brg_coder_settings;

/** Input and output of a step; it moves the pointers. */
typedef struct brg_coder_io {
    const unsigned char *in;
    apr_size_t in_len;
    unsigned char *out;
    apr_size_t out_room; /**< of a step at least 1 */
} brg_coder_io;

/** What a step does. */
typedef enum brg_coder_op {
    BRG_CODER_RUN,   /**< take input; output may come later */
    BRG_CODER_FLUSH, /**< all input so far can be decoded from the output */
    BRG_CODER_FINISH /**< the body ends */
} brg_coder_op;

/** Result of a step. */
typedef enum brg_coder_result {
    BRG_CODER_DONE,
    BRG_CODER_MORE, /**< the output needs more room: the same step once more */
    BRG_CODER_FAILED
} brg_coder_result;

/** Begin to compress a body. @return NULL: no memory, or the server has no library for it. Threads: any. Blocking: no. */
BRG_DECLARE(brg_coder *) brg_coder_begin(const brg_coder_settings *settings);

/** 1 if the server was built with the library of @a coding. Threads: any. */
BRG_DECLARE(int) brg_coder_is_there(enum brg_coding coding);

/** 1: at that level 64 KiB take some milliseconds at most, so that an event loop may do it. Threads: any. */
BRG_DECLARE(int) brg_coder_is_quick(const brg_coder_settings *settings);

/** Compress some of it. Threads: one at a time. Blocking: no; it takes about a millisecond for 64 KiB at usual levels. */
BRG_DECLARE(brg_coder_result) brg_coder_step(brg_coder *c, brg_coder_io *io, brg_coder_op op);

/** Free it, in whatever state. */
BRG_DECLARE(void) brg_coder_end(brg_coder *c);

#ifdef __cplusplus
}
#endif
#endif
