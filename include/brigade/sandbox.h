/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SANDBOX_H
#define BRIGADE_SANDBOX_H

/**
 * @file brigade/sandbox.h A process that a module starts from the supervisor, and that talks to
 * strangers, gives up rights that it does not need, as server processes do with `Sandbox On`.
 */
#include "brigade/declare.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The needs of such a process. */
typedef struct brg_sandbox_needs {
    /** files and folders to read, NULL behind the last; ones that are not there are left out */
    const char *const *read;
    int listens; /**< 1: it opens TCP ports */
} brg_sandbox_needs;

/**
 * Enter a sandbox, for good: nothing but these files can be opened, no program started, no process
 * outside signalled or changed. Open descriptors stay. Without `Sandbox On` it does nothing;
 * missing features of the kernel were logged at the start.
 *
 * Call it when the process has its last user, and has one thread. Blocking: no.
 * @return or the system's error, logged: the process is to end
 */
BRG_DECLARE(apr_status_t) brg_sandbox_enter(server_rec *s, const brg_sandbox_needs *needs);

#ifdef __cplusplus
}
#endif
#endif
