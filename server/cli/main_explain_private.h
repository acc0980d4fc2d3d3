/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_EXPLAIN_PRIVATE_H
#define BRIGADE_CLI_MAIN_EXPLAIN_PRIVATE_H

/**
 * @file main_explain_private.h
 * Between main_explain.c (a request is asked and watched), main_explain_show.c (lines of the configuration) and main_explain_put.c (the
 * report). One request is on its way; its thread, or the main thread once it is over.
 */
#include "httpd.h"
#include "http_config.h"

#include <stdio.h>

/** A line of the report. All of it is of the report's pool, or lives as long as the program. */
typedef struct explain_item {
    int indent;          /**< spaces before it; it belongs to the line above that has fewer */
    const char *name;    /**< for programs; NULL */
    const char *heading; /**< for people; "" */
    const char *file;    /**< where the text stands; NULL: nowhere */
    int line;
    const char *text; /**< "" */
} explain_item;

/** A heading. @param text  behind it, copied by the caller if need be. @return it */
explain_item *explain_head(apr_array_header_t *to, const char *name, const char *heading,
                           const char *text);
explain_item *explain_text(apr_array_header_t *to, int indent, const char *text);
/** A line of the configuration. @param behind  is added to it */
void explain_at(apr_array_header_t *to, int indent, const ap_directive_t *d, const char *behind);
/** Lines that another part of the program made. */
void explain_lines_of(apr_array_header_t *to, const char *text);
/** Print a list. @param json  as JSON */
void explain_print(FILE *out, const apr_array_header_t *items, int json);

/** A directive that did something for a request, or a section that was merged. */
typedef struct explain_step {
    const request_rec *r; /**< to be compared alone */
    const char *uri;
    int is_sub;                 /**< r was a subrequest */
    const ap_directive_t *line; /**< to be compared alone, too */
    int is_section;
    apr_array_header_t *items; /**< of explain_item */
} explain_step;

/** A line of the configuration in force, by the module that reads it. */
typedef struct explain_line {
    const char *module, *text;
    const ap_directive_t *line;
} explain_line;

/** A section, or an .htaccess file from its first line on, with the lines in it. @param lines  of explain_line: they are added */
void explain_section(apr_array_header_t *to, const ap_directive_t *section,
                     apr_array_header_t *lines);

/** The lines of the main server and of a virtual host that hold for all its requests, and are no rules. */
void explain_server(apr_array_header_t *to, const server_rec *s, apr_array_header_t *lines);

/** Names of the filters of the answer, but for those of the connection. From @a p */
const char *explain_filters(apr_pool_t *p, const request_rec *r);
/** 1: a filter makes the body, with programs of its own. */
int explain_makes_body(const request_rec *r);
/** 1: a handler that only looks at files, so that its answer is the true one. @param configured  NULL: by the type */
int explain_is_run(const request_rec *r, const char *configured);

/** Which lines of access logs the request is written by. */
void explain_logs(apr_array_header_t *to, request_rec *r);

/** CacheEnable and CacheDisable lines of the server for that path. @return how many */
int explain_cache_lines(apr_array_header_t *to, const server_rec *s, const char *path);

#endif
