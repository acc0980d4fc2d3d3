/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_MAP_H
#define STATUS_MAP_H

/** @file status_map.h  Which host and path leads to which backend, folder or rule, as the lines of the configuration say it. */
#include "httpd.h"

/** ,"map":[{"host","path","kind","to","line"}, ...]: kind is folder, backend, redirect, rule or handler. Blocking: no */
void status_map_write_json(request_rec *r);

#endif
