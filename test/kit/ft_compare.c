/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs, compared. */
#include "filter_test.h"
#include "http_main.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some bytes around a place, readable. */
static const char *ft_quote(const ft_bytes *b, apr_size_t at, apr_pool_t *p)
{
    apr_size_t from = at > 12 ? at - 12 : 0, to = at + 20 < b->len ? at + 20 : b->len;
    const char *text = "\"";

    for (apr_size_t i = from; i < to; i++) {
        unsigned char c = (unsigned char)b->data[i];

        if (c == '\n')
            text = apr_pstrcat(p, text, "\\n", NULL);
        else if (apr_isprint(c) && c != '"' && c != '\\')
            text = apr_psprintf(p, "%s%c", text, c);
        else
            text = apr_psprintf(p, "%s\\x%02x", text, c);
    }
    return apr_pstrcat(p, text, "\"", NULL);
}

const char *ft_compare(const ft_run *run, const ft_bytes *expected)
{
    const ft_bytes *got = &run->out;
    apr_pool_t *p = ap_pglobal;
    apr_size_t n = got->len < expected->len ? got->len : expected->len, at = 0;

    while (at < n && got->data[at] == expected->data[at])
        at++;
    if (at == n && got->len == expected->len)
        return NULL;
    if (at < got->len && (unsigned char)got->data[at] == run->in->poison && run->lent->nalloc &&
        !(at < expected->len && (unsigned char)expected->data[at] == run->in->poison))
        return apr_psprintf(
            p,
            "transient data was kept without being set aside (ap_save_brigade): byte "
            "%" APR_SIZE_T_FMT " of the output is no longer what it was",
            at);
    if (at == n)
        return apr_psprintf(
            p, "the output has %" APR_SIZE_T_FMT " bytes and not %" APR_SIZE_T_FMT ": it %s %s",
            got->len, expected->len, got->len < expected->len ? "ends at" : "goes on at",
            ft_quote(got->len < expected->len ? expected : got, at, p));
    return apr_psprintf(p, "the output differs at byte %" APR_SIZE_T_FMT ": %s and not %s", at,
                        ft_quote(got, at, p), ft_quote(expected, at, p));
}

/* ---- --through ---- */

static void ft_through_feed(const ft_bytes *b, int fd)
{
    apr_size_t at = 0;
    ssize_t n;

    while (at < b->len && (n = write(fd, b->data + at, b->len - at)) > 0)
        at += (apr_size_t)n;
    _exit(0);
}

static void ft_through_exec(const char *command, int in, int out)
{
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void ft_bytes_through(ft_bytes *b, const char *command)
{
    ft_bytes result = {NULL, 0, 0};
    int to[2], from[2], status = 0;
    char piece[65536];
    pid_t feeder, program;
    ssize_t n;

    if (pipe(to) < 0 || pipe(from) < 0)
        ft_usage("no pipes for --through");
    if ((program = fork()) == 0)
        ft_through_exec(command, to[0], from[1]);
    if ((feeder = fork()) == 0) {
        close(to[0]);
        ft_through_feed(b, to[1]);
    }
    close(to[0]);
    close(to[1]);
    close(from[1]);
    while ((n = read(from[0], piece, sizeof piece)) > 0)
        ft_bytes_add(&result, piece, (apr_size_t)n);
    close(from[0]);
    waitpid(feeder, NULL, 0);
    waitpid(program, &status, 0);
    if (status) /* the output is not what the program takes: that is to be seen */
        ft_bytes_add(&result, "[--through failed]", 18);
    free(b->data);
    *b = result;
}
