/* SPDX-License-Identifier: Apache-2.0 */
/* Which directive a thread carries out. */
#include "conf_place.h"

static _Thread_local conf_place place_now;

conf_place conf_place_set(conf_place place)
{
    conf_place before = place_now;

    place_now = place;
    return before;
}

conf_place conf_place_now(void)
{
    return place_now;
}
