/* SPDX-License-Identifier: Apache-2.0 */
/* Faults in zlib's, libbrotlienc's and libzstd's functions: see call_faults.h. */
#define _GNU_SOURCE
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#define ZSTD_FAILED ((size_t)-64) /* an error of memory, as ZSTD_isError() has it */

#define CALL_FAULTS(X)                                                                             \
    X(int, Z_MEM_ERROR, deflateInit2_,                                                             \
      (z_streamp a, int b, int c, int d, int e, int f, const char *g, int h),                      \
      (a, b, c, d, e, f, g, h))                                                                    \
    X(int, Z_STREAM_ERROR, deflate, (z_streamp a, int b), (a, b))                                  \
    X(int, Z_MEM_ERROR, inflateInit2_, (z_streamp a, int b, const char *c, int d), (a, b, c, d))   \
    X(int, Z_MEM_ERROR, inflate, (z_streamp a, int b), (a, b))                                     \
    X(int, Z_STREAM_ERROR, inflateReset, (z_streamp a), (a))                                       \
    X(BrotliEncoderState *, NULL, BrotliEncoderCreateInstance,                                     \
      (brotli_alloc_func a, brotli_free_func b, void *c), (a, b, c))                               \
    X(BROTLI_BOOL, 0, BrotliEncoderSetParameter,                                                   \
      (BrotliEncoderState * a, BrotliEncoderParameter b, uint32_t c), (a, b, c))                   \
    X(BROTLI_BOOL, 0, BrotliEncoderCompressStream,                                                 \
      (BrotliEncoderState * a, BrotliEncoderOperation b, size_t * c, const uint8_t **d, size_t *e, \
       uint8_t **f, size_t *g),                                                                    \
      (a, b, c, d, e, f, g))                                                                       \
    X(ZSTD_CCtx *, NULL, ZSTD_createCCtx, (void), ())                                              \
    X(size_t, ZSTD_FAILED, ZSTD_CCtx_setParameter, (ZSTD_CCtx * a, ZSTD_cParameter b, int c),      \
      (a, b, c))                                                                                   \
    X(size_t, ZSTD_FAILED, ZSTD_CCtx_setPledgedSrcSize, (ZSTD_CCtx * a, unsigned long long b),     \
      (a, b))                                                                                      \
    X(size_t, ZSTD_FAILED, ZSTD_compressStream2,                                                   \
      (ZSTD_CCtx * a, ZSTD_outBuffer * b, ZSTD_inBuffer * c, ZSTD_EndDirective d), (a, b, c, d))

#include "call_faults.h"

__attribute__((constructor)) static void coder_faults_begin(void)
{
    call_faults_begin();
}
