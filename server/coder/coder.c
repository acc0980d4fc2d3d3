/* SPDX-License-Identifier: Apache-2.0 */
/* Which compressors there are (brigade/coder.h). */
#include "coder_private.h"
#include "brigade/assert.h"

static const coder_kind *const coder_kinds[BRG_CODINGS] = {
#if BRIGADE_HAS_DEFLATE
    [BRG_CODING_GZIP] = &coder_gzip,
#endif
#if BRIGADE_HAS_BROTLI
    [BRG_CODING_BROTLI] = &coder_brotli,
#endif
#if BRIGADE_HAS_ZSTD
    [BRG_CODING_ZSTD] = &coder_zstd,
#endif
};

BRG_DECLARE(int) brg_coder_is_there(enum brg_coding coding)
{
    BRG_ASSERT(coding < BRG_CODINGS);
    return coder_kinds[coding] != NULL;
}

BRG_DECLARE(int) brg_coder_is_quick(const brg_coder_settings *settings)
{
    static const short most[BRG_CODINGS] = {
        [BRG_CODING_GZIP] = 9, [BRG_CODING_BROTLI] = 9, [BRG_CODING_ZSTD] = 12};

    BRG_ASSERT(settings->coding > BRG_CODING_NONE && settings->coding < BRG_CODINGS);
    return settings->level <= most[settings->coding];
}

BRG_DECLARE(brg_coder *) brg_coder_begin(const brg_coder_settings *settings)
{
    const coder_kind *kind;
    brg_coder *c;

    BRG_ASSERT(settings->coding > BRG_CODING_NONE && settings->coding < BRG_CODINGS);
    kind = coder_kinds[settings->coding];
    c = kind ? kind->begin(settings) : NULL;
    if (c)
        c->kind = kind;
    return c;
}

BRG_DECLARE(brg_coder_result) brg_coder_step(brg_coder *c, brg_coder_io *io, brg_coder_op op)
{
    BRG_ASSERT(c && io->out_room > 0);
    return c->kind->step(c, io, op);
}

BRG_DECLARE(void) brg_coder_end(brg_coder *c)
{
    BRG_ASSERT(c && c->kind);
    c->kind->end(c);
}
