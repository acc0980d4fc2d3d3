/* SPDX-License-Identifier: Apache-2.0 */
/* Failed assertions in programs that have this directory without the server: one line on standard error. The server has
 * a definition of its own (server/crash/assert.c), which takes this one's place. */
#include "brigade/assert.h"
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) BRG_DECLARE(void) brg_assert_failed(const brg_assertion *a)
{
    fprintf(stderr, "assertion failed: %s at %s:%d in %s\n", a->expression, a->file, a->line,
            a->function);
    abort();
}
