/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: how a thread has a function run by a loop (loop.h). */
#include "loop.h"
#include "brigade/assert.h"
#include <pthread.h>
#include <stdatomic.h>

void loop_note_post(brg_loop *loop, struct loop_note *note)
{
    struct loop_note *head;

    if (atomic_exchange(&note->posted, 1))
        return;
    head = atomic_load_explicit(&loop->posted.notes, memory_order_relaxed);
    do
        note->next = head;
    while (!atomic_compare_exchange_weak_explicit(&loop->posted.notes, &head, note,
                                                  memory_order_release, memory_order_relaxed));
    if (!atomic_exchange(&loop->posted.wakes, 1))
        loop_wake(loop);
}

/* Threads that wait for a disk or a name server may come back when the process ends. */
static pthread_mutex_t outside_lock = PTHREAD_MUTEX_INITIALIZER;
static int outside_ended;

int loops_outside_begin(void)
{
    BRG_ASSERT(!loop_self());
    pthread_mutex_lock(&outside_lock);
    if (!outside_ended)
        return 1;
    pthread_mutex_unlock(&outside_lock);
    return 0;
}

void loops_outside_end(void)
{
    pthread_mutex_unlock(&outside_lock);
}

void loop_notes_end(void)
{
    pthread_mutex_lock(&outside_lock);
    outside_ended = 1;
    pthread_mutex_unlock(&outside_lock);
}

void loop_take_notes(brg_loop *loop)
{
    struct loop_note *next,
        *note = atomic_exchange_explicit(&loop->posted.notes, NULL, memory_order_acquire);

    for (; note; note = next) {
        BRG_ASSERT(atomic_load(&note->posted)); /* it is on one list, once */
        next = note->next;
        atomic_store(&note->posted, 0); /* before run() looks for work */
        note->run(note);
    }
}
