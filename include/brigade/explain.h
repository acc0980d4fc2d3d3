/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_EXPLAIN_H
#define BRIGADE_EXPLAIN_H

/**
 * @file brigade/explain.h Trace points for `brigade --explain URL`, which has a request answered. A
 * server tells nobody: it costs a look at a pointer.
 */
#include "brigade/declare.h"
#include "http_config.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A directive did something for a request.
 * @param line  the value of cmd->directive; NULL: no directive did it
 * @param what  the effect, as "/old leads to /new"; read before the function returns
 * Threads: of the request. Blocking: no.
 */
typedef void brg_explain_fn(request_rec *r, const ap_directive_t *line, const char *what);

/** The receiver; NULL: nobody. Set before the configuration is read. */
BRG_DECLARE_DATA extern brg_explain_fn *brg_explain;

/** Tell it; @a what is evaluated only with a receiver. */
#define BRG_EXPLAIN(r, line, what)                    \
    do {                                              \
        if (__builtin_expect(brg_explain != NULL, 0)) \
            brg_explain(r, line, what);               \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
