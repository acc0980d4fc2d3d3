/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing the file of a spool. It has no name, so that its blocks are freed then: with much in it, or a disk that is
 * busy, that takes longer than a loop may wait. A thread that lives as long as there are files to close does it.
 */
#include "core_spool_private.h"
#include "thread_self.h"

#include "brigade/assert.h"

#include <stdlib.h>
#include <unistd.h>

#define SPOOL_CLOSE_HERE (256 * 1024) /* so much is freed at once */

struct closing {
    struct closing *next;
    int fd;
    spool_pos bytes;
};

static pthread_mutex_t closing_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static struct closing *closing_list;
static int closing_runs;

static struct closing *closing_take(void)
{
    struct closing *all;

    pthread_mutex_lock(&closing_lock);
    all = closing_list;
    closing_list = NULL;
    if (!all)
        closing_runs = 0;
    pthread_mutex_unlock(&closing_lock);
    return all;
}

static void closing_end(int fd, spool_pos bytes)
{
    close(fd);
    spool_freed(bytes);
}

static void *closing_main(void *unused)
{
    struct closing *one, *next;

    while ((one = closing_take()) != NULL)
        for (; one; one = next) {
            next = one->next;
            closing_end(one->fd, one->bytes);
            free(one);
        }
    return NULL;
}

/* The lock is held by nobody for longer than it takes to change the list. 0: it is the caller's. */
static int closing_give(int fd, spool_pos bytes)
{
    struct closing *one = malloc(sizeof *one);
    int taken = one != NULL;

    if (!one)
        return 0;
    *one = (struct closing){.fd = fd, .bytes = bytes};
    pthread_mutex_lock(&closing_lock);
    if (!closing_runs)
        closing_runs = taken = thread_start(closing_main, NULL, 0, NULL) == 0;
    if (taken) {
        one->next = closing_list;
        closing_list = one;
    }
    pthread_mutex_unlock(&closing_lock);
    if (!taken)
        free(one);
    return taken;
}

void spool_close_file(int fd, spool_pos bytes)
{
    BRG_ASSERT(fd >= 0 && bytes >= 0);
    if (!conn_on_loop() || bytes <= SPOOL_CLOSE_HERE || !closing_give(fd, bytes))
        closing_end(fd, bytes);
}
