/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of request heads on a connection: answers to heads that exceed them. */
#include "program_thread.h"
#include "h1_request.h"
#include "h1_conn_private.h"
#include "loop.h"
#include "request_parts.h"
#include "brigade/read_timeout.h"
#include "http_config.h"
#include <string.h>

static PROGRAM_THREAD_LOCAL http_head scratch_head;
static PROGRAM_THREAD_LOCAL const char *scratch_of;

http_head *h1_conn_scratch_head(void)
{
    scratch_of = NULL;
    return &scratch_head;
}

void h1_conn_scratch_keep(const char *text)
{
    scratch_of = text;
}

const http_head *h1_conn_scratch_kept(const char *text)
{
    return text == scratch_of ? &scratch_head : NULL;
}

/* Looked up when the server changes, which on most sites is never. */
const h1_limits *h1_limits_for(const brg_conn *bc)
{
    static PROGRAM_THREAD_LOCAL const server_rec *of;
    static PROGRAM_THREAD_LOCAL h1_limits limits;
    const server_rec *s = bc->c ? bc->c->base_server : bc->base;

    if (of != s) {
        h1_limits_of(s, &limits);
        of = s;
    }
    return &limits;
}

const brg_read_timeouts *h1_read_timeouts(const server_rec *s)
{
    static PROGRAM_THREAD_LOCAL const server_rec *of;
    static PROGRAM_THREAD_LOCAL brg_read_timeouts timeouts;

    if (of != s) {
        APR_OPTIONAL_FN_TYPE(brg_read_timeouts_of) *fn =
            APR_RETRIEVE_OPTIONAL_FN(brg_read_timeouts_of);

        memset(&timeouts, 0, sizeof timeouts);
        if (fn)
            fn(s, &timeouts);
        of = s;
    }
    return &timeouts;
}

int h1_head_of_part(http_head *head, const char *buf, size_t len, const h1_limits *limits)
{
    const char *end = memrchr(buf, '\n', len);
    size_t n = end ? (size_t)(end + 1 - buf) : 0, scanned = 0;
    char *whole;
    int ok;

    if (!n || !(whole = malloc(n + 2)))
        return 0;
    memcpy(whole, buf, n);
    memcpy(whole + n, "\r\n", 2);
    ok = h1_parse(head, whole, n + 2, &scanned, limits) != H1_MORE && head->line_len > 0;
    if (ok) { /* only the request line is used for the answer; let it point into the connection's
                 input */
        const char **moved[] = {&head->line, &head->method, &head->uri, &head->protocol,
                                &head->bad};

        for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
            if (*moved[i] >= whole && *moved[i] < whole + n + 2)
                *moved[i] = buf + (*moved[i] - whole);
        head->n_fields = 0;
        memset(head->known, 0xff, sizeof head->known);
    }
    free(whole);
    return ok;
}
