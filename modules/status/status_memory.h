/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_MEMORY_H
#define STATUS_MEMORY_H

/**
 * @file status_memory.h
 * Figures of memory systems, of the server process that answers, if MemoryReport is on: part of the page
 * and of "?auto", and as "?memory=json" and "?memory=prometheus"; "?memory=live" and "?memory=live-json" look at its pools
 * (brigade/memory_tree.h). A POST to "?memory=reset" sets them
 * to 0.
 */
#include "httpd.h"

/** Answer "?memory=WORD". @return as handlers do */
int status_memory_handle(request_rec *r, const char *what);

/** Answer "?memory=live" or "live-json": the pools of this process as a tree, and the places that hold most, as text or as JSON. @return as handlers do */
int status_live_memory_handle(request_rec *r, int as_json);

/** What of them stands in the page and in "?auto". */
extern const struct status_section status_memory;

#endif
