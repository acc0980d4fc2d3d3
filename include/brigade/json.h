/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_JSON_H
#define BRIGADE_JSON_H

/**
 * @file brigade/json.h
 * Text of any bytes as JSON (RFC 8259), and characters of UTF-8.
 */
#include "apr.h"
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The longest form of a byte: a buffer of this many times the text's length always suffices. */
#define BRG_JSON_GROWTH 6

/**
 * Write text as the inside of a JSON string, without its quotes. The outcome is valid JSON and
 * valid UTF-8 whatever @a s is: bytes that are not UTF-8 (RFC 3629) become U+FFFD, one by one. Text
 * beyond the room is cut between characters.
 *
 * @param to    room for @a room bytes; not terminated
 * @return      bytes written
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(apr_size_t)
brg_json_escape(char *to, apr_size_t room, const char *s, apr_size_t len);

/**
 * How many bytes the character of UTF-8 at @a s has, of which @a len may be read.
 * @return 1 to 4; 0: not a character (RFC 3629)
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(unsigned) brg_utf8_character(const unsigned char *s, apr_size_t len);

#ifdef __cplusplus
}
#endif
#endif
