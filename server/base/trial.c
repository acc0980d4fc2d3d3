/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this process tries a configuration out. */
#include "trial.h"

static trial_kind trial_is;

void trial_begin(trial_kind kind)
{
    trial_is = kind;
}

trial_kind trial_runs(void)
{
    return trial_is;
}
