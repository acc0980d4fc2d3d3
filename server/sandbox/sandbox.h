/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SANDBOX_SANDBOX_H
#define BRIGADE_SANDBOX_SANDBOX_H

/**
 * @file sandbox.h
 * Server processes that can reach only paths that the configuration names: `Sandbox On`.
 *
 * sandbox_paths.c   which files: from the lines of the configuration
 * sandbox_kernel.c  how: Landlock, capabilities
 * sandbox_filter.c  how: which system calls are refused
 * sandbox.c         the directives, the log, and -D DUMP_SANDBOX
 *
 * The supervisor is not in it: it opens logs, ports and keys and starts the programs of piped logs.
 * Sources: landlock(7), linux/landlock.h, seccomp(2), capabilities(7).
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_tables.h"

typedef enum { SANDBOX_OFF, SANDBOX_ON, SANDBOX_REQUIRED } sandbox_mode;

/** Access below a path; each kind includes reading. */
typedef enum { SANDBOX_READ, SANDBOX_WRITE, SANDBOX_EXEC } sandbox_access;

typedef struct sandbox_path {
    const char *path; /**< absolute; it need not exist */
    sandbox_access access;
    const char *why; /**< the directive, or the server's need */
} sandbox_path;

/** Of the configuration that was read. In pconf. */
typedef struct sandbox_conf {
    sandbox_mode mode;
    int exec;                    /**< programs may be started: SandboxAllow exec */
    apr_array_header_t *allowed; /**< sandbox_path: SandboxAllow */
    apr_array_header_t *paths;   /**< sandbox_path: all, allowed ones included */
    apr_array_header_t *notes;   /**< const char *: lines of the configuration that will not work */
} sandbox_conf;

/* ---- sandbox.c ---- */

/** Defaults again, before a configuration is read. */
void sandbox_pre_config(apr_pool_t *pconf);

const char *sandbox_set(cmd_parms *cmd, void *dummy, const char *arg);
const char *sandbox_allow(cmd_parms *cmd, void *dummy, int argc, char *const argv[]);

/** check_config: OK, or an HTTP code if the sandbox is required and the kernel lacks something of it (logged). */
int sandbox_check(server_rec *s);

/** The supervisor, once per configuration: find the paths, log lines that will not work. */
void sandbox_prepare(apr_pool_t *pconf, server_rec *s);

/** A server process that has its rights still: open the paths. @return the descriptor for
 * sandbox_enter(); -1: no sandbox, -2: it failed (logged) */
int sandbox_open(server_rec *s);

/** The process gave its rights up; there is one thread. @return 0, or -1 (logged) */
int sandbox_enter(server_rec *s, int fd);

/** test_config hook: -D DUMP_SANDBOX. */
void sandbox_dump(apr_pool_t *p, server_rec *s);

/* ---- sandbox_paths.c ---- */

/** Fill conf->paths and conf->notes from the configuration tree. */
void sandbox_find_paths(sandbox_conf *conf, apr_pool_t *p, server_rec *s);

/* ---- sandbox_kernel.c ---- */

/** The kernel's version of Landlock; 0: it has none. */
int sandbox_landlock(void);

/** A set of rules for these sandbox_paths; ones that are not there are left out. @param listens  1: ports may be opened
 * @return a descriptor, or -1 with errno */
int sandbox_rules(const apr_array_header_t *paths, int listens);

/** Drop capabilities that could come back by exec. Before the process gives its rights up. */
void sandbox_drop_bounding(void);

/** Permissions that the filter of system calls leaves to a process. */
typedef struct sandbox_limits {
    int exec;         /**< it may start programs */
    int listens;      /**< it may open ports, as far as the rules let it */
    int own_sockets;  /**< it shares no listening socket with others: it may set all options */
    int signals_held; /**< sandbox_lock()'s: the rules keep signals from processes outside */
} sandbox_limits;

/** No new rights, no capabilities, the rules (@a fd, or -1: without), the filter. For good. @return
 * NULL, or the step that failed, with errno */
const char *sandbox_lock(int fd, sandbox_limits limits);

/* ---- sandbox_filter.c ---- */

/** 1 if there is a system call filter for this kind of processor. */
int sandbox_has_filter(void);

/** Refuse system calls from now on. @return 0, or -1 with errno */
int sandbox_filter(const sandbox_limits *limits);

#endif
