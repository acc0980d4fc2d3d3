/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of --advice: lines that keep answers out of memory, with how many folders of the site they concern.
 *
 * A file of each folder that may have a configuration of its own is asked for, as -t -D DUMP_CACHE does it (main_try_lines.c): the root
 * of the documents, folders that a <Directory> section names, and those with an access file. All others are as the one above.
 */
#include "main_advice_private.h"
#include "core_settings.h"
#include "http_core.h"
#include "apr_strings.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEPS_FOLDERS 50000 /* that are looked at below a document root */
#define KEEPS_ASKED 40      /* that are asked about, of all document roots */
#define KEEPS_DEPTH 32

/* A folder that is asked about, with its like. */
typedef struct keeps_folder {
    const char *file; /* path below the root of one of its files; NULL: none was found */
    int n;
} keeps_folder;

/* A line that is a reason somewhere. */
typedef struct keeps_line {
    const char *text;
    int n;
} keeps_line;

typedef struct keeps {
    apr_pool_t *p;
    const char *root, *access_name;
    apr_array_header_t *folders; /* keeps_folder *, of the root at hand */
    apr_array_header_t *lines;   /* keeps_line */
    int n, asked, all;
} keeps;

static int keeps_is_named(const ap_directive_t *d, const char *path)
{
    const size_t len = strlen(path);

    for (; d; d = d->next) {
        const char *found =
            !ap_cstr_casecmp(d->directive, "<Directory") ? strstr(d->args, path) : NULL;

        if ((found && strchr("/\"'> ", found[len])) || keeps_is_named(d->first_child, path))
            return 1;
    }
    return 0;
}

static int keeps_has_own(const keeps *k, const char *path)
{
    const char *names = k->access_name, *name;

    while (*(name = ap_getword_conf(k->p, &names)))
        if (!access(apr_pstrcat(k->p, path, "/", name, NULL), F_OK))
            return 1;
    return keeps_is_named(ap_conftree, path);
}

/* Links are not followed: their targets may be looked at by their own path. */
static void keeps_walk(keeps *k, const char *below, keeps_folder *of, int depth)
{
    const char *path = apr_pstrcat(k->p, k->root, below, NULL);
    const struct dirent *e;
    DIR *dir = depth < KEEPS_DEPTH && k->n < KEEPS_FOLDERS ? opendir(path) : NULL;

    if (!dir)
        return;
    if (!of || keeps_has_own(k, path)) {
        of = apr_pcalloc(k->p, sizeof *of);
        APR_ARRAY_PUSH(k->folders, keeps_folder *) = of;
    }
    of->n++;
    k->n++;
    while ((e = readdir(dir)) != NULL) {
        const char *name = apr_pstrcat(k->p, below, "/", e->d_name, NULL);
        struct stat st;

        if (e->d_name[0] == '.' || lstat(apr_pstrcat(k->p, k->root, name, NULL), &st))
            continue;
        if (S_ISDIR(st.st_mode))
            keeps_walk(k, name, of, depth + 1);
        else if (S_ISREG(st.st_mode) && !of->file)
            of->file = name;
    }
    closedir(dir);
}

static void keeps_note(keeps *k, const char *text, int n)
{
    keeps_line *line = (keeps_line *)(void *)k->lines->elts;

    for (int i = 0; i < k->lines->nelts; i++)
        if (!strcmp(line[i].text, text)) {
            line[i].n += n;
            return;
        }
    APR_ARRAY_PUSH(k->lines, keeps_line) = (keeps_line){apr_pstrdup(k->p, text), n};
}

/* Lines of places begin with four blanks. */
static void keeps_ask(keeps *k, const server_rec *s, const keeps_folder *of)
{
    char *said = main_advice_dump(k->p, s, of->file), *line, *last;

    k->asked++;
    for (line = said ? apr_strtok(said, "\n", &last) : NULL; line;
         line = apr_strtok(NULL, "\n", &last))
        if (!strncmp(line, "    ", 4))
            keeps_note(k, line + 4, of->n);
}

static void keeps_look(keeps *k, const server_rec *s)
{
    const core_server_config *conf = ap_get_core_module_config(s->module_config);
    const keeps_folder **of;

    k->root = conf->ap_document_root;
    k->access_name = conf->access_name ? conf->access_name : DEFAULT_ACCESS_FNAME;
    k->folders = apr_array_make(k->p, 8, sizeof(keeps_folder *));
    k->n = 0;
    keeps_walk(k, "", NULL, 0);
    k->all += k->n;
    of = (const keeps_folder **)(void *)k->folders->elts;
    for (int i = 0; i < k->folders->nelts && k->asked < KEEPS_ASKED; i++)
        if (of[i]->file)
            keeps_ask(k, s, of[i]);
}

void main_advice_keeps(apr_pool_t *p, const server_rec *main_server)
{
    keeps k = {.p = p, .lines = apr_array_make(p, 8, sizeof(keeps_line))};
    const keeps_line *line;

    for (const server_rec *s = main_server; s; s = s->next)
        keeps_look(&k, s);
    line = (const keeps_line *)(const void *)k.lines->elts;
    if (k.lines->nelts)
        printf("Lines that keep answers out of memory, of %d %s%s:\n", k.all,
               k.all == 1 ? "folder" : "folders",
               k.asked == KEEPS_ASKED ? ", not all of which were asked about" : "");
    for (int i = 0; i < k.lines->nelts; i++)
        printf("    %s\n        in %d %s\n", line[i].text, line[i].n,
               line[i].n == 1 ? "folder" : "folders");
}
