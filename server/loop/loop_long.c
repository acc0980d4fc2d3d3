/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that take long: while one is made on a loop, all other connections of the loop wait. The
 * table remembers such pages, so that workers make them the next time and delay only requests for
 * the same page; it forgets a page that a worker found quick.
 *
 * A page that the response cache may store is made on the loop some times more, since only there it
 * can be stored. If it did not, workers make it for a while. Of any other one run is not enough: it
 * may have waited for a processor.
 *
 * The table has a place for each page by its hash, and the last one has it. A page that lost its place is made once
 * more on the loop. */
#include "loop.h"
#include "brigade/assert.h"
#include <string.h>

#define LONG_PAGES 512 /* places of a loop */
#define LONG_NAME 40   /* bytes of a name that are looked at; eights */
#define LONG_RUNS 4 /* in a row on the loop; of a page that never comes to the cache half as many */
#define LONG_AGAIN_US apr_time_from_sec(10) /* after that, until it gets as many again */
#define LONG_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct loop_long_page {
    uint64_t page;    /* 0: none */
    apr_time_t since; /* 0: it never comes to the cache */
    unsigned runs;
};

static uint64_t page_add(uint64_t h, uint64_t value)
{
    h = (h ^ value) * LONG_FACTOR;
    return h ^ h >> 29;
}

/* Of a long name its end tells it from others; two that share a place cost each other some runs. */
static uint64_t page_add_text(uint64_t h, const char *text)
{
    const size_t len = strlen(text);
    size_t at = len > LONG_NAME ? len - LONG_NAME : 0;
    uint64_t part;

    for (; at + sizeof part <= len; at += sizeof part) {
        memcpy(&part, text + at, sizeof part);
        h = page_add(h, part);
    }
    for (part = len; at < len; at++)
        part = part << 8 | (uint8_t)text[at];
    return page_add(h, part);
}

uint64_t loop_page_of(const request_rec *r)
{
    const char *name = r->filename ? r->filename : r->uri ? r->uri : "";

    return page_add_text(page_add(LONG_FACTOR, (uintptr_t)r->server), name) | 1;
}

static struct loop_long_page *long_place(const brg_loop *loop, uint64_t page)
{
    BRG_ASSERT(page && loop->long_pages);
    return &loop->long_pages[page >> 32 & (LONG_PAGES - 1)];
}

static int long_is_tried_again(const brg_loop *loop, const struct loop_long_page *at)
{
    return at->since && loop->monotonic - at->since >= LONG_AGAIN_US;
}

int loop_takes_long(const brg_loop *loop, uint64_t page)
{
    const struct loop_long_page *at = loop->long_pages ? long_place(loop, page) : NULL;

    return at && at->page == page && at->runs >= LONG_RUNS && !long_is_tried_again(loop, at);
}

void loop_page_took_long(brg_loop *loop, uint64_t page, int may_be_kept)
{
    struct loop_long_page *at;

    BRG_ASSERT(loop_self() == loop);
    if (!loop->long_pages)
        loop->long_pages = apr_pcalloc(loop->pool, LONG_PAGES * sizeof *loop->long_pages);
    at = long_place(loop, page);
    if (at->page != page || long_is_tried_again(loop, at))
        *at = (struct loop_long_page){.page = page};
    at->runs += may_be_kept ? 1 : LONG_RUNS / 2;
    at->since = may_be_kept ? loop->monotonic : 0;
}

void loop_page_is_quick(brg_loop *loop, uint64_t page)
{
    struct loop_long_page *at = loop->long_pages ? long_place(loop, page) : NULL;

    BRG_ASSERT(loop_self() == loop);
    if (at && at->page == page)
        at->page = 0;
}
