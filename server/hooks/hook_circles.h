/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_HOOKS_HOOK_CIRCLES_H
#define BRIGADE_HOOKS_HOOK_CIRCLES_H

/**
 * @file hook_circles.h
 * Wishes of modules about the order of a hook that no order can meet.
 */
#include "hook_link.h"

/**
 * Leave wishes out until an order meets all that are left; each circle is logged.
 * @param list  of hook_link; an order that is left out stays so for as long as the list
 * Threads: main, while the configuration is read. Blocking: no.
 */
void hook_circles_open(const char *hook, apr_array_header_t *list);

#endif
