/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_CHECK_H
#define BRIGADE_MEMORY_CHECK_H

/**
 * Find out whether APR and APR-util call the pools of this program. To be called once, after
 * apr_initialize().
 * @return NULL, or a message
 */
const char *memory_check(void);

#endif
