/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vectorised start-tag search; ssi_scan_vector.c includes this once for each kind of machine,
 * and says there how it works.
 *
 *   SSI_V(name)      name of a function or type of this kind
 *   SSI_V_WIDTH      bytes in a vector
 *   SSI_V_TARGET     attributes of the functions
 *   SSI_V_ANY(mask)  true if a vector of 0 and 0xff bytes is not zero
 */
#define SSI_V_LANES 4
#define SSI_V_BLOCK (SSI_V_LANES * SSI_V_WIDTH)

typedef unsigned char SSI_V(vec) __attribute__((vector_size(SSI_V_WIDTH)));

typedef struct SSI_V(block) {
    SSI_V(vec) lane[SSI_V_LANES];
} SSI_V(block);

/* 0xff for each of the positions from `at` that holds c, else 0. */
SSI_V_TARGET static inline __attribute__((always_inline)) SSI_V(block)
    SSI_V(equal)(const char *at, unsigned char c)
{
    SSI_V(block) mask;

#pragma GCC unroll 4
    for (int i = 0; i < SSI_V_LANES; i++) {
        SSI_V(vec) data;
        memcpy(&data, at + i * SSI_V_WIDTH, SSI_V_WIDTH);
        mask.lane[i] = (SSI_V(vec))(data == c);
    }
    return mask;
}

SSI_V_TARGET static inline __attribute__((always_inline)) SSI_V(block)
    SSI_V(both)(SSI_V(block) a, SSI_V(block) b)
{
#pragma GCC unroll 4
    for (int i = 0; i < SSI_V_LANES; i++)
        a.lane[i] &= b.lane[i];
    return a;
}

SSI_V_TARGET static inline __attribute__((always_inline)) int SSI_V(any)(SSI_V(block) mask)
{
    SSI_V(vec) all = mask.lane[0];

#pragma GCC unroll 4
    for (int i = 1; i < SSI_V_LANES; i++)
        all |= mask.lane[i];
    return SSI_V_ANY(all) != 0;
}

/* Which of the positions in `mask`, where `len` bytes fit, is a match; SSI_V_BLOCK if none. */
SSI_V_TARGET static __attribute__((noinline)) size_t SSI_V(decide)(const ssi_pattern *pattern,
                                                                   const char *at,
                                                                   const SSI_V(block) * mask,
                                                                   size_t len, size_t *work)
{
    const unsigned char *bytes = (const unsigned char *)mask;

    for (size_t i = 0; i < SSI_V_BLOCK; i++) {
        if (!bytes[i])
            continue;
        if (len == pattern->len)
            return i;
        *work += pattern->len;
        SSI_EXAMINED(pattern->len);
        if (!memcmp(at + i, pattern->bytes, pattern->len))
            return i;
    }
    return SSI_V_BLOCK;
}

SSI_V_TARGET static size_t SSI_V(find)(const ssi_pattern *pattern, const char *data, size_t len)
{
    const size_t span = SSI_V_BLOCK - 1 + pattern->len, second = pattern->len > 1;
    const size_t *order = pattern->order, offset1 = order[0], offset2 = order[second];
    const unsigned char *ranked = pattern->ranked, c1 = ranked[0], c2 = ranked[second];
    const size_t few = pattern->len < SSI_VECTOR_BYTES ? pattern->len : SSI_VECTOR_BYTES;
    size_t at = 0, work = 0, i, k;
    SSI_V(block) mask;

    if (len < span)
        return SSI_V_SHORTER(pattern, data, len);
    for (;;) {
        mask = SSI_V(both)(SSI_V(equal)(data + at + offset1, c1),
                           SSI_V(equal)(data + at + offset2, c2));
        SSI_EXAMINED(2 * SSI_V_BLOCK);
        for (k = 2; SSI_V(any)(mask) && k < few; k++) {
            mask = SSI_V(both)(mask, SSI_V(equal)(data + at + order[k], ranked[k]));
            SSI_EXAMINED(SSI_V_BLOCK);
        }
        if (k >= few && SSI_V(any)(mask)) {
            SSI_V(block) found = mask;
            i = SSI_V(decide)(pattern, data + at, &found, few, &work);
            if (i < SSI_V_BLOCK)
                return at + i;
        }
        if (at == len - span)
            return len;
        /* The last block overlaps the one before, where nothing was. */
        at = at + SSI_V_BLOCK < len - span ? at + SSI_V_BLOCK : len - span;
        if (work > 4 * (at + pattern->len))
            return at + ssi_find_kmp(pattern, data + at, len - at);
    }
}

#undef SSI_V
#undef SSI_V_WIDTH
#undef SSI_V_TARGET
#undef SSI_V_ANY
#undef SSI_V_SHORTER
#undef SSI_V_LANES
#undef SSI_V_BLOCK
