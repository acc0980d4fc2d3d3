/* SPDX-License-Identifier: Apache-2.0 */
/* zstd, by libzstd. */
#include "coder_private.h"
#include "brigade/assert.h"
#include <stdlib.h>
#include <zstd.h>

typedef struct zstd_coder {
    brg_coder base; /* first */
    ZSTD_CCtx *state;
} zstd_coder;

static int zstd_set(ZSTD_CCtx *state, ZSTD_cParameter parameter, int value)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(state, parameter, value));
}

static int zstd_set_up(ZSTD_CCtx *state, const brg_coder_settings *s)
{
    BRG_ASSERT(s->level > 0 && (!s->is_exact || s->length >= 0));
    return zstd_set(state, ZSTD_c_compressionLevel, s->level) &&
           (!s->window || zstd_set(state, ZSTD_c_windowLog, s->window)) &&
           (!s->is_exact ||
            !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(state, (unsigned long long)s->length)));
}

static brg_coder *zstd_begin(const brg_coder_settings *s)
{
    zstd_coder *c = calloc(1, sizeof *c);

    if (c && (c->state = ZSTD_createCCtx()) && zstd_set_up(c->state, s))
        return &c->base;
    if (c)
        ZSTD_freeCCtx(c->state);
    free(c);
    return NULL;
}

static brg_coder_result zstd_step(brg_coder *c, brg_coder_io *io, brg_coder_op op)
{
    static const ZSTD_EndDirective ops[] = {[BRG_CODER_RUN] = ZSTD_e_continue,
                                            [BRG_CODER_FLUSH] = ZSTD_e_flush,
                                            [BRG_CODER_FINISH] = ZSTD_e_end};
    ZSTD_inBuffer in = {io->in, io->in_len, 0};
    ZSTD_outBuffer out = {io->out, io->out_room, 0};
    const size_t rest = ZSTD_compressStream2(((zstd_coder *)(void *)c)->state, &out, &in, ops[op]);

    if (ZSTD_isError(rest))
        return BRG_CODER_FAILED;
    io->in += in.pos;
    io->in_len -= in.pos;
    io->out += out.pos;
    io->out_room -= out.pos;
    /* Gathered data must come out only at a flush and at the end. */
    return io->in_len || (rest && op != BRG_CODER_RUN) ? BRG_CODER_MORE : BRG_CODER_DONE;
}

static void zstd_end(brg_coder *c)
{
    ZSTD_freeCCtx(((zstd_coder *)(void *)c)->state);
    free(c);
}

const coder_kind coder_zstd = {zstd_begin, zstd_step, zstd_end};
