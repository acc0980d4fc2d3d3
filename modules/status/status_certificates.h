/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_CERTIFICATES_H
#define STATUS_CERTIFICATES_H

/**
 * @file status_certificates.h
 * Certificates of the built-in ssl module: part of the page and of "?auto", and as "?certificates=json"
 * and "?certificates=prometheus".
 */
#include "httpd.h"

/** Answer "?certificates=WORD". @return as handlers do */
int status_certificates_handle(request_rec *r, const char *what);

/** Write the member "certificates" of a JSON object: an empty array where there is no built-in TLS. */
void status_certificates_list(request_rec *r);

/** The samples alone, for Prometheus and OpenMetrics. */
void status_certificates_write(request_rec *r);

/** What of them stands in the page and in "?auto". */
extern const struct status_section status_certificates;

#endif
