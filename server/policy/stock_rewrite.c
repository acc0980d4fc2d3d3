/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies of the rules of mod_rewrite's binary: noted while its directives are read, in the directory
 * configuration of mod_so, which loaded the module. So a request has the notes of all rules that may have run
 * for it, and possibly of some that did not run. */
#include "request_context.h"
#include "brigade/assert.h"
#include "stock_policy.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_strings.h"
#include <string.h>

static const module *rewrite_slot; /* whose directory configuration has the notes */

struct stock_rewrite_notes {
    int is_volatile;
    int tests_file;       /* r->filename, after it was mapped */
    int tests_under_root; /* document root and URI, before */
    apr_array_header_t *fields;
};

void stock_rewrite_keep_in(const module *m)
{
    BRG_ASSERT(m != NULL);
    rewrite_slot = m;
}

static void rewrite_add_field(apr_pool_t *p, stock_rewrite_notes *notes, const char *name)
{
    if (!notes->fields)
        notes->fields = apr_array_make(p, 2, sizeof(const char *));
    if (!ap_array_str_contains(notes->fields, name))
        APR_ARRAY_PUSH(notes->fields, const char *) = name;
}

void *stock_rewrite_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const stock_rewrite_notes *base = base_conf, *add = add_conf;
    stock_rewrite_notes *notes = apr_pmemdup(p, add, sizeof *add);

    BRG_ASSERT(base != NULL && add != NULL);
    notes->is_volatile |= base->is_volatile;
    notes->tests_file |= base->tests_file;
    notes->tests_under_root |= base->tests_under_root;
    notes->fields = add->fields && base->fields ? apr_array_append(p, base->fields, add->fields)
                    : add->fields               ? add->fields
                                                : base->fields;
    return notes;
}

/* ---- words of directives ---- */

static int rewrite_is_one_of(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name))
        list++;
    return *list != NULL;
}

/* The variable of a %{NAME}. */
static void rewrite_note_variable(apr_pool_t *p, stock_rewrite_notes *notes, const char *name)
{
    static const char *const constant[] = {"HTTP_HOST",
                                           "REQUEST_URI",
                                           "QUERY_STRING",
                                           "REQUEST_FILENAME",
                                           "SCRIPT_FILENAME",
                                           "DOCUMENT_ROOT",
                                           "SERVER_NAME",
                                           "SERVER_PORT",
                                           "SERVER_ADMIN",
                                           "SERVER_SOFTWARE",
                                           "API_VERSION",
                                           "HTTPS",
                                           "REQUEST_SCHEME",
                                           "PATH_INFO",
                                           "IS_SUBREQ",
                                           "CONTEXT_PREFIX",
                                           "HANDLER",
                                           "CONTEXT_DOCUMENT_ROOT",
                                           NULL};
    static const char *const line[] = {"THE_REQUEST", "REQUEST_METHOD", "SERVER_PROTOCOL", NULL};
    static const char *const field[][2] = {{"HTTP_USER_AGENT", "User-Agent"},
                                           {"HTTP_REFERER", "Referer"},
                                           {"HTTP_COOKIE", "Cookie"},
                                           {"HTTP_ACCEPT", "Accept"},
                                           {"HTTP_FORWARDED", "Forwarded"}};

    if (rewrite_is_one_of(name, constant) || !strncmp(name, "ENV:", 4))
        return;
    if (rewrite_is_one_of(name, line)) {
        rewrite_add_field(p, notes, REQUEST_VARY_LINE);
        return;
    }
    if (!strncmp(name, "HTTP:", 5)) {
        rewrite_add_field(p, notes, name + 5);
        return;
    }
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (!strcmp(name, field[i][0])) {
            rewrite_add_field(p, notes, field[i][1]);
            return;
        }
    notes->is_volatile = 1;
}

static void rewrite_note_text(apr_pool_t *p, stock_rewrite_notes *notes, const char *text)
{
    for (; *text; text++) {
        const char *end;

        if (text[0] == '\\' && text[1]) {
            text++;
            continue;
        }
        if (text[0] == '$' && text[1] == '{')
            notes->is_volatile = 1; /* a map */
        if (text[0] != '%' || text[1] != '{')
            continue;
        if (!(end = strchr(text, '}')) || strcspn(text + 2, "%$") < (size_t)(end - text - 2)) {
            notes->is_volatile = 1;
            return;
        }
        BRG_ASSERT(end >= text + 2);
        rewrite_note_variable(p, notes, apr_pstrmemdup(p, text + 2, (apr_size_t)(end - text - 2)));
        text = end;
    }
}

