/* SPDX-License-Identifier: Apache-2.0 */
/* Work that the supervisor does between signals. */
#include "supervised.h"
#include "brigade/assert.h"

static const supervised_work *supervised_current;

void supervised_set(const supervised_work *work)
{
    BRG_ASSERT(!work || (work->fd && work->due && work->look));
    supervised_current = work;
}

const supervised_work *supervised_get(void)
{
    return supervised_current;
}
