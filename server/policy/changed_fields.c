/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that modules change before anything looks at them, as mod_remoteip takes addresses from: an answer cannot be
 * selected by the value of one, since that is another one when the answer is looked up. */
#include "stock_policy.h"
#include "placement_private.h"
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "brigade/response_cache.h"
#include "brigade/transaction.h"
#include "apr_strings.h"
#include <string.h>
#include <strings.h>

#define CHANGED_VARY_MOST 8

typedef struct changed_field {
    const char *module, *name;
} changed_field;

/* Of the configuration that is read, or in force. Main thread; read only afterwards. */
static apr_array_header_t *changed_fields;

static apr_status_t changed_fields_forget(void *unused)
{
    changed_fields = NULL;
    return APR_SUCCESS;
}

static void changed_fields_add(apr_pool_t *p, const char *by, const char *name)
{
    if (!changed_fields) {
        changed_fields = apr_array_make(p, 2, sizeof(changed_field));
        apr_pool_cleanup_register(p, NULL, changed_fields_forget, apr_pool_cleanup_null);
    }
    APR_ARRAY_PUSH(changed_fields, changed_field) = (changed_field){by, name};
}

BRG_DECLARE(void) brg_cache_changes_field(const module *m, apr_pool_t *pconf, const char *name)
{
    changed_fields_add(pconf, m->name, name);
}

/* The fields that logs show, as const char *; NULL among them: any. */
static apr_array_header_t *shown_fields;

static apr_status_t shown_fields_forget(void *unused)
{
    shown_fields = NULL;
    return APR_SUCCESS;
}

BRG_DECLARE(void) brg_transaction_log_shows(apr_pool_t *pconf, const char *name)
{
    if (!shown_fields) {
        shown_fields = apr_array_make(pconf, 4, sizeof(const char *));
        apr_pool_cleanup_register(pconf, NULL, shown_fields_forget, apr_pool_cleanup_null);
    }
    APR_ARRAY_PUSH(shown_fields, const char *) = name;
}

int changed_fields_are_shown(const char *name)
{
    if (policy_found.stored_loggers.n < 0)
        return 1;
    for (int i = 0; shown_fields && i < shown_fields->nelts; i++) {
        const char *shown = APR_ARRAY_IDX(shown_fields, i, const char *);

        if (!shown || !ap_cstr_casecmp(shown, name))
            return 1;
    }
    return 0;
}

void stock_remoteip_directive(const cmd_parms *cmd, const char *name, const char *args)
{
    if (!ap_cstr_casecmp(name, "RemoteIPHeader") || !ap_cstr_casecmp(name, "RemoteIPProxiesHeader"))
        changed_fields_add(cmd->pool, "mod_remoteip.c", ap_getword_conf(cmd->pool, &args));
}

const char *changed_fields_vary(const request_rec *r)
{
    const char *names[CHANGED_VARY_MOST];
    int n = changed_fields ? brg_cache_vary_fields(r, names, CHANGED_VARY_MOST) : 0;

    BRG_ASSERT(n >= 0);
    for (int i = 0; i < n && i < CHANGED_VARY_MOST; i++)
        for (int k = 0; k < changed_fields->nelts; k++) {
            const changed_field *f = &APR_ARRAY_IDX(changed_fields, k, changed_field);

            if (!ap_cstr_casecmp(names[i], f->name))
                return f->module;
        }
    return n > CHANGED_VARY_MOST ? APR_ARRAY_IDX(changed_fields, 0, changed_field).module : NULL;
}

int changed_fields_are_there(void)
{
    return changed_fields != NULL;
}

int changed_fields_in(const http_head *head)
{
    for (int k = 0; changed_fields && k < changed_fields->nelts; k++) {
        const char *name = APR_ARRAY_IDX(changed_fields, k, changed_field).name;
        const size_t len = strlen(name);

        for (int i = 0; i < head->n_fields; i++)
            if (http_field_is(&head->field[i], name, len))
                return 1;
    }
    return 0;
}
