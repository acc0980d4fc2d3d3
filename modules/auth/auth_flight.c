/* SPDX-License-Identifier: Apache-2.0 */
/* One check of a password for all requests that wait for it (auth_flight.h). */
#include "auth_flight.h"
#include "brigade/loop.h"
#include "brigade/assert.h"
#include <pthread.h>

#define FLIGHTS 32 /* checks at the same time that others may wait for */

struct auth_flight {
    auth_mark mark;
    int used, done, right;
    int waiting; /* threads */
};

static auth_flight flights[FLIGHTS];
static pthread_mutex_t flight_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flight_done = PTHREAD_COND_INITIALIZER;

static auth_flight *flight_of(const auth_mark *mark)
{
    for (int i = 0; i < FLIGHTS; i++)
        if (flights[i].used && !flights[i].done && flights[i].mark.word[0] == mark->word[0] &&
            flights[i].mark.word[1] == mark->word[1])
            return &flights[i];
    return NULL;
}

static auth_flight *flight_new(const auth_mark *mark)
{
    for (int i = 0; i < FLIGHTS; i++)
        if (!flights[i].used) {
            flights[i] = (auth_flight){.mark = *mark, .used = 1};
            return &flights[i];
        }
    return NULL;
}

/* @return its result */
static int flight_await(auth_flight *flight)
{
    int right;

    flight->waiting++;
    while (!flight->done)
        pthread_cond_wait(&flight_done, &flight_lock);
    right = flight->right;
    BRG_ASSERT(flight->used && flight->waiting > 0);
    if (!--flight->waiting)
        flight->used = 0;
    return right;
}

auth_flight *auth_flight_begin(const auth_mark *mark, int *right)
{
    auth_flight *flight;

    *right = -1;
    if (brg_thread_is_loop())
        return NULL;
    pthread_mutex_lock(&flight_lock);
    if ((flight = flight_of(mark)) != NULL) {
        *right = flight_await(flight);
        flight = NULL;
    } else {
        flight = flight_new(mark);
    }
    BRG_ASSERT(!flight || (flight->used && !flight->waiting));
    pthread_mutex_unlock(&flight_lock);
    return flight;
}

void auth_flight_end(auth_flight *flight, int right)
{
    pthread_mutex_lock(&flight_lock);
    BRG_ASSERT(flight->used && !flight->done);
    flight->right = right;
    flight->done = 1;
    if (!flight->waiting)
        flight->used = 0;
    pthread_cond_broadcast(&flight_done);
    pthread_mutex_unlock(&flight_lock);
}
