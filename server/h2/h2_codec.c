/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of stored responses: streams/stream_codec.c makes them. */
#include "h2_private.h"
#include "http_answer.h"

static http_stored_head *codec_serialise(const http_answer *a, http_stored_head *room)
{
    return stream_codec_serialise(&h2_protocol, a, room);
}

static size_t codec_put_part(char *to, http_stored_head *head, const http_answer *a,
                             const http_answer_terms *t, const http_part *part, apr_off_t length)
{
    return stream_codec_put_part(&h2_protocol, to, head, a, t, part, length);
}

const http_codec h2_codec = {.protocol = CONN_HTTP2,
                             .serialise = codec_serialise,
                             .put = stream_codec_put,
                             .put_part = codec_put_part};
