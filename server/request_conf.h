/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REQUEST_CONF_H
#define BRIGADE_REQUEST_CONF_H

/**
 * @file request_conf.h
 * The core's part in r->request_config.
 */
#include "httpd.h"

/** create_request hook: core_request_config with room for all registered notes. @return OK */
int request_conf_create(request_rec *r);

#endif
