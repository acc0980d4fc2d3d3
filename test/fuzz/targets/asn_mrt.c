/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of MRT dumps, whatever they are: nothing behind them is read, and what is taken lies in them.
 * Covers: modules/asn/asn_mrt.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "asn_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static asn_mrt_route route;
    unsigned char *copy = malloc(size ? size : 1);
    const brg_asn_attributes *a = &route.attributes;

    if (!copy)
        abort();
    memcpy(copy, data, size);
    for (int family = ASN_IPV4; family <= ASN_IPV6; family++) {
        if (asn_mrt_parse(copy, size, (brg_asn_family)family, &route))
            continue;
        if (route.prefix.length > (family == ASN_IPV4 ? 32 : 128) ||
            a->communities_count > ASN_COMMUNITIES || a->large_count > ASN_LARGE)
            abort();
        if (a->path_bytes && (a->path < copy || a->path + a->path_bytes > copy + size))
            abort();
    }
    free(copy);
    return 0;
}
