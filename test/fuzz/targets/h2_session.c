/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/2 connection, by a list of steps: frames of each type with fields and payload from the input, requests for a
 * site, bytes as they are, and what a client's socket does (few bytes at a time, no room, a deadline that passes). The model of the
 * client (test_h2_peer.h) checks each frame that comes back, and the connection must end when the client goes.
 * Covers: server/h2/h2_session.c server/h2/h2_input.c server/h2/h2_wire.c server/h2/h2_request.c
 *     server/h2/h2_stream.c server/h2/h2_output.c server/h2/h2_limits.c server/streams/stream_table.c
 *     server/streams/stream_pipe.c server/streams/stream_head.c server/streams/stream_waiting.c
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "test_h2_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct steps {
    const uint8_t *at, *end;
    peer *client;
    uint32_t next_id;
} steps;

static unsigned byte(steps *s)
{
    return s->at < s->end ? *s->at++ : 0;
}

static uint32_t stream(steps *s)
{
    const unsigned b = byte(s);

    if (b == 255)
        return H2_STREAM_MAX;
    if (b >= 128)
        return (s->next_id += 2) - 2;
    return b & 63;
}

static void step_frame(steps *s, unsigned type)
{
    const unsigned flags = byte(s), id = stream(s);
    size_t len = byte(s);

    len = len < (size_t)(s->end - s->at) ? len : (size_t)(s->end - s->at);
    peer_frame(s->client, type, flags, id, s->at, len);
    s->at += len;
}

static void step_request(steps *s)
{
    static const char *const pages[] = {"/a",    "/b",      "/c",     "/echo", "/write", "/read",
                                        "/none", "/breaks", "/hints", "*",     "/a?b",   "bad"};
    static const char *const methods[] = {"GET", "POST", "HEAD", "OPTIONS", "CONNECT", "get"};
    static const char *const priorities[] = {NULL, "u=0", "i", "u=7, i", "u=9, i=?0, x;y=(1 2)"};
    static const char *const lengths[] = {NULL, "0", "5", "3000", "-1", "99999999999999999999"};
    const char *page = pages[byte(s) % 12], *method = methods[byte(s) % 6];
    const char *priority = priorities[byte(s) % 5], *length = lengths[byte(s) % 6];

    peer_request(s->client, s->next_id, method, page, priority, length, byte(s) & 1);
    s->next_id += 2;
}

static void step_large(steps *s)
{
    static const uint8_t zeros[H2_FRAME_MAX];
    const unsigned kind = byte(s);
    const uint32_t id = stream(s), n = byte(s) * 64;

    if (kind & 1)
        peer_frame(s->client, H2_DATA, kind & 2 ? H2_END_STREAM : 0, id, zeros, n);
    else if (kind & 2)
        peer_number(s->client, H2_WINDOW_UPDATE, id, n * n);
    else
        peer_setting(s->client, H2_SET_INITIAL_WINDOW_SIZE, n * n * 8);
}

static void step_socket(steps *s)
{
    const unsigned kind = byte(s);

    switch (kind % 6) {
    case 0:
        s->client->room = byte(s) * 100;
        break;
    case 1:
        s->client->limit = byte(s);
        break;
    case 2:
        s->client->room = s->client->limit = SIZE_MAX;
        break;
    case 3:
        if (site_conn && site_conn->timer.prev && site_conn->state != CONN_WORKER)
            site_conn->driver->expired(site_conn);
        break;
    case 4:
        if (site_conn && site_conn->driver->drain)
            site_conn->driver->drain(site_conn);
        break;
    default:
        site_settle(3);
    }
    site_event();
}

static void step(steps *s)
{
    const unsigned kind = byte(s) & 15;
    size_t n;

    switch (kind) {
    case 11:
        step_frame(s, H2_PRIORITY_UPDATE);
        break;
    case 12:
        step_request(s);
        break;
    case 13:
        n = byte(s);
        n = n < (size_t)(s->end - s->at) ? n : (size_t)(s->end - s->at);
        peer_say(s->client, s->at, n);
        s->at += n;
        break;
    case 14:
        step_socket(s);
        break;
    case 15:
        step_large(s);
        break;
    default:
        step_frame(s, kind);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    steps s = {.at = data, .end = data + size, .next_id = 1};
    int fd;

    site_open_once(
        "MaxKeepAliveRequests 0\nH2EarlyHints on\nH2MaxSessionStreams 20\n"
        "H2StreamMaxMemSize 20000\nH2MaxHeaderBlockLen 4096\nH2WebSockets on\nLogLevel crit\n");
    if (!size)
        return 0;
    s.client = peer_new();
    if (byte(&s) != 255)
        peer_begin(s.client);
    fd = site_connect(s.client);
    while (s.at < s.end && site_conn)
        step(&s);
    site_settle(20);
    site_check_window();
    site_leave(s.client);
    close(fd);
    peer_free(s.client);
    return 0;
}
