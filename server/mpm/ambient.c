/* SPDX-License-Identifier: Apache-2.0 */
/* Ambient capabilities of the supervisor. */
#include "ambient.h"
#include "brigade/assert.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t ambient_given; /* by their numbers */

void ambient_begin(void)
{
    BRG_ASSERT(!ambient_given);
    _Static_assert(CAP_LAST_CAP < 64, "one word holds them");
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
            ambient_given |= UINT64_C(1) << cap;
    ambient_pass_on(0);
}

void ambient_pass_on(int on)
{
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        if (ambient_given & UINT64_C(1) << cap)
            (void)prctl(PR_CAP_AMBIENT, on ? PR_CAP_AMBIENT_RAISE : PR_CAP_AMBIENT_LOWER, cap, 0,
                        0);
}

/* setuid() would make the process undumpable, so that others of its user cannot read its memory. Nobody calls it here. */
int ambient_leave(int dumps)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    if (!ambient_given)
        return 0;
    if (syscall(SYS_capset, &header, none))
        return -1;
    return dumps ? 0 : prctl(PR_SET_DUMPABLE, 0);
}
