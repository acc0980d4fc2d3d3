/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_EXPLAIN_PRIVATE_H
#define BRIGADE_CLI_MAIN_EXPLAIN_PRIVATE_H

/**
 * @file main_explain_private.h
 * Between main_explain.c (a request is asked and watched) and main_explain_show.c (lines of the configuration as text). One request is on
 * its way; its thread, or the main thread once it is over.
 */
#include "httpd.h"
#include "http_config.h"

#include <stdio.h>

/** A directive that did something for a request, or a section that was merged. */
typedef struct explain_step {
    const request_rec *r; /**< to be compared alone */
    const char *uri;
    int is_sub;                 /**< r was a subrequest */
    const ap_directive_t *line; /**< to be compared alone, too */
    int is_section;
    const char *text;
} explain_step;

/** A line of the configuration in force, by the module that reads it. */
typedef struct explain_line {
    const char *module, *text;
} explain_line;

/** A section, or an .htaccess file from its first line on, with the lines in it. @param lines  of explain_line: they are added. From @a p */
const char *explain_section(apr_pool_t *p, const ap_directive_t *section,
                            apr_array_header_t *lines);

/** The lines of the main server and of a virtual host that hold for all its requests, and are no rules. */
void explain_server(FILE *out, const server_rec *s, apr_array_header_t *lines);

/** Which lines of access logs the request is written by. */
void explain_logs(FILE *out, request_rec *r);

/** CacheEnable and CacheDisable lines of the server for that path. @return how many */
int explain_cache_lines(FILE *out, const server_rec *s, const char *path);

#endif
