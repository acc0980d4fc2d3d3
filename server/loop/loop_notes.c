/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: how a thread has a function run by a loop (loop.h). */
#include "loop.h"
#include "brigade/assert.h"
#include <stdatomic.h>

void loop_note_post(brg_loop *loop, struct loop_note *note)
{
    struct loop_note *head;

    if (atomic_exchange(&note->posted, 1))
        return;
    head = atomic_load_explicit(&loop->notes, memory_order_relaxed);
    do
        note->next = head;
    while (!atomic_compare_exchange_weak_explicit(&loop->notes, &head, note, memory_order_release,
                                                  memory_order_relaxed));
    if (!atomic_exchange(&loop->wakes, 1))
        loop_wake(loop);
}

void loop_take_notes(brg_loop *loop)
{
    struct loop_note *next,
        *note = atomic_exchange_explicit(&loop->notes, NULL, memory_order_acquire);

    for (; note; note = next) {
        BRG_ASSERT(atomic_load(&note->posted)); /* it is on one list, once */
        next = note->next;
        atomic_store(&note->posted, 0); /* before it looks what there is */
        note->run(note);
    }
}
