/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_CODED_H
#define FILE_CODED_H

/**
 * @file file_coded.h
 * PrecompressedFiles: a file is sent in the coded form that stands beside it (page.html.br beside
 * page.html), if the client takes that coding.
 */
#include "httpd.h"
#include "http_config.h"
#include "brigade/content_coding.h"

#define FILE_CODINGS_UNSET (-1)

/** Add the coding that @a name means. @return NULL, or why it cannot be */
const char *file_codings_add(cmd_parms *cmd, brg_codings *codings, const char *name);

/**
 * If one of @a codings is there for r's file, is as young as the file, and is acceptable to the client,
 * r->filename and r->finfo become those of the coded file; Vary is set in any case where one is there.
 * For the insert_filter hook, last. Threads: the request's. Blocking: as a sub-request.
 */
void file_coded_choose(request_rec *r, brg_codings codings, module *self);

/** A brg_cache_fn: the outcome depends on Accept-Encoding where a coded file is there. */
int file_coded_depends(request_rec *r, module *self);

#endif
