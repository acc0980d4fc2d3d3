/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_CONF_POSITION_H
#define BRIGADE_BASE_CONF_POSITION_H

/**
 * @file conf_position.h
 * The directive that a thread carries out: compiled expressions keep it, and
 * a crash report names it. Each thread has its own. Blocking: no; conf_position_now() may be called
 * in a signal handler.
 */

/** A directive in its file. */
typedef struct conf_position {
    const char *file; /**< NULL: no directive is at work */
    int line;
    const char *directive; /**< its name, or NULL */
} conf_position;

/**
 * The calling thread carries out another directive.
 * @param position  its texts need live only until the next call
 * @return the position before
 */
conf_position conf_position_set(conf_position position);

/** Where the calling thread is. */
conf_position conf_position_now(void);

#endif
