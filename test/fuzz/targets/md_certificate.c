/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of certificates that authorities send, and base64url: what is decoded is encoded as it was.
 * Covers: server/md/md_cert.c server/md/md_jose.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "md_jose.h"
#include "md_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    const unsigned char *decoded;
    apr_size_t len;
    apr_pool_t *p;
    const char *text;
    md_cert *cert;

    if (!begun++)
        apr_initialize();
    apr_pool_create(&p, NULL);
    text = apr_pstrmemdup(p, (const char *)data, size);
    cert = md_cert_read(p, text);
    if (cert &&
        (!cert->names || !cert->fingerprint || strlen(cert->fingerprint) != 64 || !cert->issuer))
        abort();
    if (cert)
        md_cert_lacks(cert, cert->names);
    decoded = md_base64url_decode(p, text, &len);
    if (decoded && strcmp(md_base64url(p, decoded, len), text) != 0)
        abort();
    apr_pool_destroy(p);
    return 0;
}
