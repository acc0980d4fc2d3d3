/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluation of the tree that Require and its containers build. A container keeps the child's
 * result with the highest rank and stops at a result that nothing can outrank; "denied because
 * there is no user yet" has a rank of its own, so that authentication is asked for only where a
 * user could change the outcome.
 */
#include "authz_core_private.h"
#include "http_core.h"
#include "http_log.h"
#include "apr_strings.h"
#include "brigade/assert.h"

APLOG_USE_MODULE(authz_core);

/* Indexed by authz_op, then authz_status; GENERAL_ERROR ends the evaluation before it comes to
 * ranks. */
static const unsigned char authz_rank[2][5] = {
    [AUTHZ_OP_ANY] = {[AUTHZ_NEUTRAL] = 0,
                      [AUTHZ_DENIED] = 1,
                      [AUTHZ_DENIED_NO_USER] = 2,
                      [AUTHZ_GRANTED] = 3,
                      [AUTHZ_GENERAL_ERROR] = 4},
    [AUTHZ_OP_ALL] = {[AUTHZ_NEUTRAL] = 0,
                      [AUTHZ_GRANTED] = 1,
                      [AUTHZ_DENIED_NO_USER] = 2,
                      [AUTHZ_DENIED] = 3,
                      [AUTHZ_GENERAL_ERROR] = 4},
};

static const char *authz_status_name(authz_status status)
{
    switch (status) {
    case AUTHZ_DENIED:
        return "denied";
    case AUTHZ_GRANTED:
        return "granted";
    case AUTHZ_NEUTRAL:
        return "neutral";
    case AUTHZ_DENIED_NO_USER:
        return "denied (no authenticated user yet)";
    case AUTHZ_GENERAL_ERROR:
        return "error";
    }
    return "unknown";
}

static authz_status authz_ask_provider(request_rec *r, const authz_node *node)
{
    authz_status status;

    BRG_ASSERT(node->provider);
    if (authz_provider_is_own(node->provider))
        return node->provider->check_authorization(r, node->args, node->parsed);
    apr_table_setn(r->notes, AUTHZ_PROVIDER_NAME_NOTE, node->provider_name);
    status = node->provider->check_authorization(r, node->args, node->parsed);
    apr_table_unset(r->notes, AUTHZ_PROVIDER_NAME_NOTE);
    return status;
}

static authz_status authz_ask_children(request_rec *r, const authz_node *node)
{
    authz_status best = AUTHZ_NEUTRAL;

    for (const authz_node *child = node->first; child; child = child->next) {
        authz_status status = authz_eval(r, child, node->op);
        unsigned rank = authz_rank[node->op][status];

        if (rank > authz_rank[node->op][best])
            best = status;
        if (rank >= 3)
            break;
    }
    return best;
}

authz_status authz_eval(request_rec *r, const authz_node *node, authz_op parent_op)
{
    authz_status status;

    if (!(node->limited & (AP_METHOD_BIT << r->method_number))) {
        status = parent_op == AUTHZ_OP_ALL ? AUTHZ_GRANTED : AUTHZ_NEUTRAL;
        if (APLOGrdebug(r)) {
            ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                          APLOGNO(01625) "authorization result of %s: %s "
                                         "(directive limited to other methods)",
                          authz_node_name(r->pool, node), authz_status_name(status));
        }
        return status;
    }
    status = node->provider ? authz_ask_provider(r, node) : authz_ask_children(r, node);
    if (node->negate) {
        if (status == AUTHZ_GRANTED)
            status = AUTHZ_DENIED;
        else if (status == AUTHZ_DENIED || status == AUTHZ_DENIED_NO_USER)
            status = AUTHZ_NEUTRAL;
    }
    if (APLOGrdebug(r)) {
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r,
                      APLOGNO(01626) "authorization result of %s: %s",
                      authz_node_name(r->pool, node), authz_status_name(status));
    }
    return status;
}