static void rewrite_note_file_test(stock_rewrite_notes *notes, const char *tested, int in_server)
{
    static const char *const mapped[] = {"%{REQUEST_FILENAME}", "%{SCRIPT_FILENAME}", NULL};
    static const char *const under_root[] = {
        "%{DOCUMENT_ROOT}%{REQUEST_URI}", "%{DOCUMENT_ROOT}/%{REQUEST_URI}",
        "%{DOCUMENT_ROOT}%{REQUEST_FILENAME}", "%{DOCUMENT_ROOT}/%{REQUEST_FILENAME}", NULL};

    if (!in_server && rewrite_is_one_of(tested, mapped))
        notes->tests_file = 1;
    else if (rewrite_is_one_of(tested, under_root))
        notes->tests_under_root = 1;
    else
        notes->is_volatile = 1;
}

static void rewrite_note_condition(apr_pool_t *p, stock_rewrite_notes *notes, const char *args,
                                   int in_server)
{
    const char *tested = ap_getword_conf(p, &args), *pattern = ap_getword_conf(p, &args);

    pattern += *pattern == '!';
    if (!strcasecmp(tested, "expr"))
        notes->is_volatile = 1;
    else if (pattern[0] == '-' && pattern[1] && !pattern[2]) {
        if (strchr("fdslhLx", pattern[1]))
            rewrite_note_file_test(notes, tested, in_server);
        else
            notes->is_volatile = 1; /* -U and -F are requests of their own */
    }
    rewrite_note_text(p, notes, tested);
}

/* A cookie's date goes with the time. */
static int rewrite_sets_cookie(const char *flags)
{
    while (*flags) {
        flags += strspn(flags, "[, \t");
        if (!strncasecmp(flags, "CO=", 3) || !strncasecmp(flags, "cookie=", 7))
            return 1;
        flags += strcspn(flags, ",");
    }
    return 0;
}

static void rewrite_note_rule(apr_pool_t *p, stock_rewrite_notes *notes, const char *args)
{
    const char *to, *flags;

    (void)ap_getword_conf(p, &args);
    to = ap_getword_conf(p, &args);
    flags = ap_getword_conf(p, &args);
    rewrite_note_text(p, notes, to);
    rewrite_note_text(p, notes, flags);
    if (rewrite_sets_cookie(flags))
        notes->is_volatile = 1;
}

void stock_rewrite_directive(const cmd_parms *cmd, ap_conf_vector_t *section, const char *name,
                             const char *args)
{
    int condition = !ap_cstr_casecmp(name, "RewriteCond");
    stock_rewrite_notes *notes;

    if (!condition && ap_cstr_casecmp(name, "RewriteRule") != 0)
        return;
    BRG_ASSERT(rewrite_slot != NULL && section != NULL);
    notes = ap_get_module_config(section, rewrite_slot);
    if (!notes) {
        notes = apr_pcalloc(cmd->pool, sizeof *notes);
        ap_set_module_config(section, rewrite_slot, notes);
    }
    if (condition)
        rewrite_note_condition(cmd->pool, notes, args, cmd->path == NULL);
    else
        rewrite_note_rule(cmd->pool, notes, args);
}

/* ---- of a request ---- */

/* 1 if the response is watched for the file that the rules may have tested. */
static int rewrite_tested_the_file(request_rec *r, const stock_rewrite_notes *notes)
{
    const char *root = ap_document_root(r);
    size_t len = strlen(root);

    if (r->main || !r->filename)
        return 0;
    return !notes->tests_under_root ||
           (!strncmp(r->filename, root, len) && r->uri && !strcmp(r->filename + len, r->uri));
}

int stock_rewrite(request_rec *r)
{
    const stock_rewrite_notes *notes = ap_get_module_config(r->per_dir_config, rewrite_slot);

    if (!notes)
        return BRG_CACHE_STATIC;
    if (notes->is_volatile ||
        ((notes->tests_file || notes->tests_under_root) && !rewrite_tested_the_file(r, notes)))
        return BRG_CACHE_VOLATILE;
    for (int i = 0; notes->fields && i < notes->fields->nelts; i++)
        brg_cache_vary(r, APR_ARRAY_IDX(notes->fields, i, const char *), NULL, NULL);
    return BRG_CACHE_STATIC;
}
