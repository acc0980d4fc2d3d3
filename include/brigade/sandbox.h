/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SANDBOX_H
#define BRIGADE_SANDBOX_H

/**
 * @file brigade/sandbox.h
 * A process that a module starts from the supervisor, and that hears strangers, gives up what it does not need, as server
 * processes do with `Sandbox On`.
 */
#include "brigade/declare.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What such a process needs. */
typedef struct brg_sandbox_needs {
    const char *const *
        read; /**< files and folders to read, NULL behind the last; ones that are not there are left out */
    int listens; /**< 1: it opens TCP ports */
} brg_sandbox_needs;

/**
 * Enter a sandbox, for good: nothing but these files can be opened, no program started, no process outside signalled or
 * changed. Open descriptors stay. Without `Sandbox On` it does nothing; what the kernel lacks of it was logged at the start.
 *
 * Call it when the process has its last user, and has one thread. Blocking: no.
 * @return or the system's error, logged: the process is to end
 */
BRG_DECLARE(apr_status_t) brg_sandbox_enter(server_rec *s, const brg_sandbox_needs *needs);

#ifdef __cplusplus
}
#endif
#endif
