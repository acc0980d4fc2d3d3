/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_NET_BLOCK_H
#define BRIGADE_BASE_NET_BLOCK_H

/**
 * @file net_block.h
 * Blocks of memory that the network is read into, and that leave as buckets, or in the output of a stream. Each thread keeps the
 * blocks that became free last, so that the next read finds memory that is in the processor's cache.
 * Threads: any; a block may be given back by another thread than took it. Blocking: no.
 */

#define NET_BLOCK (32 * 1024) /**< bytes of a block */

/** @return NULL: no memory */
char *net_block_get(void);

/** @param block  of net_block_get(). Its type is that of a function that frees. */
void net_block_put(void *block);

#endif
