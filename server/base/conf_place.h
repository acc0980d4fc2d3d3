/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_BASE_CONF_PLACE_H
#define BRIGADE_BASE_CONF_PLACE_H

/**
 * @file conf_place.h
 * Which directive a thread carries out, for those who are called while it does: compiled expressions keep it, and a crash tells it.
 * Each thread has its own. Blocking: no; conf_place_now() may be called in a signal handler.
 */

/** A directive in its file. */
typedef struct conf_place {
    const char *file; /**< NULL: no directive is at work */
    int line;
    const char *directive; /**< its name, or NULL */
} conf_place;

/**
 * The calling thread carries out another directive.
 * @param place  its texts need live only until the next call
 * @return the place before
 */
conf_place conf_place_set(conf_place place);

/** Where the calling thread is. */
conf_place conf_place_now(void);

#endif
