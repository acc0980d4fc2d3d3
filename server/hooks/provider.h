/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_PROVIDER_H
#define BRIGADE_HOOKS_PROVIDER_H

/** Forget all providers: modules are about to register theirs anew. Threads: the main thread. */
void provider_registry_clear(void);

#endif
