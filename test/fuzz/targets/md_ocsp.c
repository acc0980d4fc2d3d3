/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses of OCSP responders, and how the store has them: what is taken is taken again. An input is a chain in PEM, a NUL, and
 * a response; with one that has to be signed, most of a response is read before it is refused.
 * Covers: server/md/md_ocsp.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_strings.h"
#include "md_ocsp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_response(apr_pool_t *p, const md_ocsp_cert *cert, const uint8_t *der, size_t len)
{
    const apr_time_t now = apr_time_from_sec(1800000000);
    md_ocsp_answer answer, again;
    apr_size_t n;

    if (!md_ocsp_request(p, cert, &n) || !n)
        abort();
    md_ocsp_of_json(p, cert, apr_pstrmemdup(p, (const char *)der, len), now, &answer);
    if (md_ocsp_read(p, cert, der, len, now, &answer))
        return;
    if (answer.len != len || answer.until <= now ||
        md_ocsp_of_json(p, cert, md_ocsp_json(p, &answer), now, &again) || again.len != len ||
        again.until != answer.until)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    const uint8_t *end = memchr(data, 0, size);
    md_ocsp_cert cert;
    apr_pool_t *p;

    if (!end)
        return 0;
    if (!begun++)
        apr_initialize();
    apr_pool_create(&p, NULL);
    if (!md_ocsp_cert_read(p, (const char *)data, &cert) && cert.issuer)
        try_response(p, &cert, end + 1, size - (size_t)(end + 1 - data));
    apr_pool_destroy(p);
    return 0;
}
