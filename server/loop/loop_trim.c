/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a peak: memory of its connections goes back to the operating system.
 *
 * Once a second a loop compares its open connections with the most that it had since it last did
 * so. When three quarters of a peak are gone, it lets go of everything that it keeps for the next
 * ones. That takes some milliseconds, and the next peak takes its memory anew; below LOOP_TRIM_PEAK
 * connections there is too little to gain.
 */
#include "loop.h"
#include "memory_settings.h"

#define LOOP_TRIM_PEAK 128

void loop_spares_free(brg_loop *loop)
{
    brg_conn *bc;
    void *buf;

    while ((bc = loop->spare.conns) != NULL) {
        loop->spare.conns = bc->next;
        free(bc);
    }
    while ((buf = loop->spare.in) != NULL) {
        loop->spare.in = *(void **)buf;
        free(buf);
    }
    while ((buf = loop->spare.waiting) != NULL) {
        loop->spare.waiting = *(void **)buf;
        free(buf);
    }
    loop->spare.conns_n = loop->spare.in_n = loop->spare.waiting_n = 0;
}

void loop_trim(brg_loop *loop)
{
    loop->spare.trimmed = loop->monotonic;
    if (loop->conns.peak < LOOP_TRIM_PEAK || loop->conns.n > loop->conns.peak / 4)
        return;
    loop->conns.peak = loop->conns.n;
    loop_spares_free(loop);
    loop->config->services->thread_trim();
    memory_trim_thread(loop->server);
    memory_trim_process();
}
