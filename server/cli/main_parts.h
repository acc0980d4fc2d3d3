/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CLI_MAIN_PARTS_H
#define BRIGADE_CLI_MAIN_PARTS_H

/**
 * @file main_parts.h
 * The parts of the program's start, as main() calls them. All on the main thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "mpm_settings.h"

#include <stdio.h>

/** Options of the command line, beside those of http_main.h. */
typedef struct main_options {
    const char *root;         /**< -d, or where the program lies */
    const char *confname;     /**< -f; relative to root */
    int settings;             /**< -V: once the configuration says which process model there is */
    const char *tried;        /**< with -D DUMP_CACHE: the URL behind the options; else NULL */
    const char *about;        /**< with -L: the name, or the words, behind the options; else NULL */
    const char *const *named; /**< with -k purge and its like: the words behind the options */
    int named_n;
} main_options;

/** Pools, APR and the command line. Ends the program if that fails. */
process_rec *main_process_create(int argc, const char *const *argv);

/** Read the options; options that only print do so and end the program. */
void main_options_read(process_rec *process, main_options *options);

/** `--check-ssi FILE...` as the first argument: do that and end the program. */
void main_check_ssi(process_rec *process);

/** `--check-module FILE...` as the first argument: likewise. */
void main_check_module(process_rec *process);

/** --calibrate-delivery DIR: print the cost of sending files; does not return then. */
void main_calibrate(process_rec *process);

/** `--takeover-check [DIR|FILE]` as the first argument: the command line becomes that of a test of
 * that configuration, in the environment of its envvars file. (takeover.c) */
void main_takeover(process_rec *process);

int main_takeover_is_asked(void);

/** Print the settings that PHP gets, and from where. (takeover_php.c) */
void main_takeover_php(apr_pool_t *p, const ap_directive_t *tree);

/** Print the RequestLimit lines that replace those of mod_evasive and mod_qos, in @a d and inside
 * it. (takeover_limits.c)
 * @param found  0: none was printed before. @return 1 if one was */
int main_takeover_limits(apr_pool_t *p, const ap_directive_t *d, int found);

/** test_config hook: the end of such a check. Ends the program with 1 if lines are refused. */
void main_takeover_report(apr_pool_t *p, server_rec *s);

/** `--advice` among the arguments: they become those of -t. (main_advice.c) */
void main_advice(process_rec *process);

int main_advice_is_asked(void);

/** test_config hook: the end of such a test. Ends the program with 2 if there is something to say.
 */
void main_advice_report(apr_pool_t *p, server_rec *s);

/** test_config hook: which addresses other programs listen at. (main_listen.c) */
void main_listen_report(apr_pool_t *p, server_rec *s);

/** Wait for the end of a process that this program made. @return its exit status; 2: a signal ended it, or it was never made
 * (-1 of fork(), with the errno of it). (main_start.c) */
int main_wait(pid_t child);

/** The configuration cannot be used for a start: conf_fault() is said in the log and on the terminal, and the program ends. */
void main_start_failed(process_rec *process) __attribute__((noreturn));

/** No server process came up, or could be made: that is said there, too. */
void main_run_failed(process_rec *process);

/** 1 for -t, unless the caller has no right to start that server: the start is tried, too. */
int main_starts_are_tried(const process_rec *process);

/** Options with two dashes that are not known, or not at their place, are refused; --help and --version are done. Before any other
 * option is looked at. Ends the program then. */
void main_long_options(process_rec *process);

/** -t -D DUMP_CACHE URL: answer that request with the configuration, and print whether the answer
 * would be kept in memory, or the reason against. Ends the program: 0 if it would, 1 if not, 2 if
 * it cannot be tried. (main_try.c) */
void main_try(process_rec *process, const char *url) __attribute__((noreturn));

/** `--compare-memory [SETTING...] URL...` behind the options: taken out of the arguments. (main_compare.c) */
void main_compare_take(process_rec *process);

int main_compare_is_asked(void);

/** Serve these URLs with each memory system, print their cost, and end the program: 0, or 2 if that
 * cannot be done. */
void main_compare(process_rec *process) __attribute__((noreturn));

/** `--serve DIR [[ADDRESS:]PORT]` as the first argument: taken out of the arguments; lines of a configuration take its place. Ends the
 * program where that cannot be served. (main_serve.c) */
void main_serve_take(process_rec *process);

/** With --serve: no configuration file is read, and the directory is the root. */
void main_serve_options(main_options *options);

/** With --serve: print where. Once the sockets are open. */
void main_serve_tell(void);

/** `--explain [-X METHOD] [-H FIELD]... [--from ADDRESS] URL` behind the options: taken out of the arguments. (main_explain.c) */
void main_explain_take(process_rec *process);

int main_explain_is_asked(void);

/** While hooks are registered: error log messages are listened to, if somebody asks. */
void main_explain_hooks(void);

/** Answer that request, print the lines that shape its answer, and end the program: 0, or 2 if that
 * cannot be done. */
void main_explain(process_rec *process) __attribute__((noreturn));

/** `--profile`, anywhere: brigade-profile takes this program's place. `--profile-trial URL SOCKET`: taken out of the arguments.
 * (main_profile.c) */
void main_profile_take(process_rec *process);

int main_profile_is_asked(void);

/** Serve at that socket until standard input ends, and end the program. */
void main_profile(process_rec *process) __attribute__((noreturn));

/** 1 if there is a file to read. */
int main_has_configuration(apr_pool_t *p, const main_options *options);

/** -v, --version, -V, -h (main_print.c). */
void main_print_version(void);
void main_print_libraries(void);
void main_print_settings(const main_options *options);
void main_print_usage(FILE *out, const char *program);

/** -L NAME: print the manual's entry of a directive, in any case, with or without the angle brackets of a
 * section, all entries of a module, or a guide. Where nothing has that name, it is taken for words of a question (main_search_manual()).
 * @return 0 if nothing has the name, or answers the question. Command line only: prints and blocks. (main_manual.c) */
int main_print_manual(apr_pool_t *p, const char *name);

/** Print a guide, by its name. @return 0: no guide of that name. Prints. (main_search.c) */
int main_print_guide(apr_pool_t *p, const char *name);

/** Print the names of directives, modules and guides that answer a question, a line each. @return how many. Prints. (main_search.c) */
int main_search_manual(apr_pool_t *p, const char *question);

/** The root of an installation, or of a build tree, that this program is part of. */
const char *main_default_root(apr_pool_t *p);

/** test_config hook of the core: output of `-t -D DUMP_RUN_CFG`. */
void main_dump_run_config(apr_pool_t *p, server_rec *s);

#endif
