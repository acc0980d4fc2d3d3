/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_STOCK_FUNCTION_H
#define BRIGADE_BASE_STOCK_FUNCTION_H

/**
 * APR's or APR-util's own function, where the program has one of that name in its place. NULL: APR
 * has no such function. build/cmake/BrigadeApr.cmake has a list of them, for programs that are
 * linked with archives.
 */
void *stock_function(const char *name);

#endif
