/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Password files. The first line of the input is a user, with a tab and a realm behind it or without; the rest is the file. A hash
 * stands in a line that begins with the user, and a file with an empty line more says the same.
 * Covers: modules/auth/auth_lines.c
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "auth_lines.h"
#include "test_request.h"
#include "apr_general.h"
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

static int file_of(const char *text, size_t len, const char *more)
{
    const int fd = memfd_create("lines", MFD_CLOEXEC);

    check(fd >= 0 && write(fd, more, strlen(more)) == (ssize_t)strlen(more));
    check(write(fd, text, len) == (ssize_t)len);
    return fd;
}

static auth_line found_in(request_rec *r, const char *text, size_t len, const char *more,
                          const char *user, const char *realm)
{
    const int fd = file_of(text, len, more);
    auth_line line = {NULL, NULL};

    check(!auth_lines_find(r, apr_psprintf(r->pool, "/proc/self/fd/%d", fd), user, realm, &line));
    close(fd);
    return line;
}

static int is_same(const char *a, const char *b)
{
    return !a == !b && (!a || !strcmp(a, b));
}

static void check_lines(request_rec *r, char *first, const char *text, size_t len)
{
    char *realm = strchr(first, '\t');
    auth_line line, again;

    if (realm)
        *realm++ = '\0';
    line = found_in(r, text, len, "", first, realm);
    again = found_in(r, text, len, "\n#joe:x\n", first, realm);
    check(is_same(line.hash, again.hash) && is_same(line.like, again.like));
    check(!line.hash || (!strchr(line.hash, ':') && memmem(text, len, first, strlen(first))));
    if (memchr(text, '\\', len)) /* lines that go on in the next one */
        return;
    check(!line.hash || memmem(text, len, line.hash, strlen(line.hash)));
    check(!line.like || (*line.like && memmem(text, len, line.like, strlen(line.like))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static apr_pool_t *root;
    apr_pool_t *p;
    char *text, *newline;

    if (!root && (apr_initialize() || apr_pool_create(&root, NULL)))
        abort();
    apr_pool_create(&p, root);
    text = apr_pstrmemdup(p, (const char *)data, size);
    if ((newline = memchr(text, '\n', size)) != NULL) {
        *newline++ = '\0';
        check_lines(test_request(p), text, newline, size - (size_t)(newline - text));
    }
    apr_pool_destroy(p);
    return 0;
}
