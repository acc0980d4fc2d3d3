/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_HOSTS_H
#define STATUS_HOSTS_H

/**
 * @file status_hosts.h
 * Requests and bytes of each virtual host, as JSON: of mod_status, mod_metrics and the live page.
 */
#include "httpd.h"
#include "brigade/figures.h"

/** Write ,"hosts":[{"name":...,"class":[1xx,...],"protocol":[...],"bytes":...}]: those of the virtual hosts in @a f that had
 * requests. */
void status_hosts_write_json(request_rec *r, const brg_figures *f);

#endif
