/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of compressed files: gzip by zlib, compress here. Apache runs the program gzip
 * for each of them; a server should not start a process for each request, and its sandbox allows
 * none.
 */
#include "magic_private.h"
#include <string.h>
#if BRIGADE_HAS_DEFLATE
#include <zlib.h>
#endif

#define MAGIC_GZIP "\037\213"
#define MAGIC_COMPRESS "\037\235"
#define MAGIC_PACK "\037\036" /* told, but not read */
#define MAGIC_MARK 2

/* Codes of compress. */
#define MAGIC_LZW_LEAST 9
#define MAGIC_LZW_MOST 16
#define MAGIC_LZW_CLEAR 256

/* A code stands for that of prefix and a byte. */
typedef struct magic_lzw {
    apr_uint16_t prefix[1 << MAGIC_LZW_MOST];
    unsigned char last[1 << MAGIC_LZW_MOST];
    const unsigned char *in;
    apr_size_t bits, at; /* of in; read */
    apr_size_t group;    /* where codes of this length began: they come in groups of eight */
    int length, most;    /* of codes, in bits */
    int blocks;          /* code 256 begins anew */
    int next;            /* the code that is added next */
    unsigned char *out;
    apr_size_t put;
} magic_lzw;

const char *magic_encoding(const unsigned char *bytes, apr_size_t size)
{
    if (size < MAGIC_MARK)
        return NULL;
    if (!memcmp(bytes, MAGIC_COMPRESS, MAGIC_MARK))
        return "x-compress";
    if (!memcmp(bytes, MAGIC_GZIP, MAGIC_MARK) || !memcmp(bytes, MAGIC_PACK, MAGIC_MARK))
        return "x-gzip";
    return NULL;
}

/* Codes have another length from here on: the rest of a group is left out. */
static void magic_lzw_set_length(magic_lzw *lzw, int length)
{
    apr_size_t group = (apr_size_t)lzw->length * 8;

    lzw->at = lzw->group + (lzw->at - lzw->group + group - 1) / group * group;
    lzw->group = lzw->at;
    lzw->length = length;
}

/* -1: the end. */
static int magic_lzw_code(magic_lzw *lzw)
{
    int code = 0;

    if (lzw->length < lzw->most && lzw->next >= 1 << lzw->length)
        magic_lzw_set_length(lzw, lzw->length + 1);
    if (lzw->at + (apr_size_t)lzw->length > lzw->bits)
        return -1;
    for (int i = 0; i < lzw->length; i++, lzw->at++)
        code |= (lzw->in[lzw->at / 8] >> lzw->at % 8 & 1) << i;
    return code;
}

/* The bytes that a code stands for, as far as there is room. */
static void magic_lzw_put(magic_lzw *lzw, int code)
{
    apr_size_t length = 1;

    for (int c = code; c > 255; c = lzw->prefix[c])
        length++;
    for (apr_size_t i = length; i-- > 0;) {
        if (lzw->put + i < MAGIC_BYTES)
            lzw->out[lzw->put + i] = code > 255 ? lzw->last[code] : (unsigned char)code;
        code = code > 255 ? lzw->prefix[code] : 0;
    }
    lzw->put = lzw->put + length < MAGIC_BYTES ? lzw->put + length : MAGIC_BYTES;
}

static int magic_lzw_first(const magic_lzw *lzw, int code)
{
    while (code > 255)
        code = lzw->prefix[code];
    return code;
}

/* Codes in turn, until there is enough or an impossible one. */
static void magic_lzw_read(magic_lzw *lzw)
{
    int before = -1, code;

    while (lzw->put < MAGIC_BYTES && (code = magic_lzw_code(lzw)) >= 0) {
        if (before < 0) {
            if (code > 255)
                return;
        } else if (code == MAGIC_LZW_CLEAR && lzw->blocks) {
            lzw->next = MAGIC_LZW_CLEAR;
            magic_lzw_set_length(lzw, MAGIC_LZW_LEAST);
            continue;
        } else if (code > lzw->next)
            return;
        else if (lzw->next < 1 << MAGIC_LZW_MOST) {
            /* the byte is the first of the code; the code may be this one itself */
            lzw->prefix[lzw->next] = (apr_uint16_t)before;
            lzw->last[lzw->next] =
                (unsigned char)magic_lzw_first(lzw, code == lzw->next ? before : code);
        }
        magic_lzw_put(lzw, code);
        lzw->next += before >= 0 && lzw->next < 1 << lzw->most;
        before = code;
    }
}

/* The same for "compress" (.Z). @a in begins behind the two bytes that tell it. */
static apr_size_t magic_unpack_lzw(apr_pool_t *p, const unsigned char *in, apr_size_t size,
                                   unsigned char *out)
{
    magic_lzw *lzw = apr_palloc(p, sizeof *lzw);

    if (size < 1 || (in[0] & 0x1f) > MAGIC_LZW_MOST)
        return 0;
    lzw->in = in + 1;
    lzw->bits = (size - 1) * 8;
    lzw->at = lzw->group = 0;
    lzw->length = MAGIC_LZW_LEAST;
    lzw->most = in[0] & 0x1f;
    lzw->blocks = in[0] >> 7;
    lzw->next = lzw->blocks ? MAGIC_LZW_CLEAR + 1 : MAGIC_LZW_CLEAR;
    lzw->out = out;
    lzw->put = 0;
    magic_lzw_read(lzw);
    return lzw->put;
}

/* The first member alone, as a reader of the program's output gets it. */
static apr_size_t magic_unpack_gzip(const unsigned char *in, apr_size_t size, unsigned char *out)
{
#if BRIGADE_HAS_DEFLATE
    z_stream z = {
        .next_in = (Bytef *)in, .avail_in = (uInt)size, .next_out = out, .avail_out = MAGIC_BYTES};

    if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK)
        return 0;
    inflate(&z, Z_SYNC_FLUSH); /* the bytes before a mistake count */
    inflateEnd(&z);
    return MAGIC_BYTES - z.avail_out;
#else
    (void)in;
    (void)size;
    (void)out;
    return 0;
#endif
}

apr_size_t magic_unpack(apr_pool_t *p, const unsigned char *in, apr_size_t size, unsigned char *out)
{
    if (!memcmp(in, MAGIC_COMPRESS, MAGIC_MARK))
        return magic_unpack_lzw(p, in + MAGIC_MARK, size - MAGIC_MARK, out);
    return memcmp(in, MAGIC_GZIP, MAGIC_MARK) ? 0 : magic_unpack_gzip(in, size, out);
}
