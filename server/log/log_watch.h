/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOG_LOG_WATCH_H
#define BRIGADE_LOG_LOG_WATCH_H

/**
 * @file log_watch.h
 * The supervisor's side of brigade/log_files.h. Threads: the supervisor's own. Blocking: no.
 */

/** The calling process looks after the files from now on; its children do not. */
void log_watch_adopt(void);

/** In a server process: the descriptor is the supervisor's. */
void log_watch_leave(void);

/** A descriptor that is readable after something happened to a log file; -1: none is watched. */
int log_watch_fd(void);

/** Make it wait for the next event. */
void log_watch_drain(void);

/** 1 if the path of a log file leads to another file now, or to none. */
int log_watch_moved(void);

#endif
