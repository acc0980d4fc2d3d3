/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_TRIAL_H
#define BRIGADE_BASE_TRIAL_H

/**
 * @file trial.h
 * A process that tries a configuration out: it does all that a start does, while a server with the same files may run.
 *
 * So it takes nothing away from that server, and says nothing in its place:
 *
 *   a start                                     a trial
 *   ----------------------------------------  ------------------------------------------------------------
 *   listens (supervisor_open)                 looks whether an address can be had (listen_try), at a reload
 *   opens error logs, standard error is one   opens them, and closes them; messages go to standard error
 *   opens other logs                          the same; nobody writes to them
 *   starts programs of piped logs             looks whether they can be started; output is lost
 *   writes the pid file                       looks whether its folder can be written to
 *   leaves the terminal, handles signals      nothing
 *
 * Threads: main.
 */

typedef enum trial_kind {
    TRIAL_NONE,
    TRIAL_START, /**< for -t: would a start go well? */
    TRIAL_RELOAD /**< of a server that serves, which nobody can be asked for */
} trial_kind;

/** This process is such a trial, from now on. */
void trial_begin(trial_kind kind);

/** The kind of trial; TRIAL_NONE (0): no trial. */
trial_kind trial_runs(void);

#endif
