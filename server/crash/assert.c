/* SPDX-License-Identifier: Apache-2.0 */
/* A failed assertion: one line about it, then SIGABRT, whose handler names the thread's request and
 * the module at work. */
#include "crash_private.h"
#include "brigade/assert.h"
#include "brigade/loop.h"
#include <stdlib.h>

BRG_DECLARE(void) brg_assert_failed(const brg_assertion *a)
{
    crash_text t;

    crash_begin(&t);
    crash_put(&t, "assertion failed: ");
    crash_put(&t, a->expression);
    crash_put(&t, " at ");
    crash_put(&t, a->file);
    crash_put(&t, ":");
    crash_put_number(&t, (unsigned long)a->line);
    crash_put(&t, " in ");
    crash_put(&t, a->function);
    if (brg_thread_index() >= 0) {
        crash_put(&t, ", server thread ");
        crash_put_number(&t, (unsigned long)brg_thread_index());
    }
    crash_end(&t);
    abort();
}
