/* SPDX-License-Identifier: Apache-2.0 */
/* <Macro name arguments>: the arguments, and the lines up to </Macro>. */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "macro_private.h"
#include <string.h>

extern module macro_module;
APLOG_USE_MODULE(macro);

#define MACRO_PREFIXES "$%@"

void macro_warn_behind(cmd_parms *cmd, const char *what, const char *rest)
{
    if (rest[strspn(rest, " \t\r\n\f\v")])
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL, APLOGNO(02989) "%s on line %d of %s: %s",
                     what, cmd->config_file->line_number, cmd->config_file->name, rest);
}

/* ---- arguments ---- */

/* "/IgnoreEmptyArgs" and "/IgnoreBadNesting", also one behind the other. */
static void macro_set_flags(macro_definition *macro, const char *flags)
{
    static const char empty[] = "/IgnoreEmptyArgs", nesting[] = "/IgnoreBadNesting";

    while (*flags) {
        if (!strncasecmp(flags, empty, sizeof empty - 1)) {
            macro->ignore_empty = 1;
            flags += sizeof empty - 1;
        } else if (!strncasecmp(flags, nesting, sizeof nesting - 1)) {
            macro->ignore_nesting = 1;
            flags += sizeof nesting - 1;
        } else {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL, APLOGNO(02804) "%s: unknown flag '%s'",
                         macro->whole, flags);
            return;
        }
    }
}

static void macro_warn_of_name(const macro_definition *macro, const char *name, int number)
{
    if (!strchr(MACRO_PREFIXES, *name))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                     APLOGNO(02796) "%s argument name '%s' (#%d) without expected prefix, better "
                                    "prefix argument names with one of '%s'.",
                     macro->whole, name, number, MACRO_PREFIXES);
    else if (!strncmp(name, "${", 2))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                     APLOGNO(02805) "%s argument name '%s' (#%d) clashes with 'Define' syntax "
                                    "'${...}', better use '$(...)'.",
                     macro->whole, name, number);
}

/* Two names of which one begins with the other; the same name twice is an error. */
static const char *macro_compare_names(apr_pool_t *p, const macro_definition *macro, int i, int j)
{
    const char *one = APR_ARRAY_IDX(macro->arguments, i, const char *);
    const char *other = APR_ARRAY_IDX(macro->arguments, j, const char *);
    const size_t a = strlen(one), b = strlen(other);

    BRG_ASSERT(i < j && j < macro->arguments->nelts);
    if (!b || strncmp(one, other, a < b ? a : b) != 0)
        return NULL;
    if (a == b)
        return apr_psprintf(p,
                            "argument name conflict in %s: argument '%s': #%d and #%d, change "
                            "argument names!",
                            macro->whole, one, i + 1, j + 1);
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                 APLOGNO(02797) "%s: argument name prefix conflict (%s #%d and %s #%d), be careful "
                                "about your macro definition!",
                 macro->whole, one, i + 1, other, j + 1);
    return NULL;
}

static const char *macro_check_names(apr_pool_t *p, const macro_definition *macro)
{
    for (int i = 0; i < macro->arguments->nelts; i++) {
        const char *name = APR_ARRAY_IDX(macro->arguments, i, const char *);

        if (!*name)
            return apr_psprintf(p, "%s: empty argument #%d name", macro->whole, i + 1);
        macro_warn_of_name(macro, name, i + 1);
        for (int j = i + 1; j < macro->arguments->nelts; j++) {
            const char *error = macro_compare_names(p, macro, i, j);

            if (error)
                return error;
        }
    }
    return NULL;
}

const char *macro_set_arguments(cmd_parms *cmd, apr_pool_t *p, macro_definition *macro,
                                const char *text)
{
    while (*text == '/')
        macro_set_flags(macro, ap_getword_conf(cmd->temp_pool, &text));
    macro->arguments = macro_words(p, text);
    return macro_check_names(cmd->pool, macro);
}

/* ---- lines ---- */

typedef struct macro_nesting {
    int macros;   /* macros inside this one that are open */
    int sections; /* of any name */
    int first;    /* number of the line of <Macro> */
    int warn;
} macro_nesting;

/* 1 at the end of the macro itself. Sections are counted, whatever their names are. */
static int macro_count_section(cmd_parms *cmd, const macro_definition *macro, const char *line,
                               macro_nesting *n)
{
    const char *rest = line, *word = ap_getword_conf(cmd->temp_pool, &rest);

    if (*word != '<')
        return 0;
    if (word[1] != '/') {
        n->macros += !strcasecmp(word, "<Macro");
        n->sections++;
        return 0;
    }
    if (n->sections < 0 && n->warn)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                     APLOGNO(02793) "bad (negative) nesting on line %d of %s",
                     (int)cmd->config_file->line_number - n->first, macro->whole);
    if (!strcasecmp(word, "</Macro>")) {
        macro_warn_behind(cmd, APLOGNO(02794) "non blank chars found after directive closing",
                          strchr(line, '>') + 1);
        if (!n->macros)
            return 1;
        n->macros--;
    }
    n->sections--;
    return 0;
}

static void macro_check_lines(apr_pool_t *p, const macro_definition *macro)
{
    char out[MACRO_LINE], *used = apr_pcalloc(p, (apr_size_t)macro->arguments->nelts + 1);

    BRG_ASSERT(macro->arguments && macro->lines);
    if (!macro->lines->nelts) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL, APLOGNO(02799) "%s: empty contents!",
                     macro->whole);
        return;
    }
    for (int i = 0; i < macro->lines->nelts; i++)
        macro_replace(APR_ARRAY_IDX(macro->lines, i, const char *), macro->arguments,
                      macro->arguments, out, used);
    for (int i = 0; i < macro->arguments->nelts; i++)
        if (!used[i])
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                         APLOGNO(02800) "%s: argument '%s' (#%d) never used", macro->whole,
                         APR_ARRAY_IDX(macro->arguments, i, const char *), i + 1);
}

const char *macro_read_lines(cmd_parms *cmd, apr_pool_t *p, macro_definition *macro,
                             int ignore_nesting)
{
    macro_nesting n = {.first = (int)cmd->config_file->line_number,
                       .warn = !ignore_nesting && !macro->ignore_nesting};
    char line[MACRO_LINE];

    macro->lines = apr_array_make(p, 8, sizeof(const char *));
    while (ap_cfg_getline(line, sizeof line, cmd->config_file) == APR_SUCCESS) {
        if (*line == '#')
            continue;
        if (macro_count_section(cmd, macro, line, &n)) {
            if (n.sections && n.warn)
                ap_log_error(APLOG_MARK, APLOG_WARNING, 0, NULL,
                             APLOGNO(02795) "bad cumulated nesting (%+d) in %s", n.sections,
                             macro->whole);
            macro_check_lines(cmd->temp_pool, macro);
            return NULL;
        }
        APR_ARRAY_PUSH(macro->lines, const char *) = apr_pstrdup(p, line);
    }
    return apr_psprintf(cmd->pool, "%s\n\tcontents error: expected token not found: </Macro>",
                        macro->whole);
}
