/* SPDX-License-Identifier: Apache-2.0 */
/* Reading traces, and refusing those that no program could have made. */
#include "membench_trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_HEADER "# brigade-memory-trace 1"
#define TRACE_LINE 256
#define TRACE_REPEAT_MOST 100000

typedef struct trace_reader {
    trace *t;
    const char *path;
    unsigned line;
    int above[TRACE_POOLS]; /* -1: there is no such pool */
    int begins;             /* the line before was r */
} trace_reader;

static int trace_error(const trace_reader *r, const char *what)
{
    fprintf(stderr, "%s:%u: %s\n", r->path, r->line, what);
    return -1;
}

static int trace_add(trace_reader *r, char op, unsigned pool, unsigned long n)
{
    trace *t = r->t;
    trace_op *more;

    if (t->ops_n == t->room) {
        t->room = t->room != 0 ? t->room * 2 : 1024;
        more = realloc(t->ops, t->room * sizeof(*more));
        if (more == NULL)
            return trace_error(r, "out of memory");
        t->ops = more;
    }
    t->ops[t->ops_n++] = (trace_op){(uint32_t)n, (uint8_t)op, (uint8_t)pool};
    return 0;
}

/* Pools below one that ends. */
static void trace_end_below(trace_reader *r, int pool)
{
    int i;

    for (i = 1; i < TRACE_POOLS; i++)
        if (r->above[i] == pool) {
            r->above[i] = -1;
            trace_end_below(r, i);
        }
}

static int trace_pool_line(trace_reader *r, char op, int pool, unsigned long n)
{
    if (op == 'p') {
        if (n >= TRACE_POOLS || r->above[n] < 0)
            return trace_error(r, "the pool above does not exist");
        if (r->above[pool] >= 0)
            return trace_error(r, "this pool exists already");
        r->above[pool] = (int)n;
        return trace_add(r, r->begins ? 'q' : 'p', (unsigned)pool, n);
    }
    if (r->above[pool] < 0)
        return trace_error(r, "there is no such pool");
    if (op == 'd' && pool == 0)
        return trace_error(r, "the connection's pool ends with the file");
    if (op == 'd' || op == 'x')
        trace_end_below(r, pool);
    if (op == 'd')
        r->above[pool] = -1;
    return trace_add(r, op, (unsigned)pool, n);
}

static int trace_block_line(trace_reader *r, char op, int pool, unsigned long n,
                            unsigned long times)
{
    if (times == 0 || times > TRACE_REPEAT_MOST || n > ((unsigned long)1 << 30))
        return trace_error(r, "a number is too large");
    if (op == 'a' && n < sizeof(size_t))
        op = TRACE_SMALL;
    for (; times > 0; times--) {
        if (trace_pool_line(r, op, pool, n) != 0)
            return -1;
        r->t->allocations += op != 'k';
        r->t->bytes += n;
    }
    return 0;
}

static int trace_line(trace_reader *r, const char *line)
{
    unsigned long n = 0, times = 1;
    int pool = 0, taken = 0, wanted;
    char op = line[0];
    const char *rest = line + (op != '\0');

    wanted = op == 'p' || op == 'a' || op == 'z' ? 2 : op == 'k' || op == 'x' || op == 'd' ? 1 : 0;
    if (op == '\0' || strchr("crepazkxd", op) == NULL)
        return trace_error(r, "a line begins with c, r, e, p, a, z, k, x or d");
    if ((wanted >= 1 &&
         (sscanf(rest, " %d%n", &pool, &taken) < 1 || pool < 0 || pool >= TRACE_POOLS)))
        return trace_error(r, "expected the number of a pool, 0 to 63");
    rest += taken;
    taken = 0;
    if (wanted == 2 &&
        (*rest != ' ' || rest[1] < '0' || rest[1] > '9' || sscanf(rest, " %lu%n", &n, &taken) < 1))
        return trace_error(r, "expected a number");
    rest += taken;
    taken = 0;
    if (strchr("azk", op) != NULL && sscanf(rest, " x%lu%n", &times, &taken) == 1)
        rest += taken;
    if (*rest != '\0')
        return trace_error(r, "there is something behind the last number");
    if (op == 'c')
        return r->above[0] < 0 ? (r->above[0] = 0)
                               : trace_error(r, "the connection exists already");
    if (op == 'r')
        r->t->requests++;
    if (wanted == 0)
        return 0;
    return strchr("azk", op) != NULL ? trace_block_line(r, op, pool, n, times)
                                     : trace_pool_line(r, op, pool, n);
}

static int trace_read_lines(trace_reader *r, FILE *file)
{
    char line[TRACE_LINE];

    while (fgets(line, sizeof(line), file) != NULL) {
        r->line++;
        line[strcspn(line, "\r\n")] = '\0';
        if (r->line == 1 && strcmp(line, TRACE_HEADER) != 0)
            return trace_error(r, "this is no memory trace of version 1");
        if (line[0] == '#')
            continue;
        if (trace_line(r, line) != 0)
            return -1;
        r->begins = line[0] == 'r';
    }
    if (r->t->requests == 0 || r->t->allocations == 0)
        return trace_error(r, "there is no request in it, or no allocation");
    return 0;
}

static void trace_name(trace *t, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t n;

    base = base != NULL ? base + 1 : path;
    n = strcspn(base, ".");
    if (n >= sizeof(t->name))
        n = sizeof(t->name) - 1;
    memcpy(t->name, base, n);
    t->name[n] = '\0';
}

int trace_read(trace *t, const char *path)
{
    trace_reader r = {.t = t, .path = path};
    FILE *file = fopen(path, "r");
    int i, failed;

    memset(t, 0, sizeof(*t));
    if (file == NULL) {
        perror(path);
        return -1;
    }
    for (i = 0; i < TRACE_POOLS; i++)
        r.above[i] = -1;
    trace_name(t, path);
    failed = trace_read_lines(&r, file);
    fclose(file);
    if (failed)
        trace_free(t);
    return failed;
}

void trace_free(trace *t)
{
    free(t->ops);
    memset(t, 0, sizeof(*t));
}
