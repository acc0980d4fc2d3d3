/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sends in packets that it may encrypt. Records: a byte that says the level (0 to 2; 3: time passes), a byte of
 * length, and that many bytes of frames. The first byte says whether the handshake was done before. What the server sends has to
 * be well-formed (test_quic_peer.h), and all that it holds must be given back when the connection ends.
 * Covers: server/quic/quic_frames.c server/quic/quic_streams.c server/quic/quic_ack.c server/quic/quic_cids.c
 * server/quic/quic_path.c server/quic/quic_packet.c server/quic/quic_tls.c server/quic/quic_write.c
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_quic_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frames_record(unsigned kind, const uint8_t *frames, size_t len)
{
    if (kind == 3)
        run_for((apr_interval_time_t)len * len * 100);
    else if (len && the_peer->write[kind].aead)
        peer_send_raw(the_peer, (int)kind, frames, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 1;

    if (size < 3)
        return 0;
    begin();
    the_peer->is_wild = 1;
    if (data[0] & 1) {
        connect_v(data[0] & 2 ? QUIC_V2 : QUIC_V1);
    } else {
        peer_begin(the_peer, the_ep, QUIC_V1);
        peer_keys(the_peer);
        if (data[0] & 2)
            peer_flush(the_peer, 0, net_from_client);
    }
    memset(the_peer->said, 0, sizeof the_peer->said);
    while (at + 2 <= size && !the_peer->closed) {
        size_t len = data[at + 1];

        if (len > size - at - 2)
            len = size - at - 2;
        frames_record(data[at] & 3, data + at + 2, len);
        at += 2 + len;
    }
    run_for(apr_time_from_msec(300));
    end();
    return 0;
}
