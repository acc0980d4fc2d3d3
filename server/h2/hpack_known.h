/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_HPACK_KNOWN_H
#define BRIGADE_H2_HPACK_KNOWN_H

/**
 * @file hpack_known.h
 * Field lines that many responses have (Server, Content-Type, Cache-Control
 * ...): each thread keeps the encoded form of recent ones, which needs no state of a connection
 * (hpack_encode.h).
 */
#include <stddef.h>
#include <stdint.h>

/**
 * As hpack_put_line() of a line that is no secret, with the same bytes.
 * Threads: any. Blocking: no. @return behind it, at most STREAM_LINE_ROOM() on
 */
uint8_t *hpack_put_known(uint8_t *out, const char *name, size_t name_len, const char *value,
                         size_t value_len);

#endif
