/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer of BGP sends, whatever it is: nothing behind a message is read, what is taken has the bounds that the
 * table expects. The first byte chooses what was agreed on before.
 * Covers: modules/asn/bgp_message.c modules/asn/bgp_open.c modules/asn/bgp_update.c modules/asn/bgp_path.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bgp_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void walk(bgp_prefixes all, unsigned families)
{
    brg_asn_prefix p;

    check(!all.rest.n || families & BGP_FAMILY(all.family));
    while (bgp_prefixes_next(&all, &p))
        check(p.length <= (p.family == ASN_IPV4 ? 32 : 128));
    check(!all.rest.n);
}

static void update(asn_bytes body, const bgp_terms *terms)
{
    static bgp_update u;
    const brg_asn_attributes *a = &u.attributes;
    bgp_fault fault = {0};

    if (!bgp_update_parse(body, terms, &u, &fault)) {
        check(fault.code == BGP_BAD_UPDATE && fault.what);
        return;
    }
    for (int i = 0; i < BGP_PLACES; i++) {
        walk(u.gone[i], terms->families);
        walk(u.come[i], terms->families);
    }
    check(a->path_bytes <= sizeof u.path && a->communities_count <= ASN_COMMUNITIES &&
          a->large_count <= ASN_LARGE);
    check(bgp_path_is((asn_bytes){a->path, a->path_bytes}, 4, 1) && a->origin);
}

static void message(asn_bytes m, bgp_type type, const bgp_terms *terms)
{
    static const bgp_self self = {.as = 64496, .id = 1, .hold = 90, .families = 3};
    asn_bytes body = {m.at + BGP_HEADER, m.n - BGP_HEADER};
    bgp_fault fault = {0};
    bgp_notice notice;
    bgp_open open;

    if (type == BGP_OPEN) {
        if (bgp_open_parse(body, &self, 64511, &open, &fault))
            check(open.as == 64511 && open.hold != 1 && open.hold != 2 && open.id);
        else
            check(fault.code == BGP_BAD_OPEN && fault.what);
    } else if (type == BGP_UPDATE) {
        update(body, terms);
    } else if (type == BGP_NOTIFICATION) {
        bgp_notice_parse(body, &notice);
        check(bgp_notice_name(notice.code, notice.subcode) != NULL && notice.text.n <= body.n);
    }
}

/* Each message in memory of its own: a read behind it is seen. */
static void one(const unsigned char *at, size_t n, bgp_type type, const bgp_terms *terms)
{
    unsigned char *copy = malloc(n);

    check(copy != NULL);
    memcpy(copy, at, n);
    message((asn_bytes){copy, n}, type, terms);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bgp_terms terms = {.peer_as = 64511};
    bgp_fault fault = {0};
    bgp_type type;
    int n;

    if (!size)
        return 0;
    terms.as4 = data[0] & 1;
    terms.internal = data[0] >> 1 & 1;
    terms.families = data[0] >> 2 & 3;
    data++, size--;
    for (; (n = bgp_head_parse(data, size, &type, &fault)) > 0 && (size_t)n <= size;
         data += n, size -= (size_t)n)
        one(data, (size_t)n, type, &terms);
    check(n >= 0 || (fault.code == BGP_BAD_HEADER && fault.what));
    return 0;
}
