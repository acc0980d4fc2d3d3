/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_H2_H2_HINTS_H
#define BRIGADE_H2_H2_HINTS_H

/**
 * @file h2_hints.h
 * Directives of HTTP/2 that hold for streams of HTTP/3, too. */
#include "httpd.h"

/** 1 if @a s sends interim responses 103 (H2EarlyHints). Threads: any, after the configuration was read. */
int h2_sends_hints(const server_rec *s);

/** 1: streams may become tunnels to backends; else a warning is logged, that @a directive has no effect. Threads: main, after the configuration
 * was read */
int h2_tunnels_work(server_rec *s, const char *directive);

#endif
