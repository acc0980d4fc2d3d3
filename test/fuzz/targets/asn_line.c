/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of files with networks, whatever they are. The prefixes of a range follow each other without a gap, from its
 * first address to its last.
 * Covers: modules/asn/asn_file_line.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "asn_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_range(asn_line *line)
{
    unsigned char next[16], begin[16];
    int bytes = line->first.family == ASN_IPV4 ? 4 : 16, n = 0, carry;
    brg_asn_prefix prefix;

    memcpy(next, line->first.address, sizeof next);
    while (asn_line_next(line, &prefix)) {
        if (memcmp(prefix.address, next, sizeof next) != 0 || prefix.length > 8 * bytes ||
            ++n > 256)
            abort();
        memcpy(begin, next, sizeof begin);
        for (int i = prefix.length; i < 8 * bytes; i++) {
            if (next[i / 8] & 128 >> i % 8)
                abort();
            next[i / 8] = (unsigned char)(next[i / 8] | 128 >> i % 8);
        }
        if (memcmp(next, line->last, sizeof next) > 0)
            abort();
        memcpy(begin, next, sizeof begin);
        carry = 1;
        for (int i = bytes; carry && i-- > 0;)
            carry = !++next[i];
    }
    if (memcmp(begin, line->last, sizeof begin) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    asn_line line;

    if (!copy)
        abort();
    memcpy(copy, data, size);
    copy[size] = 0;
    if (!asn_line_parse(copy, &line)) {
        if (line.origins_count < 0 || line.origins_count > 16 || line.first.length > 128)
            abort();
        if (line.range)
            look_at_range(&line);
    }
    free(copy);
    return 0;
}
