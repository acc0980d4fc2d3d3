/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CODER_PRIVATE_H
#define BRIGADE_CODER_PRIVATE_H

/**
 * @file coder_private.h
 * A compressor for each library (brigade/coder.h). Threads: any. Blocking: no.
 */
#include "brigade/coder.h"

typedef struct coder_kind {
    /** @return NULL: no memory */
    brg_coder *(*begin)(const brg_coder_settings *settings);
    brg_coder_result (*step)(brg_coder *c, brg_coder_io *io, brg_coder_op op);
    void (*end)(brg_coder *c);
} coder_kind;

/** First in the object of a kind. */
struct brg_coder {
    const coder_kind *kind;
};

extern const coder_kind coder_gzip, coder_brotli, coder_zstd;

#endif
