/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions in the expression language of Apache 2.2: evaluation of the tree. */
#include "ssi_depends_private.h"
#include "ssi_legacy.h"
#include "http_core.h"
#include "http_request.h"
#include "apr_strings.h"

const char LEGACY_E_INVALID[] = "invalid", LEGACY_E_OPEN[] = "(", LEGACY_E_CLOSE[] = ")";

struct ssi_legacy {
    legacy_node *tree;
    const char *error;
};

typedef struct legacy_eval {
    include_ctx_t *ctx;
    const char *text; /* of the expression */
    int failed;
} legacy_eval;

static int legacy_value(legacy_eval *e, const legacy_node *node);

/* ---- errors ---- */

#define LEGACY_LOG(e, number, fmt)                                                       \
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, (e)->ctx->r, APLOGNO(number) fmt, (e)->text, \
                  (e)->ctx->r->filename)

/* The expression has no value. */
static int legacy_fail(legacy_eval *e)
{
    e->failed = 1;
    return 0;
}

static int legacy_no_operand(legacy_eval *e, const legacy_node *node)
{
    if (node->kind == LEGACY_AND || node->kind == LEGACY_OR)
        LEGACY_LOG(e, 01332, "Invalid expression \"%s\" in file %s");
    else if (node->kind == LEGACY_EQ || node->kind == LEGACY_NE)
        LEGACY_LOG(e, 01333, "Invalid expression \"%s\" in file %s");
    else if (node->kind == LEGACY_ACCESS)
        LEGACY_LOG(e, 01335,
                   "Invalid expression \"%s\" in file %s: Token '-A' must be followed by a URI "
                   "string.");
    else
        LEGACY_LOG(e, 01334, "Invalid expression \"%s\" in file %s");
    return legacy_fail(e);
}

static void legacy_log_parse(legacy_eval *e, const char *error)
{
    if (error == LEGACY_E_OPEN)
        LEGACY_LOG(e, 03191, "Unmatched '(' in \"%s\" in file %s");
    else if (error == LEGACY_E_CLOSE)
        LEGACY_LOG(e, 03189, "Unmatched ')' in \"%s\" in file %s");
    else
        LEGACY_LOG(e, 03188, "Invalid expression \"%s\" in file %s");
}

/* ---- operands ---- */

static const char *legacy_text(legacy_eval *e, const legacy_node *node)
{
    BRG_ASSERT(node->text != NULL);
    return ssi_expand(e->ctx, node->text, SSI_EXPAND_DROP_NAME);
}

/* A pattern that cannot be compiled counts as a match. */
static int legacy_match(legacy_eval *e, const char *subject, const char *pattern)
{
    ssi_match *m = &e->ctx->intern->match;
    apr_pool_t *p = ssi_dpool(e->ctx);
    ap_regex_t *regex = ap_pregcomp(p, pattern, AP_REG_EXTENDED);

    m->any = 1;
    m->source = apr_pstrdup(e->ctx->pool, subject);
    m->pattern = apr_pstrdup(e->ctx->pool, pattern);
    if (!regex) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, e->ctx->r,
                      APLOGNO(02667) "unable to compile pattern \"%s\"", pattern);
        m->matched = 0;
        return 1;
    }
    m->groups = regex->re_nsub;
    m->matched = !ap_regexec(regex, m->source, SSI_MATCHES, m->at, 0);
    return m->matched;
}

static int legacy_equal(legacy_eval *e, const legacy_node *node)
{
    const char *left;
    int same;

    BRG_ASSERT(node->kind == LEGACY_EQ || node->kind == LEGACY_NE);
    BRG_ASSERT(node->left != NULL);
    if (!node->right || (node->right->kind != LEGACY_STRING && node->right->kind != LEGACY_REGEX))
        return legacy_no_operand(e, node);
    left = legacy_text(e, node->left);
    same = node->right->kind == LEGACY_REGEX ? legacy_match(e, left, legacy_text(e, node->right))
                                             : !strcmp(left, legacy_text(e, node->right));
    return node->kind == LEGACY_EQ ? same : !same;
}

