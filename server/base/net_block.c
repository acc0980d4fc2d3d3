/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of memory for bytes of the network: each thread keeps some for reuse. */
#include "net_block.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdlib.h>

#define BLOCKS_SPARE 32 /* free ones that a thread keeps */

/* Blocks are freed where their last reader ends: mostly on the loop that read them. */
static _Thread_local struct {
    void *first;
    unsigned n;
} blocks_spare;

static pthread_key_t blocks_key;
static pthread_once_t blocks_once = PTHREAD_ONCE_INIT;

/* A thread ends: its spare blocks do. */
static void blocks_thread_ends(void *unused)
{
    (void)unused;
    while (blocks_spare.first) {
        void *block = blocks_spare.first;

        blocks_spare.first = *(void **)block;
        free(block);
    }
    blocks_spare.n = 0;
}

static void blocks_begin(void)
{
    pthread_key_create(&blocks_key, blocks_thread_ends);
}

char *net_block_get(void)
{
    void *block = blocks_spare.first;

    BRG_ASSERT(!block == !blocks_spare.n);
    if (!block)
        return malloc(NET_BLOCK);
    blocks_spare.first = *(void **)block;
    blocks_spare.n--;
    return block;
}

void net_block_put(void *block)
{
    BRG_ASSERT(block && block != blocks_spare.first); /* once for each net_block_get() */
    if (blocks_spare.n >= BLOCKS_SPARE) {
        free(block);
        return;
    }
    if (!blocks_spare.n) {
        pthread_once(&blocks_once, blocks_begin);
        pthread_setspecific(blocks_key, &blocks_spare);
    }
    *(void **)block = blocks_spare.first;
    blocks_spare.first = block;
    blocks_spare.n++;
}
