/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_INFO_PRIVATE_H
#define BRIGADE_INFO_PRIVATE_H

/** Parts of the page of mod_info. */
#include "httpd.h"
#include "http_config.h"
#include "apr_file_io.h"

/** A hook, as the page names it. */
typedef struct info_hook {
    const char *title;
    apr_array_header_t *(*get)(void); /**< of functions, in their order */
} info_hook;

/** The hooks of requests, up to one without a title. */
extern const info_hook info_request_hooks[];

/** 1: the module takes part in the hook. */
int info_hook_has(const info_hook *hook, const char *module_name);

/** All hooks with their functions. @param separator  '?' for links to pages, '#' to places of this one */
void info_hooks(request_rec *r, char separator);

/** "yes" or "none". */
void info_handlers(request_rec *r, const module *m);

/** A module's offers to others. */
void info_providers(request_rec *r);

/** The configuration as a page has it. @param m  whose directives; NULL: all */
void info_config(request_rec *r, const module *m);

/** The configuration as text. */
void info_config_dump(apr_file_t *out);

#endif
