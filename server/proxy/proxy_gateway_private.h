/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_GATEWAY_PRIVATE_H
#define BRIGADE_PROXY_GATEWAY_PRIVATE_H

/* Settings of the modules for FastCGI and SCGI. */
#include "proxy_settings.h"

int proxy_fcgi_is_generic(const request_rec *r);
/* ProxyFCGIInternalRedirect: the name of the field; NULL: off */
const char *proxy_fcgi_redirect_field(const request_rec *r);
/* Variables of ProxyFCGISetEnvIf into r->subprocess_env. @return OK or a status */
int proxy_fcgi_set_variables(request_rec *r);
/* 1: those are the same for each request, and no variable is among them that a request has of its own. */
int proxy_fcgi_variables_are_fixed(const request_rec *r);
/* 1: one of those has this name. */
int proxy_fcgi_sets(const request_rec *r, const char *name);
void proxy_scgi_settings(const request_rec *r, proxy_request_settings *to);

#endif
