/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEARTBEAT_H
#define HEARTBEAT_H

/** @file heartbeat.h  A heartbeat monitor's data on each server. */
#include "apr.h"
#include "apr_time.h"

#define MAXIPSIZE 46
#define DEFAULT_HEARTBEAT_STORAGE "hb.dat"

typedef struct hm_slot_server_t {
    char ip[MAXIPSIZE];
    int busy;
    int ready;
    apr_time_t seen;
    int id;
} hm_slot_server_t;

#endif
