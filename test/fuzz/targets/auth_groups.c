/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of users, from text files and from values of DBM files. The first line of the input is a user, the rest is the file, and the
 * value.
 * Covers: modules/auth/auth_lines.c modules/auth/auth_dbm.c
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "auth_dbm.h"
#include "auth_lines.h"
#include "test_request.h"
#include "apr_general.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static apr_table_t *groups_in(request_rec *r, const char *before, const char *text,
                              const char *behind)
{
    const char *parts[] = {before, text, behind};
    const int fd = memfd_create("groups", MFD_CLOEXEC);
    apr_table_t *groups = NULL;

    for (int i = 0; i < 3; i++)
        check(write(fd, parts[i], strlen(parts[i])) == (ssize_t)strlen(parts[i]));
    check(!auth_lines_groups(r, apr_psprintf(r->pool, "/proc/self/fd/%d", fd), &groups) && groups);
    close(fd);
    return groups;
}

static int group_is_right(void *text, const char *name, const char *value)
{
    const size_t len = strlen(name);

    check(!strcmp(value, "in") && !strchr(name, ':'));
    check(!len || !apr_isspace(name[len - 1]));
    check(memchr(text, '\\', strlen(text)) || strstr(text, name));
    return 1;
}

static void check_file(request_rec *r, char *text)
{
    const char *user = r->user;
    apr_table_t *groups = groups_in(r, "", text, ""), *more;

    apr_table_do(group_is_right, text, groups, NULL);
    more = groups_in(r, "#others: joe\nothers: joe\n\n", text, "");
    check(apr_table_elts(more)->nelts >= apr_table_elts(groups)->nelts);
    if (!*user || strpbrk(user, "\"'\\ \t\v\f\r") || strchr(text, '\\'))
        return; /* several words; a line that goes on in the next one */
    more = groups_in(r, "", text, apr_pstrcat(r->pool, "\n\nmine : joe ", user, "\n", NULL));
    check(apr_table_get(more, "mine") != NULL);
    check(apr_is_empty_table(groups) || strstr(text, user));
}

static void check_value(apr_pool_t *p, const char *name, const char *text)
{
    const char *groups = auth_dbm_groups(apr_pstrdup(p, text));
    int has;

    check(!auth_dbm_groups(NULL) && !strchr(groups, ':') && strstr(text, groups));
    has = auth_dbm_has(p, groups, name);
    check(!has || (strstr(groups, name) && !strchr(name, ',')));
    if (*name && !strpbrk(name, ",:"))
        check(auth_dbm_has(p, apr_pstrcat(p, groups, ",", name, NULL), name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_pool_t *p;
    char *user, *text;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    apr_pool_create(&p, root);
    user = apr_pstrmemdup(p, (const char *)data, size);
    if ((text = strchr(user, '\n')) != NULL) {
        request_rec *r = test_request(p);

        *text++ = '\0';
        r->user = user;
        check_file(r, text);
        check_value(p, user, text);
    }
    apr_pool_destroy(p);
    return 0;
}
