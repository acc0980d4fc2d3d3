/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ASSERT_H
#define BRIGADE_ASSERT_H

/**
 * @file brigade/assert.h Assertions. They state guarantees of the code's own logic: the owner of an
 * object, the thread that runs, the state of something. They are never for states that a peer, a
 * file or an administrator can cause: those get a response or a message.
 *
 * A failed assertion writes the expression, its place, the thread, connection, request and module to
 * the error log and ends the process with SIGABRT; the supervisor starts another one.
 */
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where an assertion stands. */
typedef struct brg_assertion {
    const char *expression, *file, *function;
    int line;
} brg_assertion;

/** Report and end the process. Threads: any. */
BRG_DECLARE(void)
brg_assert_failed(const brg_assertion *a) __attribute__((noreturn, cold));

#define BRG_ASSERT_AT(text, e)                                                        \
    do {                                                                              \
        if (__builtin_expect(!(e), 0)) {                                              \
            static const brg_assertion brg_at = {text, __FILE__, __func__, __LINE__}; \
                                                                                      \
            brg_assert_failed(&brg_at);                                               \
        }                                                                             \
    } while (0)

/** @a e holds, or the program is wrong. In all builds; @a e must be cheap and have no effect. */
#define BRG_ASSERT(e) BRG_ASSERT_AT(#e, e)

/** The same for dear conditions: in debug and sanitizer builds (BRG_DEBUG_ASSERTIONS). */
#ifdef BRG_DEBUG_ASSERTIONS
#define BRG_ASSERT_DEBUG(e) BRG_ASSERT_AT(#e, e)
#else
#define BRG_ASSERT_DEBUG(e) ((void)sizeof(!(e)))
#endif

/**
 * Type tags, for pointers that cross a void * or a hand-over between threads: a struct has a member
 * `uint32_t tag`, set to a constant of its own while the object is alive and to 0 when it ends.
 */
#define BRG_ASSERT_TAG(p, value) BRG_ASSERT((p) != NULL && (p)->tag == (value))

#ifdef __cplusplus
}
#endif
#endif
