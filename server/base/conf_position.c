/* SPDX-License-Identifier: Apache-2.0 */
/* Which directive a thread carries out. */
#include "conf_position.h"

static _Thread_local conf_position place_now;

conf_position conf_position_set(conf_position position)
{
    conf_position before = place_now;

    place_now = position;
    return before;
}

conf_position conf_position_now(void)
{
    return place_now;
}