static int legacy_order(legacy_eval *e, const legacy_node *node)
{
    int order;

    BRG_ASSERT(node->kind >= LEGACY_LT && node->kind <= LEGACY_GE);
    BRG_ASSERT(node->left != NULL);
    if (!node->right || node->right->kind != LEGACY_STRING)
        return legacy_no_operand(e, node);
    order = strcmp(legacy_text(e, node->left), legacy_text(e, node->right));
    switch (node->kind) {
    case LEGACY_LT:
        return order < 0;
    case LEGACY_GT:
        return order > 0;
    case LEGACY_LE:
        return order <= 0;
    default:
        return order >= 0;
    }
}

/* -A: may the client have this? */
static int legacy_access(legacy_eval *e, const legacy_node *node)
{
    request_rec *r = e->ctx->r, *sub;
    const char *uri;
    int allowed;

    if (!node->right || node->right->kind != LEGACY_STRING)
        return legacy_no_operand(e, node);
    ssi_depends(e->ctx, SSI_DEPENDS_VOLATILE);
    uri = legacy_text(e, node->right);
    sub = ap_sub_req_lookup_uri(uri, r, NULL);
    allowed = sub->status < HTTP_BAD_REQUEST;
    if (!allowed)
        ap_log_rerror(APLOG_MARK, APLOG_DEBUG, sub->status, r,
                      APLOGNO(01336) "mod_include: The tested subrequest -A \"%s\" returned an "
                                     "error code.",
                      uri);
    ap_destroy_sub_req(sub);
    return allowed;
}

/* The right side is not evaluated where the left one decides, unless it has a regular expression, whose
 * groups later directives may use. */
static int legacy_logic(legacy_eval *e, const legacy_node *node)
{
    int left, right, decided;

    BRG_ASSERT(node->kind == LEGACY_AND || node->kind == LEGACY_OR);
    if (!node->right)
        return legacy_no_operand(e, node);
    left = legacy_value(e, node->left);
    decided = node->kind == LEGACY_AND ? !left : left;
    if (e->failed || (decided && !node->right->has_regex))
        return left;
    right = legacy_value(e, node->right);
    return node->kind == LEGACY_AND ? left && right : left || right;
}

static int legacy_value(legacy_eval *e, const legacy_node *node)
{
    if (e->failed)
        return 0;
    if (!node)
        return 1; /* "()", and a "!" that nothing follows */
    switch (node->kind) {
    case LEGACY_STRING:
        return *legacy_text(e, node) != '\0';
    case LEGACY_GROUP:
        return legacy_value(e, node->right);
    case LEGACY_NOT:
        return !legacy_value(e, node->right);
    case LEGACY_ACCESS:
        return legacy_access(e, node);
    case LEGACY_AND:
    case LEGACY_OR:
        return legacy_logic(e, node);
    case LEGACY_EQ:
    case LEGACY_NE:
        return legacy_equal(e, node);
    default:
        return legacy_order(e, node);
    }
}

int ssi_legacy_true(include_ctx_t *ctx, const ssi_directive *d, const char *text)
{
    legacy_eval e = {ctx, text, 0};
    struct ssi_legacy *expr = d->legacy;
    int yes;

    if (!expr) {
        expr = apr_palloc(d->pool, sizeof *expr);
        expr->tree = legacy_parse(d->pool, text, &expr->error);
        ((ssi_directive *)(apr_uintptr_t)d)->legacy = expr;
    }
    BRG_ASSERT(!expr->error || !expr->tree);
    if (expr->error) {
        legacy_log_parse(&e, expr->error);
        return -1;
    }
    if (!expr->tree)
        return 0;
    yes = legacy_value(&e, expr->tree);
    return e.failed ? -1 : yes;
}
