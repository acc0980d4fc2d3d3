/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sends on an HTTP/2 connection, as bytes, behind a preface. The first byte chooses the pieces in which they
 * come. Nothing may be sent that the frames do not allow (test_h2_peer.h), and the connection must end when the client goes.
 * Covers: server/h2/h2_input.c server/h2/h2_wire.c server/h2/h2_limits.c
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_h2_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    peer *client;
    int fd;

    site_open_once("MaxKeepAliveRequests 0\nH2MaxHeaderBlockLen 4096\nLogLevel crit\n");
    if (!size)
        return 0;
    client = peer_new();
    peer_begin(client);
    fd = site_connect(client);
    peer_say(client, data + 1, size - 1);
    while (data[0] && site_conn && client->to_at < client->to_len) {
        client->limit = data[0];
        site_event();
        if (client->limit) /* it reads no more */
            break;
    }
    client->limit = SIZE_MAX;
    site_settle(20);
    site_check_window();
    site_leave(client);
    close(fd);
    peer_free(client);
    return 0;
}
