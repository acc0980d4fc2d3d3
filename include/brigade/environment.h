/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_ENVIRONMENT_H
#define BRIGADE_ENVIRONMENT_H

/**
 * @file brigade/environment.h Readers of a request's variables, r->subprocess_env, by names that
 * the configuration gives.
 */
#include "brigade/declare.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * May anything but the handler of a request look for a variable that it cannot know the name of beforehand? 1: a directive
 * seems to name one (a log format with %{NAME}e, env=NAME, %{ENV:NAME}, reqenv() ...), in an access file that was read, too,
 * or a module was loaded from a file. 0: no. A handler that would put the variables of CGI there for others may then leave
 * them out. Once 1, it stays so as long as the configuration.
 * Threads: any. Blocking: no.
 */
BRG_DECLARE(int) brg_env_may_be_read(void);

#ifdef __cplusplus
}
#endif
#endif
