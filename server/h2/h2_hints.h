/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_HINTS_H
#define BRIGADE_H2_H2_HINTS_H

/**
 * @file h2_hints.h
 * What directives of HTTP/2 say of streams of HTTP/3, too.
 */
#include "httpd.h"

/** 1 if @a s sends interim responses 103 (H2EarlyHints). Threads: any, after the configuration was read. */
int h2_sends_hints(const server_rec *s);

#endif
