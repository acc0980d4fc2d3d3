/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_SMS_KINDS_H
#define BRIGADE_MEMORY_SMS_KINDS_H

/**
 * @file sms_kinds.h
 * Kinds of memory systems that modules registered, for readers of a configuration.
 */
#include "brigade/sms.h"

typedef struct sms_kind {
    const char *name;
    brg_sms_create_fn *create;
    const char *help;
} sms_kind;

/** Forget the kinds that modules registered; before they are unloaded. Main thread. */
void sms_kinds_forget(void);
/** The @a n th, from 0, that a module added; NULL after the last. */
const sms_kind *sms_kind_added(int n);

/** 1 if no kind of the plan comes from a module, which could be unloaded. */
int sms_plan_builtin(const brg_sms_plan *plan);

#endif
