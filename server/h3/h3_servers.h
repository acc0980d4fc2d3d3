/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H3_H3_SERVERS_H
#define BRIGADE_H3_H3_SERVERS_H

/**
 * @file h3_servers.h
 * Which servers speak HTTP/3. Threads: any, after the configuration was read.
 */
#include "httpd.h"

/** that each UDP socket asks the kernel for, in both directions */
#define H3_SOCKET_BYTES (4 << 20)

/** 1: Protocols of @a s names it, and it has TLS. */
int h3_is_named(const server_rec *s);

/** 1: the same, and the program offers it. */
int h3_is_spoken(const server_rec *s);

#endif
