/* SPDX-License-Identifier: Apache-2.0 */
/* The standard input, and runs of input filters: the plan is what they read from, and they are
 * asked for all of it. */
#include "filter_test.h"
#include "apr_strings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Calls that give nothing, one after the other. */
#define FT_NOTHING_MOST 10000

/* ---- standard input ---- */

static int ft_unused_byte(const ft_bytes *b)
{
    for (int byte = 0xdb; byte >= 0; byte--)
        if (!b->len || !memchr(b->data, byte, b->len))
            return byte;
    return 0xdb;
}

void ft_input_read(process_rec *process, ft_input *in)
{
    char piece[65536];
    ft_bytes all = {NULL, 0, 0};
    size_t n;
    int fd;

    if (isatty(STDIN_FILENO))
        fprintf(stderr, "reading the input from the terminal, up to ctrl-D\n");
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
        ft_bytes_add(&all, piece, n);
    fd = memfd_create("input", 0);
    if (ferror(stdin) || fd < 0 || (all.len && write(fd, all.data, all.len) != (ssize_t)all.len))
        ft_usage("the input cannot be read, or not be copied");
    in->path = apr_psprintf(process->pool, "/proc/self/fd/%d", fd);
    in->data = apr_pmemdup(process->pool, all.len ? all.data : "", all.len + !all.len);
    in->len = all.len;
    in->poison = (unsigned char)ft_unused_byte(&all);
    free(all.data);
}

/* ---- input filters ---- */

static void ft_input_take(ft_run *run, apr_bucket_brigade *bb, apr_off_t most)
{
    const char *data;
    apr_size_t len, before = run->out.len;

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        if (APR_BUCKET_IS_EOS(b) && run->eos_out++)
            ft_wrong(run, "EOS twice");
        if (APR_BUCKET_IS_METADATA(b))
            continue;
        if (run->eos_out)
            ft_wrong(run, "data after EOS (%s bucket)", b->type->name);
        if (apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
            ft_wrong(run, "a %s bucket that was returned cannot be read", b->type->name);
        else
            ft_bytes_add(&run->out, data, len);
    }
    if (run->out.len - before > (apr_size_t)most)
        ft_wrong(run, "returned %" APR_SIZE_T_FMT " bytes where %" APR_OFF_T_FMT " were asked for",
                 run->out.len - before, most);
}

/* @return 1 if there may be more */
static int ft_input_result(ft_run *run, apr_bucket_brigade *bb, apr_status_t rv,
                           apr_read_type_e block)
{
    char text[120];

    if (APR_STATUS_IS_EAGAIN(rv) && block == APR_NONBLOCK_READ)
        return 1;
    if (rv == APR_SUCCESS && run->sink_failed && APR_BRIGADE_EMPTY(bb))
        ft_wrong(
            run,
            "the filter returned APR_SUCCESS and nothing although what it reads from had failed");
    else if (rv != APR_SUCCESS && !run->sink_failed)
        ft_wrong(run, "the filter returned %d (%s)", rv, apr_strerror(rv, text, sizeof text));
    return rv == APR_SUCCESS && !run->sink_failed;
}

void ft_run_input(ft_run *run)
{
    apr_bucket_brigade *bb = apr_brigade_create(run->pool, run->c->bucket_alloc);
    ap_filter_t *first =
        run->filter->ftype < AP_FTYPE_CONNECTION ? run->r->input_filters : run->c->input_filters;
    int whole = run->plan->steps->nelts <= 3, nothing = 0, more = 1;

    while (more && !run->trouble && !run->eos_out) {
        apr_read_type_e block = whole || ft_random(4) ? APR_BLOCK_READ : APR_NONBLOCK_READ;
        apr_off_t most = whole ? 8192 : 1 + (apr_off_t)ft_random(ft_random(2) ? 20 : 9000);
        apr_status_t rv = ap_get_brigade(first, bb, AP_MODE_READBYTES, block, most);

        nothing = APR_BRIGADE_EMPTY(bb) ? nothing + 1 : 0;
        if (nothing > FT_NOTHING_MOST)
            ft_wrong(run, "returns nothing for ever, neither data nor EOS");
        more = ft_input_result(run, bb, rv, block);
        ft_input_take(run, bb, most);
        if (!run->trouble)
            apr_brigade_cleanup(bb);
        ft_lent_withdraw(run); /* what was returned is good until the next call */
    }
    if (!run->sink_failed && !run->eos_out)
        ft_wrong(run, "EOS missing");
}
