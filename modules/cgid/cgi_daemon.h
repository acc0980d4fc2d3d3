/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CGI_DAEMON_H
#define BRIGADE_CGI_DAEMON_H

/**
 * @file cgi_daemon.h
 * The process that starts CGI programs. The supervisor starts it, outside of the sandbox of server processes, and starts another
 * where it dies; it ends with the last server process of its configuration.
 */
#include "httpd.h"

/** Start it for the configuration that is being read. Threads: main. */
apr_status_t cgi_daemon_start(server_rec *s, apr_pool_t *pconf);

/** Start another one where the last died and none could be started at once. Threads: main. */
void cgi_daemon_look(server_rec *s);

/** In a server process: close the daemon's own descriptors. */
void cgi_daemon_leave(void);

/** The socket that server processes send cgi_record messages to, with the descriptors of the program's streams; -1: none. */
int cgi_daemon_socket(void);

/** The daemon: messages come by @a control. Does not return. */
void cgi_daemon_run(server_rec *s, int control, pid_t supervisor) __attribute__((noreturn));

/** A server process writes this on the stream of errors before it closes it: end the whole group of
 * the program. */
#define CGI_SAYS_KILL 'K'

#endif
