/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_MEMORY_H
#define STATUS_MEMORY_H

/**
 * @file status_memory.h
 * What memory systems did, in the server process that answers, where MemoryReport is on: part of
 * the page and of "?auto", and as "?memory=json" and "?memory=prometheus". A POST to
 * "?memory=reset" begins to count anew.
 */
#include "httpd.h"

/** Answer "?memory=..." @param what  what stands there. @return as handlers do */
int status_memory_handle(request_rec *r, const char *what);

/** Take part in the other shapes. */
void status_memory_register(apr_pool_t *p);

#endif
