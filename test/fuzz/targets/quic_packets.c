/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams from anywhere, transport parameters, tokens. The first byte says what the rest is.
 * Covers: server/quic/quic_accept.c server/quic/quic_wire.c server/quic/quic_params.c server/quic/quic_token.c
 * server/quic/quic_ranges.c
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two bytes of length before each; filled up to what a first packet has to have. */
static void packets_datagrams(const uint8_t *data, size_t size)
{
    uint8_t packet[1300];

    while (size > 2) {
        size_t len = ((size_t)data[0] << 8 | data[1]) % sizeof packet,
               have = len < size - 2 ? len : size - 2;

        memset(packet, 0, sizeof packet);
        memcpy(packet, data + 2, have);
        if (len > have && len < 1200)
            len = 1200;
        if (len)
            peer_datagram(the_peer, packet, len);
        data += 2 + have;
        size -= 2 + have;
    }
}

static int packets_deliver(void *of, const uint8_t *data, size_t len)
{
    size_t *n = of;

    (void)data;
    *n += len;
    return 0;
}

/* An offset and a length by turns. */
static void packets_reorder(const uint8_t *data, size_t size)
{
    static const uint8_t zeros[256];
    quic_reorder o = {0};
    size_t n = 0;

    for (; size >= 3; data += 3, size -= 3)
        quic_reorder_put(&o, (uint64_t)data[0] << 8 | data[1], zeros, data[2], 20, packets_deliver,
                         &n);
    if (n != o.next)
        abort();
    quic_reorder_end(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    quic_params params;
    quic_cid a, b;

    if (!size)
        return 0;
    begin();
    the_peer->is_wild = 2;
    peer_begin(the_peer, the_ep, QUIC_V1);
    memset(the_peer->said, 0, sizeof the_peer->said);
    switch (data[0] % 4) {
    case 0:
        packets_datagrams(data + 1, size - 1);
        break;
    case 1:
        (void)quic_params_read(&params, data + 1, size - 1);
        break;
    case 2:
        (void)quic_token_read(the_ep, &the_peer->addr, data + 1, size - 1, &a, &b);
        break;
    default:
        packets_reorder(data + 1, size - 1);
    }
    run_for(apr_time_from_msec(100));
    end();
    return 0;
}
