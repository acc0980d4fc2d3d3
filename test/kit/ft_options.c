/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of brigade-filter-test. */
#include "filter_test.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_getopt.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FT_SEED = 256,
    FT_ONLY,
    FT_RUNS,
    FT_ALL,
    FT_INPUT,
    FT_INSERT,
    FT_NO_FLUSH,
    FT_NO_METADATA,
    FT_NO_LENGTH,
    FT_LEFTOVERS,
    FT_NO_FORK,
    FT_THROUGH,
    FT_TIMEOUT,
    FT_VERSION
};

static const apr_getopt_option_t ft_letters[] = {
    {"directive", 'c', 1, "a line of configuration (repeat it for more)"},
    {"before", 'C', 1, "a line of configuration that is read before the module is loaded"},
    {"header", 'H', 1, "'Name: value' of the request (repeat it for more)"},
    {"type", 't', 1, "content type of the response (text/html)"},
    {"method", 'm', 1, "method of the request (GET)"},
    {"uri", 'u', 1, "target of the request (/filter-test)"},
    {"log-level", 'e', 1, "level of the server's messages (warn)"},
    {"verbose", 'v', 0, "say for each run what it sends"},
    {"seed", FT_SEED, 1, "of what is drawn by lot (1)"},
    {"only", FT_ONLY, 1, "GROUP or GROUP:NUMBER: these runs alone"},
    {"runs", FT_RUNS, 1, "of the groups that draw lots (300)"},
    {"all", FT_ALL, 0, "cut long inputs at every byte too"},
    {"input", FT_INPUT, 0, "NAME is an input filter"},
    {"insert", FT_INSERT, 0, "the module inserts the filter itself (its insert_filter hook)"},
    {"no-flush", FT_NO_FLUSH, 0, "send no FLUSH buckets: the output may depend on them"},
    {"no-metadata", FT_NO_METADATA, 0, "send no metadata but FLUSH and EOS"},
    {"no-length", FT_NO_LENGTH, 0, "do not check Content-Length"},
    {"leftovers", FT_LEFTOVERS, 0, "the filter may leave buckets in the brigade that it was given"},
    {"no-fork", FT_NO_FORK, 0, "all in one process, for a debugger"},
    {"through", FT_THROUGH, 1, "a command through which outputs go before they are compared"},
    {"timeout", FT_TIMEOUT, 1, "seconds that one group may take (120)"},
    {"version", FT_VERSION, 0, "print the version"},
    {"help", 'h', 0, "print this"},
    {NULL, 0, 0, NULL}};

void ft_usage(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("brigade-filter-test: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

static void ft_help(FILE *out)
{
    fprintf(out, "Usage: brigade-filter-test [options] MODULE.so FILTER < input\n"
                 "       brigade-filter-test [options] builtin FILTER < input\n");
    for (const apr_getopt_option_t *o = ft_letters; o->name; o++) {
        char letter[] = {'-', o->optch < 256 ? (char)o->optch : ' ', ',', '\0'};

        fprintf(out, "  %s --%-12s %s %s\n", o->optch < 256 ? letter : "   ", o->name,
                o->has_arg ? "X" : " ", o->description);
    }
}

static uint64_t ft_number(const char *text, const char *what)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (!apr_isdigit(*text) || *end)
        ft_usage("--%s takes a number, not \"%s\"", what, text);
    return n;
}

/* As a request has them: letters, digits and hyphens, a colon, a value in one line. */
static const char *ft_header(const char *arg)
{
    if (strspn(arg, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == 0 ||
        !strchr(arg, ':') || strpbrk(arg, "\r\n"))
        ft_usage("-H takes 'Name: value', not \"%s\"", arg);
    return arg;
}

static void ft_option_long(ft_options *o, int c, const char *arg)
{
    switch (c) {
    case FT_VERSION:
        puts("brigade-filter-test " BRIGADE_VERSION);
        exit(0);
    case FT_SEED:
        o->seed = ft_number(arg, "seed");
        break;
    case FT_ONLY:
        o->only = arg;
        break;
    case FT_RUNS:
        o->runs = (int)ft_number(arg, "runs");
        break;
    case FT_ALL:
        o->all = 1;
        break;
    case FT_INPUT:
        o->input = 1;
        break;
    case FT_INSERT:
        o->insert = 1;
        break;
    case FT_NO_FLUSH:
        o->no_flush = 1;
        break;
    case FT_NO_METADATA:
        o->no_metadata = 1;
        break;
    case FT_NO_LENGTH:
        o->no_length = 1;
        break;
    case FT_LEFTOVERS:
        o->leftovers = 1;
        break;
    case FT_NO_FORK:
        o->no_fork = 1;
        break;
    case FT_THROUGH:
        o->through = arg;
        break;
    case FT_TIMEOUT:
        o->seconds = (int)ft_number(arg, "timeout");
        break;
    }
}

static void ft_option(ft_options *o, int c, const char *arg)
{
    const char *error;

    switch (c) {
    case 'c':
        APR_ARRAY_PUSH(ap_server_post_read_config, const char *) = arg;
        break;
    case 'C':
        APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = arg;
        break;
    case 'H':
        APR_ARRAY_PUSH(o->headers, const char *) = ft_header(arg);
        break;
    case 't':
        o->content_type = arg;
        break;
    case 'm':
        o->method = arg;
        break;
    case 'u':
        o->uri = arg;
        break;
    case 'e':
        if ((error = ap_parse_log_level(arg, &ap_default_loglevel)) != NULL)
            ft_usage("-e: %s", error);
        break;
    case 'v':
        o->verbose = 1;
        break;
    case 'h':
        ft_help(stdout);
        exit(0);
    default:
        ft_option_long(o, c, arg);
    }
}

static void ft_check_only(const ft_options *o)
{
    apr_size_t len = o->only ? strcspn(o->only, ":") : 0;

    for (const ft_group *g = ft_groups; o->only; g++) {
        if (!g->name)
            ft_usage("--only: there is no group \"%s\"", o->only);
        if (strlen(g->name) == len && !strncmp(g->name, o->only, len))
            break;
    }
    if (o->only && o->only[len])
        (void)ft_number(o->only + len + 1, "only GROUP:NUMBER");
}

void ft_options_read(process_rec *process, ft_options *o)
{
    apr_getopt_t *opt;
    const char *arg;
    apr_status_t rv;
    int c;

    o->headers = apr_array_make(process->pool, 4, sizeof(const char *));
    o->method = "GET";
    o->uri = "/filter-test";
    o->content_type = "text/html";
    o->runs = 300;
    o->seconds = 120;
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "ServerName localhost";
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "TypesConfig /dev/null";
    if (geteuid() == 0)
        APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "User nobody";
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "ErrorLog /dev/stderr";
    apr_getopt_init(&opt, process->pool, process->argc, process->argv);
    opt->interleave = 1;
    while ((rv = apr_getopt_long(opt, ft_letters, &c, &arg)) == APR_SUCCESS)
        ft_option(o, c, arg);
    if (!APR_STATUS_IS_EOF(rv) || process->argc - opt->ind != 2) {
        ft_help(stderr);
        exit(2);
    }
    o->module = opt->argv[opt->ind];
    o->filter = opt->argv[opt->ind + 1];
    if (o->uri[0] != '/')
        ft_usage("-u takes a path that begins with a slash, not \"%s\"", o->uri);
    ft_check_only(o);
}
