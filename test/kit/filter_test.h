/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTER_TEST_H
#define BRIGADE_FILTER_TEST_H

/**
 * @file filter_test.h
 * The parts of brigade-filter-test.
 *
 * A *run* sends the input through a fresh instance of the filter in the way that a *plan* says, and
 * checks what the next filter gets. Runs are grouped ("cut", "random" ...); a plan follows from the
 * input, the group, the run's number and the seed alone, so that "--seed S --only GROUP:NUMBER"
 * repeats a run. Each group runs in a process of its own. Threads: one.
 */
#include "filter_check.h"
#include "httpd.h"
#include "util_filter.h"
#include "apr_buckets.h"
#include <stdint.h>

/* ---- what is tested, and how ---- */

typedef struct ft_options {
    const char *module; /**< path, or "builtin" for a filter that is built in */
    const char *filter;
    apr_array_header_t *headers; /**< of const char *: "Name: value" */
    const char *method, *uri, *content_type, *through, *only;
    uint64_t seed;
    int runs;    /**< of the groups that draw lots */
    int seconds; /**< that one group may take */
    int input, all, insert, no_flush, no_metadata, no_fork, no_length, leftovers, verbose;
} ft_options;

/** The command line; ends the program with status 2 if it is wrong. Directives go where the
 * configuration is read from. */
void ft_options_read(process_rec *process, ft_options *options);

/** Read the configuration with the module in it. Ends the program with status 2 if that fails. */
void ft_server_start(process_rec *process, ft_options *options);

/** The filter's record; ends the program with status 2, naming those that there are, if it has
 * none. */
ap_filter_rec_t *ft_filter_find(const ft_options *options);

/** Say why and end the program with status 2. */
void ft_usage(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- the input ---- */

typedef struct ft_input {
    const char *data;
    apr_size_t len;
    const char *path;     /**< a file with the same bytes */
    unsigned char poison; /**< what transient data becomes after the call: if possible a byte that
                             the input has not */
} ft_input;

void ft_input_read(process_rec *process, ft_input *in);

/* ---- plans ---- */

typedef enum ft_type {
    FT_HEAP,
    FT_TRANSIENT,
    FT_IMMORTAL,
    FT_POOL,
    FT_FILE,
    FT_MMAP,
    FT_UNKNOWN, /**< a length that is only known when it was read, as of a pipe */
    FT_TYPES
} ft_type;

typedef enum ft_step_kind { FT_DATA, FT_EMPTY, FT_FLUSH, FT_META, FT_EOS, FT_PASS } ft_step_kind;

typedef struct ft_step {
    ft_step_kind kind;
    ft_type type;       /**< of FT_DATA and FT_EMPTY */
    apr_size_t at, len; /**< of FT_DATA */
} ft_step;

typedef struct ft_plan {
    apr_array_header_t *steps; /**< of ft_step */
    int keep;                  /**< the next filter sets data aside and looks at it at the end */
    int fail_at;               /**< the call in which the next filter fails; 0: in none */
    int fail_leaves;           /**< and leaves the brigade as it is */
    int other_input;           /**< does not send all of the input: nothing to compare with */
    apr_status_t error;
} ft_plan;

typedef struct ft_group {
    const char *name, *what;
    int (*runs)(const ft_options *o, const ft_input *in);
    void (*make)(ft_plan *plan, const ft_options *o, const ft_input *in, int number);
} ft_group;

/** Ends with a group without a name. The first is the one that the others are compared with. */
extern const ft_group ft_groups[];

void ft_plan_make(ft_plan *plan, apr_pool_t *p, const ft_group *g, const ft_options *o,
                  const ft_input *in, int number);

/** "2 brigades: TRANSIENT 0+17 | TRANSIENT 17+40 EOS", shortened; in @a p. */
const char *ft_plan_text(const ft_plan *plan, apr_pool_t *p);

const char *ft_type_name(int type);

/* Lots: the same for the same seed. */
void ft_seed(uint64_t seed, const char *group, int number);
uint64_t ft_random(uint64_t below);

/* ---- a run ---- */

typedef struct ft_bytes {
    char *data;
    apr_size_t len, room;
} ft_bytes;

typedef struct ft_run {
    const ft_options *options;
    const ft_input *in;
    const ft_plan *plan;
    ap_filter_rec_t *filter;
    apr_pool_t *pool; /**< the connection's */
    conn_rec *c;
    request_rec *r;

    apr_array_header_t *lent;  /**< of ft_lent: data that is withdrawn after the call */
    apr_array_header_t *pools; /**< of apr_pool_t *: the same for pools */
    apr_file_t *file;          /**< of input->path, opened when needed */

    apr_array_header_t *kept; /**< of apr_bucket *: what the next filter set aside */
    ft_bytes out;
    int sink_calls, sink_failed;
    int flush_in, flush_out, meta_in, meta_out, eos_in, eos_out;
    const char *trouble; /**< the first thing that is wrong, or NULL */
} ft_run;

typedef struct ft_lent {
    char *data;
    apr_size_t len;
} ft_lent;

/** Note what is wrong, unless something is already. */
void ft_wrong(ft_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Blocks and metadata buckets that were made and not destroyed yet. */
extern int ft_live_blocks, ft_live_meta;

void ft_bytes_add(ft_bytes *b, const char *data, apr_size_t len);

/** A bucket as the step says. */
apr_bucket *ft_bucket_make(ft_run *run, const ft_step *step);
int ft_bucket_is_meta(const apr_bucket *b);

/** Withdraw what was lent for the length of one call. */
void ft_lent_withdraw(ft_run *run);

/** Free it, when the run is over. */
void ft_lent_free(ft_run *run);

/** Register the filters that stand at both ends. */
void ft_ends_register(void);
void ft_ends_add(ft_run *run);

/** What the next filter kept is read and destroyed. */
void ft_sink_finish(ft_run *run);

/** One run in the pool @a p: run->out (malloc) and run->trouble are set. */
void ft_run_plan(ft_run *run, apr_pool_t *p);
void ft_run_output(ft_run *run);
void ft_run_input(ft_run *run);

/** What is the first difference between two outputs? NULL if there is none. */
const char *ft_compare(const ft_run *run, const ft_bytes *expected);

/** The output of a program that is given @a b. */
void ft_bytes_through(ft_bytes *b, const char *command);

/**
 * What server/filter_check.h finds is wrong with the run that is under way. Where it cannot go on,
 * tells and ends the group's process.
 */
void ft_check_told(conn_rec *c, filter_check_weight weight, const char *message);

/** All groups; prints. @return the exit status */
int ft_groups_run(const ft_options *o, const ft_input *in, ap_filter_rec_t *filter);

#endif
