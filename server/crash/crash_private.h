/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CRASH_CRASH_PRIVATE_H
#define BRIGADE_CRASH_CRASH_PRIVATE_H

/**
 * @file crash_private.h
 * Lines for the error log that need no library: usable in a signal handler and with a broken heap.
 */
#include "crash.h"
#include <setjmp.h>
#include <stddef.h>

#define CRASH_LINE_BYTES 1024

typedef struct crash_text {
    char buf[CRASH_LINE_BYTES];
    size_t n;
} crash_text;

/** Begin a line: its prefix with level, process and thread. */
void crash_begin(crash_text *t);

/** Append; unprintable characters become '?', text beyond the room is left out. */
void crash_put(crash_text *t, const char *s);
void crash_put_number(crash_text *t, unsigned long value);

/** Append this thread's connection, request line, host, handler. */
void crash_put_serving(crash_text *t);

/** Append a site. @param verb  "crashed" */
void crash_put_site(crash_text *t, const char *verb, const crash_site *site);

/** Write the line to standard error, which is the error log of a server process. */
void crash_end(crash_text *t);

/* ---- crash_look.c ---- */

/** Answer crash_look_ask() from now on, in this process. */
void crash_look_begin(void);

/** A fatal signal came: if the thread was about to tell where it is, that is given up, and this does not return. */
void crash_look_failed(void);

#endif
