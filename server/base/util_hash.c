/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MD5, base64 and hexadecimal text, on top of APR's.
 */
#include <string.h>
#include "httpd.h"
#include "brigade/assert.h"
#include "apr_base64.h"
#include "apr_file_io.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include "util_char.h"
#include "util_md5.h"

AP_DECLARE(void) ap_bin2hex(const void *src, apr_size_t srclen, char *dest)
{
    const unsigned char *in = src;
    apr_size_t i;

    for (i = 0; i < srclen; i++)
        dest = util_put_hex(dest, in[i]);
    *dest = '\0';
}

AP_DECLARE(char *) ap_pbase64decode(apr_pool_t *p, const char *bufcoded)
{
    int room = apr_base64_decode_len(bufcoded), len;
    char *out = apr_palloc(p, (apr_size_t)room + 1);

    len = apr_base64_decode(out, bufcoded);
    BRG_ASSERT(len >= 0 && len <= room);
    out[len] = '\0';
    return out;
}

AP_DECLARE(char *) ap_pbase64encode(apr_pool_t *p, char *string)
{
    int len = (int)strlen(string);
    char *out = apr_palloc(p, (apr_size_t)apr_base64_encode_len(len) + 1);

    out[apr_base64_encode(out, string, len)] = '\0';
    return out;
}

AP_DECLARE(char *) ap_md5_binary(apr_pool_t *a, const unsigned char *buf, int len)
{
    unsigned char digest[APR_MD5_DIGESTSIZE];
    char *out = apr_palloc(a, 2 * APR_MD5_DIGESTSIZE + 1);

    apr_md5(digest, buf, (apr_size_t)len);
    ap_bin2hex(digest, APR_MD5_DIGESTSIZE, out);
    return out;
}

AP_DECLARE(char *) ap_md5(apr_pool_t *a, const unsigned char *string)
{
    return ap_md5_binary(a, string, (int)strlen((const char *)string));
}

/* Content-MD5 of RFC 1864. */
AP_DECLARE(char *) ap_md5contextTo64(apr_pool_t *p, apr_md5_ctx_t *context)
{
    unsigned char digest[APR_MD5_DIGESTSIZE];
    char *out = apr_palloc(p, (apr_size_t)apr_base64_encode_len(APR_MD5_DIGESTSIZE));

    apr_md5_final(digest, context);
    apr_base64_encode_binary(out, digest, APR_MD5_DIGESTSIZE);
    return out;
}

AP_DECLARE(char *) ap_md5digest(apr_pool_t *p, apr_file_t *infile)
{
    unsigned char buf[4096];
    apr_off_t start = 0;
    apr_md5_ctx_t context;
    apr_size_t n;

    apr_md5_init(&context);
    for (n = sizeof(buf); apr_file_read(infile, buf, &n) == APR_SUCCESS; n = sizeof(buf))
        apr_md5_update(&context, buf, n);
    apr_file_seek(infile, APR_SET, &start);
    return ap_md5contextTo64(p, &context);
}
