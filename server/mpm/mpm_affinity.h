/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MPM_MPM_AFFINITY_H
#define BRIGADE_MPM_MPM_AFFINITY_H

/**
 * @file mpm_affinity.h
 * LoopAffinity: the processor that an event loop runs on, and on no other one.
 */
#include "httpd.h"
#include <sched.h>

#define AFFINITY_MOST 1024 /**< processors in a list, which may name one several times */

/** Processors in the order in which loops get them. */
typedef struct affinity_list {
    int n; /**< 0: loops run on any */
    int cpu[AFFINITY_MOST];
} affinity_list;

/**
 * Read "0-3,8" behind the numbers in @a list.
 * @param usable  others are refused
 * @return NULL, or the error, from @a p
 */
const char *affinity_read(apr_pool_t *p, const char *arg, const cpu_set_t *usable,
                          affinity_list *list);

/** Those of @a usable, in their order. */
void affinity_all(const cpu_set_t *usable, affinity_list *list);

/** Of the @a loop-th loop of all processes; -1: any. Lists that are too short begin again. */
int affinity_of(const affinity_list *list, int loop);

/** The processors of LoopAffinity. Set while the configuration is read. */
extern affinity_list mpm_affinity;

#endif
