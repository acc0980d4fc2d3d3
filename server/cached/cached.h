/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CACHED_CACHED_H
#define BRIGADE_CACHED_CACHED_H

/**
 * @file cached.h
 * The built-in mod_cache: answers of backends, and of local handlers that take long, in the store that all loops and
 * processes share. Its interface for other rooms: the supervisor tells it of processes that ended, the command line asks and purges.
 */
#include "httpd.h"
#include "http_config.h"
#include <stdint.h>
#include <sys/types.h>

/** A server process ended: the objects and rows that its loops held in the store are free. Threads: main of the supervisor. */
void cached_process_ended(pid_t pid);

/** 1: <IfModule LiteSpeed> of an .htaccess file: LiteSpeedCache is on for its host. */
int cached_ls_is_module(const cmd_parms *cmd, const char *name);

/** Words behind -k about the stored objects of a running server. */
typedef enum cached_verb {
    CACHED_VERB_NONE,
    CACHED_VERB_PURGE, /**< purge */
    CACHED_VERB_SOFT,  /**< soft-purge */
    CACHED_VERB_SHOW   /**< cache */
} cached_verb;

/** @return a cached_verb. @param name  NULL: none */
int cached_verb_of(const char *name);

#define CACHED_COMMAND_FAILED 2

/**
 * Carry out such a word on the store of the server with the supervisor @a pid, and print the
 * result. Gives up the rights of root.
 * @param args  n of URL, URL* and tag:NAME
 * @return an exit status: 0; of CACHED_VERB_SHOW 1: nothing is in memory; CACHED_COMMAND_FAILED, and standard error says why
 * Threads: main of a program that is no server. Blocking: yes
 */
int cached_command(apr_pool_t *p, server_rec *main, pid_t pid, cached_verb verb,
                   const char *const *args, int n);

#endif
