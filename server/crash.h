/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CRASH_H
#define BRIGADE_CRASH_H

/**
 * @file crash.h
 * What is written when a process gets a fatal signal: which signal, on which thread, what that
 * thread was serving.
 */
#include <stddef.h>

/**
 * Remember what the calling thread serves from now on: a request line and its virtual host. Only
 * the pointers are kept, so that it costs two stores; they must stay valid until the next call.
 * NULL: nothing. Threads: any. Async-signal-safety: the handler of this thread reads them.
 */
void crash_serving(const char *line, const char *host);

#endif
