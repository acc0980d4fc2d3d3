/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MACRO_PRIVATE_H
#define BRIGADE_MACRO_PRIVATE_H

/** Macros of configurations: their definitions, and the text of a use. */
#include "apr_tables.h"
#include "http_config.h"

/** Size of a line, with its NUL; longer ones are refused. */
#define MACRO_LINE MAX_STRING_LEN

typedef struct macro_definition {
    const char *where;             /**< "defined on line 7 of "FILE"" */
    const char *whole;             /**< "macro 'NAME' (WHERE)" */
    apr_array_header_t *arguments; /**< names (char *), in their order */
    apr_array_header_t *lines;     /**< char * */
    unsigned ignore_empty : 1;     /**< no warning of empty arguments */
    unsigned ignore_nesting : 1;   /**< no warning of sections that are not in pairs */
} macro_definition;

/**
 * A line with each name of an argument replaced by its value. Of names that begin at the same place the longest counts;
 * a value is not looked at again. That of a name with "@" in front is put in quotes.
 *
 * @param out   MACRO_LINE bytes
 * @param used  by number of the argument: set to 1 where its name is found; may be NULL
 * @return NULL, or the error
 */
const char *macro_replace(const char *line, const apr_array_header_t *names,
                          const apr_array_header_t *values, char *out, char *used);

/** The lines of a use: those of the definition with the values of its arguments. NULL, or the
 * error. */
const char *macro_expand(apr_pool_t *p, const macro_definition *macro,
                         const apr_array_header_t *values, apr_array_header_t **lines);

/** @a lines as a file of a configuration with that name. */
ap_configfile_t *macro_open(apr_pool_t *p, const char *name, const apr_array_header_t *lines);

/** The words of a line, unquoted. */
apr_array_header_t *macro_words(apr_pool_t *p, const char *text);

/** Arguments of a <Macro> that has its name already: flags and names, in @a p. NULL, or the error.
 */
const char *macro_set_arguments(cmd_parms *cmd, apr_pool_t *p, macro_definition *macro,
                                const char *text);

/** Its lines, up to </Macro>, in @a p. NULL, or the error. */
const char *macro_read_lines(cmd_parms *cmd, apr_pool_t *p, macro_definition *macro,
                             int ignore_nesting);

/** Warn of text behind ">" at the end of a line that begins or ends a section. */
void macro_warn_behind(cmd_parms *cmd, const char *what, const char *rest);

#endif
