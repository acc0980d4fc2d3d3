/* SPDX-License-Identifier: Apache-2.0 */
/* br, by libbrotlienc. */
#include "coder_private.h"
#include "brigade/assert.h"
#include <brotli/encode.h>
#include <stdlib.h>

typedef struct brotli_coder {
    brg_coder base; /* first */
    BrotliEncoderState *state;
} brotli_coder;

static int brotli_set_up(BrotliEncoderState *state, const brg_coder_settings *s)
{
    BRG_ASSERT(s->level >= 0 && s->window > 0 && s->block >= 0);
    return BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, (uint32_t)s->level) &&
           BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, (uint32_t)s->window) &&
           BrotliEncoderSetParameter(state, BROTLI_PARAM_LGBLOCK, (uint32_t)s->block);
}

static brg_coder *brotli_begin(const brg_coder_settings *s)
{
    brotli_coder *c = calloc(1, sizeof *c);

    if (c && (c->state = BrotliEncoderCreateInstance(NULL, NULL, NULL)) &&
        brotli_set_up(c->state, s))
        return &c->base;
    if (c && c->state)
        BrotliEncoderDestroyInstance(c->state);
    free(c);
    return NULL;
}

static brg_coder_result brotli_step(brg_coder *c, brg_coder_io *io, brg_coder_op op)
{
    static const BrotliEncoderOperation ops[] = {[BRG_CODER_RUN] = BROTLI_OPERATION_PROCESS,
                                                 [BRG_CODER_FLUSH] = BROTLI_OPERATION_FLUSH,
                                                 [BRG_CODER_FINISH] = BROTLI_OPERATION_FINISH};
    BrotliEncoderState *state = ((brotli_coder *)(void *)c)->state;

    if (!BrotliEncoderCompressStream(state, ops[op], &io->in_len, &io->in, &io->out_room, &io->out,
                                     NULL))
        return BRG_CODER_FAILED;
    if (op == BRG_CODER_FINISH)
        return BrotliEncoderIsFinished(state) ? BRG_CODER_DONE : BRG_CODER_MORE;
    return io->in_len || BrotliEncoderHasMoreOutput(state) ? BRG_CODER_MORE : BRG_CODER_DONE;
}

static void brotli_end(brg_coder *c)
{
    BrotliEncoderDestroyInstance(((brotli_coder *)(void *)c)->state);
    free(c);
}

const coder_kind coder_brotli = {brotli_begin, brotli_step, brotli_end};
