/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents with Edge Side Includes: each piece lies in the document, behind the one before, and so do its values; a scan ends. The first
 * line is what Surrogate-Control says.
 * Covers: filters/ssi/ssi_esi_scan.c
 */
#include "ssi_esi.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_value(apr_pool_t *p, const ssi_esi_piece *piece, const ssi_esi_value *value)
{
    char *text;

    if (!value->at)
        return;
    check(value->at > piece->at && value->at + value->len < piece->at + piece->len);
    text = ssi_esi_text(p, value);
    check(!text || (*text && strlen(text) <= value->len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    const char *text, *last, *line;
    ssi_esi_scan scan;
    ssi_esi_piece piece;
    apr_pool_t *p;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    apr_pool_create(&p, root);
    line = memchr(data, '\n', size);
    text = line ? line + 1 : (const char *)data;
    ssi_esi_is_announced(
        apr_pstrmemdup(p, (const char *)data, (apr_size_t)(text - (const char *)data)));
    size -= (size_t)(text - (const char *)data);
    last = text = apr_pstrmemdup(p, text, size);
    scan = (ssi_esi_scan){.at = text, .end = text + size};
    while (ssi_esi_next(&scan, &piece)) {
        check(piece.len > 0 && piece.at >= last && piece.at + piece.len <= text + size);
        last = piece.at + piece.len;
        if (piece.kind == SSI_ESI_INCLUDE) {
            check(piece.src.at != NULL);
            check_value(p, &piece, &piece.src);
            check_value(p, &piece, &piece.alt);
        }
    }
    check(scan.at == scan.end);
    apr_pool_destroy(p);
    return 0;
}
