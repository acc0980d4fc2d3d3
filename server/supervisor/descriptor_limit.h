/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUPERVISOR_DESCRIPTOR_LIMIT_H
#define BRIGADE_SUPERVISOR_DESCRIPTOR_LIMIT_H

/** @file descriptor_limit.h
 * How many descriptors this process may open (RLIMIT_NOFILE). */
#include <sys/resource.h>

/**
 * Raise the soft limit to the hard limit: each connection takes a descriptor. From then on every
 * process that is forked from this one gets back the limit that the server was started with, since
 * programs exist that close or scan all descriptors up to it, or that use select().
 *
 * @return the limit that holds now; 1024 if it cannot be read
 * Threads: the main thread, before there are others. Blocking: no.
 */
rlim_t descriptor_limit_raise(void);

#endif
