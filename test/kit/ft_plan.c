/* SPDX-License-Identifier: Apache-2.0 */
/* In which pieces the input is sent: the groups of runs. */
#include "filter_test.h"
#include "apr_strings.h"

/* Inputs up to this are cut at every byte; of longer ones so many places are chosen, unless --all.
 */
#define FT_CUT_ALL 2048
#define FT_CUT_SPREAD 768
#define FT_BYTES_MOST 8192 /* of a long input: its first bytes, the rest in one */

static uint64_t lots;

void ft_seed(uint64_t seed, const char *group, int number)
{
    lots = seed * 0x9e3779b97f4a7c15u + (uint64_t)number;
    for (; *group; group++)
        lots = lots * 1099511628211u + (unsigned char)*group;
}

/* splitmix64 */
uint64_t ft_random(uint64_t below)
{
    uint64_t z = (lots += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return below ? z % below : 0;
}

/* ---- steps ---- */

static void ft_add(ft_plan *plan, ft_step_kind kind, ft_type type, apr_size_t at, apr_size_t len)
{
    ft_step *step = apr_array_push(plan->steps);

    *step = (ft_step){.kind = kind, .type = type, .at = at, .len = len};
}

static void ft_data(ft_plan *plan, ft_type type, apr_size_t at, apr_size_t len)
{
    if (len)
        ft_add(plan, FT_DATA, type, at, len);
}

static void ft_mark(ft_plan *plan, ft_step_kind kind)
{
    ft_add(plan, kind, FT_IMMORTAL, 0, 0);
}

static void ft_end(ft_plan *plan)
{
    ft_mark(plan, FT_EOS);
    ft_mark(plan, FT_PASS);
}

/* ---- whole: what the others are compared with ---- */

static int ft_whole_runs(const ft_options *o, const ft_input *in)
{
    return 2; /* twice: does it give the same for the same? */
}

static void ft_whole(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    ft_data(plan, FT_HEAP, 0, in->len);
    ft_end(plan);
    plan->keep = !number; /* what is not destroyed at once is known again when it comes twice */
}

/* ---- cut: two pieces, at every offset ---- */

static int ft_cut_all(const ft_options *o, const ft_input *in)
{
    return o->all || in->len <= FT_CUT_ALL;
}

static int ft_cut_runs(const ft_options *o, const ft_input *in)
{
    return 2 * (int)(ft_cut_all(o, in) ? in->len + 1 : FT_CUT_SPREAD);
}

/* Of long inputs: the first bytes and the last, both sides of the sizes that buffers have, and
 * others by lot. */
static apr_size_t ft_cut_place(const ft_options *o, const ft_input *in, int place)
{
    static const apr_size_t sizes[] = {512,  1024,  2048,  4096,  8000,   8192,
                                       9000, 16384, 32768, 65536, 131072, 1048576};
    apr_size_t sizes_n = 3 * sizeof sizes / sizeof *sizes, at = (apr_size_t)place;

    if (ft_cut_all(o, in) || at < 64)
        return at;
    if ((at -= 64) < 64)
        return in->len - at;
    if ((at -= 64) < sizes_n && sizes[at / 3] < in->len)
        return sizes[at / 3] + at % 3 - 1;
    return (apr_size_t)ft_random(in->len);
}

static void ft_cut(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    apr_size_t at = ft_cut_place(o, in, number / 2);
    ft_type type = (ft_type)(number / 2 % FT_TYPES);

    if (number % 2) /* what the first call leaves behind is a matter of brigades only */
        type = number / 2 % 3 ? FT_TRANSIENT : type;
    ft_data(plan, type, 0, at);
    if (number % 2)
        ft_mark(plan, FT_PASS);
    ft_data(plan, type, at, in->len - at);
    ft_end(plan);
    plan->keep = number / 2 % 4 == 1;
}

/* ---- bytes: buckets of one byte ---- */

static int ft_bytes_runs(const ft_options *o, const ft_input *in)
{
    return in->len ? 5 : 0;
}

static void ft_single(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    static const ft_type types[] = {FT_HEAP, FT_TRANSIENT, FT_HEAP, FT_TRANSIENT, FT_TRANSIENT};
    apr_size_t n = in->len > FT_BYTES_MOST && !o->all ? FT_BYTES_MOST : in->len;

    for (apr_size_t i = 0; i < n; i++) {
        ft_data(plan, types[number], i, 1);
        if (number == 4 && !o->no_flush)
            ft_mark(plan, FT_FLUSH);
        if (number >= 2)
            ft_mark(plan, FT_PASS);
    }
    ft_data(plan, types[number], n, in->len - n);
    ft_end(plan);
    plan->keep = number % 2;
}

/* ---- types: the whole as each type of bucket ---- */

static int ft_types_runs(const ft_options *o, const ft_input *in)
{
    return 4 * FT_TYPES;
}

static void ft_types(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    ft_data(plan, (ft_type)(number % FT_TYPES), 0, in->len);
    plan->keep = number / FT_TYPES % 2;
    if (number / FT_TYPES / 2) /* EOS in a brigade of its own */
        ft_mark(plan, FT_PASS);
    ft_end(plan);
}

/* ---- empty: what holds no data ---- */

enum { FT_EMPTY_RUNS = 8 };

static int ft_empty_runs(const ft_options *o, const ft_input *in)
{
    return FT_EMPTY_RUNS;
}

static void ft_empty(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    apr_size_t half = in->len / 2;

    if (number == 0) { /* nothing but the end */
        plan->other_input = 1;
        ft_end(plan);
        return;
    }
    if (number == 1 || number == 7)
        ft_add(plan, FT_EMPTY, FT_IMMORTAL, 0, 0);
    if (number == 2 || number == 7) /* an empty brigade */
        ft_mark(plan, FT_PASS);
    if ((number == 3 || number == 7) && !o->no_flush) {
        ft_mark(plan, FT_FLUSH);
        ft_mark(plan, FT_PASS);
    }
    if ((number == 4 || number == 7) && !o->no_metadata) {
        ft_mark(plan, FT_META);
        ft_mark(plan, FT_PASS);
    }
    ft_data(plan, FT_TRANSIENT, 0, half);
    if (number >= 5) {
        ft_add(plan, FT_EMPTY, FT_HEAP, 0, 0);
        ft_mark(plan, FT_PASS);
        ft_add(plan, FT_EMPTY, FT_TRANSIENT, 0, 0);
        ft_mark(plan, FT_PASS);
    }
    ft_data(plan, FT_TRANSIENT, half, in->len - half);
    if (number >= 6)
        ft_add(plan, FT_EMPTY, FT_POOL, 0, 0);
    ft_end(plan);
}

/* ---- random, errors: lots ---- */

static int ft_random_runs(const ft_options *o, const ft_input *in)
{
    return o->runs;
}

/* Mostly short pieces, sometimes long ones. */
static apr_size_t ft_piece(apr_size_t left)
{
    static const unsigned most[] = {2, 8, 64, 512, 4096, 9000, 70000};
    apr_size_t n = 1 + (apr_size_t)ft_random(most[ft_random(7)]);

    return n < left && ft_random(16) ? n : left;
}

static void ft_between(ft_plan *plan, const ft_options *o, unsigned pass)
{
    if (!ft_random(6))
        ft_add(plan, FT_EMPTY, (ft_type)ft_random(FT_POOL + 1), 0, 0);
    if (!ft_random(8) && !o->no_flush)
        ft_mark(plan, FT_FLUSH);
    if (!ft_random(8) && !o->no_metadata)
        ft_mark(plan, FT_META);
    if (!ft_random(pass))
        ft_mark(plan, FT_PASS);
}

static void ft_lots(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    unsigned pass = 1 + (unsigned)ft_random(8);
    int only = ft_random(3) ? -1 : (int)ft_random(FT_TYPES);
    apr_size_t len;

    ft_between(plan, o, pass);
    for (apr_size_t at = 0; at < in->len; at += len) {
        /* Not more than some thousands. */
        len = plan->steps->nelts < 5000 ? ft_piece(in->len - at) : in->len - at;
        ft_data(plan, (ft_type)(only >= 0 ? only : (int)ft_random(FT_TYPES)), at, len);
        ft_between(plan, o, pass);
    }
    ft_end(plan);
    plan->keep = (int)ft_random(2);
}

static void ft_errors(ft_plan *plan, const ft_options *o, const ft_input *in, int number)
{
    static const apr_status_t errors[] = {APR_ECONNABORTED, APR_EGENERAL, APR_EPIPE, APR_TIMEUP};

    ft_lots(plan, o, in, number);
    plan->fail_at = 1 + number % 4 + (int)ft_random(1 + (uint64_t)number % 8);
    plan->fail_leaves = number % 2;
    plan->error = errors[number / 2 % 4];
}

const ft_group ft_groups[] = {
    {"whole", "all in one bucket, twice", ft_whole_runs, ft_whole},
    {"cut", "two buckets, and two brigades, cut at every place", ft_cut_runs, ft_cut},
    {"bytes", "buckets of one byte", ft_bytes_runs, ft_single},
    {"types", "all in one bucket of each type", ft_types_runs, ft_types},
    {"empty", "brigades and buckets without data", ft_empty_runs, ft_empty},
    {"random", "random pieces, types, brigades, FLUSH and other metadata", ft_random_runs, ft_lots},
    {"errors", "the same, and the next filter fails", ft_random_runs, ft_errors},
    {NULL, NULL, NULL, NULL}};

void ft_plan_make(ft_plan *plan, apr_pool_t *p, const ft_group *g, const ft_options *o,
                  const ft_input *in, int number)
{
    *plan = (ft_plan){.steps = apr_array_make(p, 16, sizeof(ft_step))};
    ft_seed(o->seed, g->name, number);
    g->make(plan, o, in, number);
}

/* ---- in words ---- */

const char *ft_type_name(int type)
{
    static const char *const names[] = {"HEAP", "TRANSIENT", "IMMORTAL", "POOL",
                                        "FILE", "MMAP",      "UNKNOWN"};

    return names[type];
}

static const char *ft_step_text(const ft_step *step, apr_pool_t *p)
{
    switch (step->kind) {
    case FT_DATA:
        return apr_psprintf(p, " %s %" APR_SIZE_T_FMT "+%" APR_SIZE_T_FMT, ft_type_name(step->type),
                            step->at, step->len);
    case FT_EMPTY:
        return apr_psprintf(p, " %s(empty)", ft_type_name(step->type));
    case FT_FLUSH:
        return " FLUSH";
    case FT_META:
        return " METADATA";
    case FT_EOS:
        return " EOS";
    default:
        return " |";
    }
}

const char *ft_plan_text(const ft_plan *plan, apr_pool_t *p)
{
    const int most = 14;
    const char *text = "";

    for (int i = 0; i < plan->steps->nelts && i < most; i++)
        text = apr_pstrcat(p, text, ft_step_text(&APR_ARRAY_IDX(plan->steps, i, ft_step), p), NULL);
    if (plan->steps->nelts > most)
        text = apr_psprintf(p, "%s ... (%d steps)", text, plan->steps->nelts);
    if (plan->keep)
        text = apr_pstrcat(p, text, "; the next filter sets aside", NULL);
    if (plan->fail_at)
        text = apr_psprintf(p, "%s; the next filter fails in call %d%s", text, plan->fail_at,
                            plan->fail_leaves ? " and leaves the brigade" : "");
    return text + (*text == ' ');
}
