/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PRELOAD_PRIVATE_H
#define BRIGADE_PRELOAD_PRIVATE_H

/** Write the use of memory so far. @a file NULL: to standard error. Threads: any. */
void preload_report(const char *file);

#endif
