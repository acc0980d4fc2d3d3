/* SPDX-License-Identifier: Apache-2.0 */
/* What mod_manual_export.c offers to other modules: each way that there is. */
#ifndef MANUAL_EXPORT_H
#define MANUAL_EXPORT_H

#include "httpd.h"
#include "ap_provider.h"
#include "apr_hooks.h"
#include "apr_optional.h"
#include "apr_optional_hooks.h"

#define MANUAL_DECLARE(type) type
#define MANUAL_DECLARE_NONSTD(type) type
#define MANUAL_DECLARE_DATA

/* An optional function: called if its module is loaded. */
APR_DECLARE_OPTIONAL_FN(const char *, manual_greet, (request_rec * r, const char *name));

/* An optional hook: run by its module, added to by whoever likes. */
APR_DECLARE_EXTERNAL_HOOK(manual, MANUAL, int, say, (request_rec * r, const char *what))

/* Generic hooks: who adds to them needs this module loaded before. */
APR_DECLARE_EXTERNAL_HOOK(manual, MANUAL, const char *, name, (request_rec * r))
APR_DECLARE_EXTERNAL_HOOK(manual, MANUAL, int, check, (request_rec * r, int number))
APR_DECLARE_EXTERNAL_HOOK(manual, MANUAL, void, tell, (request_rec * r, const char *what))

/* A provider of the group "manual", version "0". */
typedef struct manual_provider {
    const char *name;
    int (*twice)(int n);
} manual_provider;

#endif
