/* SPDX-License-Identifier: Apache-2.0 */
/* Why a configuration cannot be used, in one line: which line of which file, and the logged message. A mistake of a line's own is
 * logged with its place. A mistake that shows later, when modules open the named files, is not: then the place is the line
 * that has the file, address or name in it which the message has. */
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "configuration.h"
#include "generation.h"
#include "log_settings.h"

#include <string.h>

#define FAULT_LEAST_WORD 4

static struct {
    char heard[2048]; /* messages of the phase, in their order */
    char text[3072];  /* with the place; "": nothing is wrong */
    const char *module;
    int module_index, vhost_line;
    int placed; /* text says more of the place than the messages do */
    char vhost_file[512];
} fault;

/* ---- hearing ---- */

static void fault_append(const char *text)
{
    size_t n = strlen(fault.heard);
    const char *between = !n ? "" : fault.heard[n - 1] == ':' ? " " : "; ";

    if (n && fault.heard[n - 1] == '.' && *between == ';')
        n--; /* sentences in a row */
    apr_snprintf(fault.heard + n, sizeof fault.heard - n, "%s%s", between, text);
    for (char *at = fault.heard + n; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
}

static void fault_hear(const ap_errorlog_info *info, const char *text)
{
    char why[256], line[1024];

    if ((info->level & APLOG_LEVELMASK) > APLOG_ERR)
        return;
    fault.module_index = info->module_index;
    if (info->s && info->s->is_virtual && info->s->defn_name) {
        apr_cpystrn(fault.vhost_file, info->s->defn_name, sizeof fault.vhost_file);
        fault.vhost_line = (int)info->s->defn_line_number;
    }
    if (info->status)
        apr_snprintf(line, sizeof line, "(%d)%s: %s", info->status,
                     apr_strerror(info->status, why, sizeof why), text);
    fault_append(info->status ? line : text);
}

void conf_fault_phase(void)
{
    *fault.heard = *fault.text = '\0';
    fault.placed = 0;
    fault.module_index = APLOG_NO_MODULE;
    fault.module = NULL;
    fault.vhost_line = 0;
    log_tell(fault_hear);
}

void conf_fault_end(void)
{
    log_tell(NULL);
}

void conf_fault_module(const char *name)
{
    fault.module = name;
}

/* ---- the place ---- */

typedef struct fault_search {
    const ap_directive_t *best;
    size_t len;
    apr_pool_t *p;
} fault_search;

static void fault_compare(fault_search *f, const ap_directive_t *d, const char *word)
{
    size_t len = strlen(word);

    if (len < FAULT_LEAST_WORD || len < f->len || !strpbrk(word, "/.:") ||
        !strstr(fault.heard, word))
        return;
    f->best = d;
    f->len = len;
}

/* A name may stand inside of a word: shmcb:/path(size), prg:/path, unix:/path|http: */
static void fault_look_at(fault_search *f, const ap_directive_t *d)
{
    const char *args = d->args, *word, *slash;

    while (args && *args && *(word = ap_getword_conf(f->p, &args))) {
        fault_compare(f, d, word);
        slash = strchr(word, '/');
        if (slash)
            fault_compare(f, d, apr_pstrmemdup(f->p, slash, strcspn(slash, "(|>")));
    }
}

static void fault_look(fault_search *f, const ap_directive_t *d)
{
    for (; d; d = d->next) {
        if (*d->directive != '<')
            fault_look_at(f, d);
        fault_look(f, d->first_child);
    }
}

static const char *fault_module(void)
{
    if (fault.module)
        return fault.module;
    for (module **m = ap_loaded_modules; m && *m; m++)
        if ((*m)->module_index == fault.module_index)
            return strcmp((*m)->name, "core.c") ? (*m)->name : NULL;
    return NULL;
}

/* "TypesConfig /path on line 3 of FILE", or another known place. */
static const char *fault_place(apr_pool_t *p)
{
    fault_search f = {.p = p};

    fault_look(&f, ap_conftree);
    if (f.best)
        return apr_psprintf(p, "%s %s on line %d of %s", f.best->directive, f.best->args,
                            f.best->line_num, f.best->filename);
    if (fault.vhost_line)
        return apr_psprintf(p, "the virtual host of line %d of %s", fault.vhost_line,
                            fault.vhost_file);
    return NULL;
}

static int fault_has_place(void)
{
    return strstr(fault.heard, " on line ") || strstr(fault.heard, " defined at ");
}

void conf_fault_found(const char *message)
{
    const int silent = !*fault.heard;
    const char *place = NULL, *name = NULL;
    apr_pool_t *p;

    if (*fault.text)
        return;
    apr_pool_create(&p, NULL);
    if (silent)
        fault_append(message);
    if (!fault_has_place() && !(place = fault_place(p)) && (name = fault_module()) != NULL)
        place = apr_pstrcat(p, "module ", name, NULL);
    fault.placed = silent || (place && !name); /* messages tell whose they are */
    apr_snprintf(fault.text, sizeof fault.text, "%s%s%s", place ? place : "", place ? ": " : "",
                 fault.heard);
    apr_pool_destroy(p);
}

const char *conf_fault(void)
{
    return fault.text;
}

int conf_fault_is_placed(void)
{
    return fault.placed;
}
