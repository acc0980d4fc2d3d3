/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CGI_RECORD_H
#define BRIGADE_CGI_RECORD_H

/**
 * @file cgi_record.h
 * A server process's order to the daemon of CGI programs: one message. The
 * daemon believes none of its numbers.
 */
#include <stddef.h>
#include <stdint.h>

#define CGI_RECORD_MAGIC 0x43474931U
#define CGI_RECORD_INLINE 65536     /**< bytes; longer ones come in a file in memory */
#define CGI_RECORD_MOST (16U << 20) /**< bytes */
#define CGI_RECORD_STRINGS 65536    /**< arguments and variables together, at most */

enum { CGI_LIMIT_CPU, CGI_LIMIT_MEM, CGI_LIMIT_NPROC, CGI_LIMITS };

/** RLimitCPU and its kin. */
typedef struct cgi_limit {
    uint64_t is_set, soft, hard;
} cgi_limit;

/** Begins a message; behind it come NUL-terminated strings: file, folder, arguments, variables. */
typedef struct cgi_record_head {
    uint32_t magic;
    uint32_t argc, envc;
    uint32_t length; /**< of the whole message */
    cgi_limit limits[CGI_LIMITS];
} cgi_record_head;

/** A program to start. */
typedef struct cgi_program {
    const char *file, *folder; /**< absolute; folder: where it is started */
    const char *const *argv;   /**< NULL behind the last */
    const char *const *env;    /**< the same */
    cgi_limit limits[CGI_LIMITS];
} cgi_program;

/** Bytes of the message for a program; 0: more than CGI_RECORD_MOST or CGI_RECORD_STRINGS allow. */
size_t cgi_record_size(const cgi_program *p);

/** Write that message. @param to  cgi_record_size() bytes, aligned for cgi_record_head */
void cgi_record_write(char *to, const cgi_program *p);

/**
 * Read a message.
 *
 * @param from     aligned for cgi_record_head; the strings of @a p point into it
 * @param strings  room for @a most pointers; argv and env of @a p point into it
 * @return 1; 0: it is malformed, or has more strings than there is room for
 */
int cgi_record_read(const char *from, size_t len, const char **strings, size_t most,
                    cgi_program *p);

#endif
