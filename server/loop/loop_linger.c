/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a connection whose client may send still (RFC 9112, section 9.6). A socket that is
 * closed with unread bytes, or gets bytes later, answers with a reset, which may take the last
 * response from the client. So our side is shut, and input is dropped until the client closes, is
 * silent, or time is over. */
#include "driver.h"
#include "loop.h"
#include "transport.h"
#include "brigade/assert.h"

#define LINGER_US apr_time_from_sec(2)       /* of silence */
#define LINGER_MOST_US apr_time_from_sec(30) /* in any case */

static void linger_drop(brg_conn *bc)
{
    loop_close(bc->loop, bc);
}

static void linger_wait(brg_conn *bc)
{
    apr_time_t due = bc->loop->monotonic + LINGER_US;

    wheel_set(&bc->loop->wheel, &bc->timer, due < bc->idle_until ? due : bc->idle_until);
}

static void linger_run(brg_conn *bc)
{
    BRG_ASSERT(bc->state == CONN_LINGER);
    if (bc->read_eof || bc->failed) {
        loop_close(bc->loop, bc);
        return;
    }
    if (bc->rd_ready)
        loop_again(bc->loop, bc);
    linger_wait(bc);
}

static const struct conn_driver linger_driver = {.name = "lingering close",
                                                 .run = linger_run,
                                                 .expired = linger_drop,
                                                 .drop = linger_drop,
                                                 .refused = linger_drop,
                                                 .work = linger_drop};

void loop_linger(brg_loop *loop, brg_conn *bc)
{
    BRG_ASSERT(loop_self() == loop && !bc->master && !bc->c && !bc->pending);
    if (bc->failed || bc->read_eof) {
        loop_close(loop, bc);
        return;
    }
    transport_shut(bc);
    conn_in_release(bc);
    conn_enter(bc, CONN_LINGER);
    bc->driver = &linger_driver;
    bc->idle_until = loop->monotonic + LINGER_MOST_US;
    if (loop_poll(loop, bc)) {
        loop_close(loop, bc);
        return;
    }
    bc->rd_ready = 1;
    conn_fill(bc);
    linger_run(bc);
}
