/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From Require lines and containers to a tree, and the merging of trees along the configuration
 * sections.
 *
 * A container is added to its parent when it is closed. Where parent and child combine in the same
 * way the child's members move up (associativity); the members of a <RequireNone> inside an "all"
 * container move up negated (De Morgan). Results are the same, evaluation is shorter, and the log
 * has Apache's names.
 */
#include "authz_core_private.h"
#include "http_core.h"
#include "http_log.h"
#include "ap_provider.h"
#include "apr_strings.h"
#include "brigade/assert.h"
#include "brigade/auth.h"
#include "brigade/directive.h"
#include "brigade/response_cache.h"

APLOG_USE_MODULE(authz_core);

/* Configurations whose tree check_config will look at; NULL once that is done, so that rules from
 * .htaccess files, which are read by any thread, never touch it. */
static apr_array_header_t *authz_unchecked;

/* cmd->limited inside a container that no <Limit> surrounds: every method, but not -1, so that
 * sections that may not stand inside <Limit> (<Files>, <If>) are refused here too. */
#define AUTHZ_LIMITED_MARK APR_INT64_MAX

const char *authz_node_name(apr_pool_t *p, const authz_node *node)
{
    if (node->provider) {
        return apr_pstrcat(p, "Require ", node->negate ? "not " : "", node->provider_name, " ",
                           node->args, NULL);
    }
    if (node->merged)
        return node->op == AUTHZ_OP_ALL ? "AuthMerging All" : "AuthMerging Any";
    if (node->op == AUTHZ_OP_ALL)
        return node->negate ? "<RequireNotAll>" : "<RequireAll>";
    return node->negate ? "<RequireNone>" : "<RequireAny>";
}

static authz_node *authz_node_container(apr_pool_t *p, authz_op op, int negate)
{
    authz_node *node = apr_pcalloc(p, sizeof(*node));

    node->op = op;
    node->negate = negate ? 1 : 0;
    return node;
}

static void authz_node_add(authz_node *parent, authz_node *child)
{
    BRG_ASSERT(parent && child && parent != child);
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->limited |= child->limited;
    parent->is_volatile |= child->is_volatile;
    parent->of_user |= child->of_user;
    parent->of_more |= child->of_more;
    parent->may_wait |= child->may_wait;
}

/* The container that the directive being read stands in. */
static authz_node *authz_open_node(cmd_parms *cmd, authz_dir_conf *conf)
{
    if (!conf->open) {
        conf->root = conf->open = authz_node_container(cmd->pool, AUTHZ_OP_ANY, 0);
        if (authz_unchecked && !conf->queued_to_check) {
            conf->queued_to_check = 1;
            APR_ARRAY_PUSH(authz_unchecked, authz_dir_conf *) = conf;
        }
    }
    return conf->open;
}

/* Recompute what is derived from conf->root. */
static void authz_tree_finish(authz_dir_conf *conf)
{
    const authz_node *root = conf->root, *one = root ? root->first : NULL;

    conf->grants_all = one && !one->next && !root->merged && one->limited == -1 && !one->negate &&
                       one->provider && authz_provider_grants_all(one->provider, one->parsed);
}

/* The dependencies of its outcome. */
static void authz_node_classify(authz_node *node)
{
    const int is_static = authz_provider_is_static(node->provider, node->parsed);
    const int tells =
        authz_provider_tells(node->provider) ||
        ap_lookup_provider(BRG_CACHE_AUTHZ_GROUP, node->provider_name, "0") == node->provider;
    const int of_user =
        ap_lookup_provider(BRG_AUTHZ_USER_GROUP, node->provider_name, "0") == node->provider &&
        !strchr(node->args, '%') && !strchr(node->args, '$');

    node->is_volatile = !is_static && !tells && !of_user;
    node->of_user = of_user;
    node->of_more = !authz_provider_is_static(node->provider, NULL) && !of_user;
    node->may_wait = !authz_provider_is_own(node->provider) && !tells && !of_user;
}

const char *authz_tree_text(apr_pool_t *p, const authz_node *node)
{
    const char *text =
        apr_psprintf(p, "%d%d%" APR_INT64_T_FMT "%s %s", node->op, node->negate, node->limited,
                     node->provider ? node->provider_name : "(", node->args ? node->args : "");

    for (const authz_node *child = node->first; child; child = child->next)
        text = apr_pstrcat(p, text, "\n", authz_tree_text(p, child), NULL);
    return node->provider ? text : apr_pstrcat(p, text, "\n)", NULL);
}

/* The last Require at or below node, and how many there are. */
static const ap_directive_t *authz_tree_lines(const authz_node *node, int *n)
{
    const ap_directive_t *last = node->line;

    *n += last != NULL;
    for (const authz_node *child = node->first; child; child = child->next) {
        const ap_directive_t *below = authz_tree_lines(child, n);

        last = below ? below : last;
    }
    return last;
}

const char *authz_tree_place(apr_pool_t *p, const authz_node *node)
{
    int n = 0;
    const ap_directive_t *last = authz_tree_lines(node, &n);

    if (!last)
        return "";
    return n == 1 ? apr_pstrcat(p, " (", brg_directive_place(p, last), ")", NULL)
                  : apr_psprintf(p, " (%s, the last of %d)", brg_directive_place(p, last), n);
}

const char *authz_cmd_require(cmd_parms *cmd, void *mconfig, const char *args)
{
    authz_dir_conf *conf = mconfig;
    authz_node *node = apr_pcalloc(cmd->pool, sizeof(*node)), *parent;
    const char *err;

    node->provider_name = ap_getword_conf(cmd->pool, &args);
    if (strcasecmp(node->provider_name, "not") == 0) {
        node->provider_name = ap_getword_conf(cmd->pool, &args);
        node->negate = 1;
    }
    node->args = args;
    node->line = cmd->directive;
    node->limited = cmd->limited == AUTHZ_LIMITED_MARK ? -1 : cmd->limited;
    node->provider =
        ap_lookup_provider(AUTHZ_PROVIDER_GROUP, node->provider_name, AUTHZ_PROVIDER_VERSION);
    if (!node->provider)
        return authz_unknown_provider(cmd, node->provider_name);
    if (!node->provider->check_authorization) {
        return apr_psprintf(cmd->pool,
                            "The '%s' Authz provider is not supported by any of the loaded "
                            "authorization modules",
                            node->provider_name);
    }
    if ((err = authz_parse_line(cmd, node->provider, node->provider_name, args, &node->parsed)))
        return err;
    authz_node_classify(node);
    parent = authz_open_node(cmd, conf);
    if (node->negate && (parent->op == AUTHZ_OP_ANY || parent->negate)) {
        return apr_psprintf(cmd->pool, "negative %s directive has no effect in %s directive",
                            cmd->cmd->name, authz_node_name(cmd->temp_pool, parent));
    }
    authz_node_add(parent, node);
    authz_tree_finish(conf);
    return NULL;
}

/* Let the closed container's members, or itself, join the parent. */
static void authz_node_join(authz_node *parent, authz_node *node)
{
    authz_node *child, *next;
    int flip = node->negate && node->op != parent->op;

    BRG_ASSERT(parent && node && parent != node);
    if (!flip && (node->negate || node->op != parent->op)) {
        authz_node_add(parent, node);
        return;
    }
    for (child = node->first; child; child = next) {
        next = child->next;
        if (flip)
            child->negate = !child->negate;
        authz_node_add(parent, child);
    }
}

const char *authz_parse_line(cmd_parms *cmd, const authz_provider *provider, const char *name,
                             const char *args, const void **parsed)
{
    if (!provider->parse_require_line)
        return NULL;
    apr_pool_userdata_setn(name, AUTHZ_PROVIDER_NAME_NOTE, NULL, cmd->temp_pool);
    return provider->parse_require_line(cmd, args, parsed);
}

static const char *authz_container_close(cmd_parms *cmd, authz_dir_conf *conf, authz_node *node)
{
    authz_node *parent;

    if (!node->first) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name,
                           "> directive contains no authorization directives", NULL);
    }
    parent = authz_open_node(cmd, conf);
    if (node->negate && (parent->op == AUTHZ_OP_ANY || parent->negate)) {
        return apr_psprintf(cmd->pool, "%s directive has no effect in %s directive",
                            authz_node_name(cmd->temp_pool, node),
                            authz_node_name(cmd->temp_pool, parent));
    }
    authz_node_join(parent, node);
    authz_tree_finish(conf);
    return NULL;
}

const char *authz_cmd_container(cmd_parms *cmd, void *mconfig, const char *args)
{
    authz_dir_conf *conf = mconfig;
    const char *end = ap_strrchr_c(args, '>'), *name = cmd->cmd->name, *err;
    authz_node *outer = conf->open, *node;
    apr_int64_t limited = cmd->limited;
    int override = cmd->override;

    if (*args && (!end || end[1])) /* "<RequireAll" alone is taken, as ever */
        return apr_pstrcat(cmd->pool, name, "> directive missing closing '>'", NULL);
    if (end > args)
        return apr_pstrcat(cmd->pool, name, "> directive doesn't take additional arguments", NULL);
    node = authz_node_container(cmd->pool,
                                strcasecmp(name, "<RequireAll") == 0 ? AUTHZ_OP_ALL : AUTHZ_OP_ANY,
                                strcasecmp(name, "<RequireNone") == 0);
    conf->open = node;
    cmd->override = OR_AUTHCFG;
    if (limited == -1)
        cmd->limited = AUTHZ_LIMITED_MARK;
    err = ap_walk_config(cmd->directive->first_child, cmd, cmd->context);
    cmd->limited = limited;
    cmd->override = override;
    conf->open = outer;
    return err ? err : authz_container_close(cmd, conf, node);
}

const char *authz_cmd_merging(cmd_parms *cmd, void *mconfig, const char *arg)
{
    authz_dir_conf *conf = mconfig;

    if (strcasecmp(arg, "Off") == 0)
        conf->merge = AUTHZ_MERGE_OFF;
    else if (strcasecmp(arg, "And") == 0)
        conf->merge = AUTHZ_MERGE_AND;
    else if (strcasecmp(arg, "Or") == 0)
        conf->merge = AUTHZ_MERGE_OR;
    else
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be one of: Off | And | Or", NULL);
    return NULL;
}

void *authz_dir_create(apr_pool_t *p, char *dir)
{
    authz_dir_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->forbid = -1;
    return conf;
}

static authz_node *authz_merge_roots(apr_pool_t *p, const authz_node *base, const authz_node *add,
                                     authz_op op)
{
    authz_node *both = authz_node_container(p, op, 0);

    both->merged = 1;
    authz_node_add(both, apr_pmemdup(p, base, sizeof(*base)));
    authz_node_add(both, apr_pmemdup(p, add, sizeof(*add)));
    return both;
}

void *authz_dir_merge(apr_pool_t *p, void *basev, void *addv)
{
    const authz_dir_conf *base = basev, *add = addv;
    authz_dir_conf *conf = apr_pcalloc(p, sizeof(*conf));

    if (add->merge == AUTHZ_MERGE_OFF || !base->root ||
        (add->root && add->merge == AUTHZ_MERGE_UNSET)) {
        conf->root = add->root;
    } else if (!add->root) {
        conf->root = base->root;
    } else {
        conf->root = authz_merge_roots(p, base->root, add->root,
                                       add->merge == AUTHZ_MERGE_AND ? AUTHZ_OP_ALL : AUTHZ_OP_ANY);
    }
    /* Sections of one kind are merged with each other before they meet those of the kind before. */
    conf->merge = add->merge;
    conf->forbid = add->forbid >= 0 ? add->forbid : base->forbid;
    authz_tree_finish(conf);
    return conf;
}

void authz_tree_begin(apr_pool_t *pconf)
{
    authz_unchecked = pconf ? apr_array_make(pconf, 8, sizeof(authz_dir_conf *)) : NULL;
}

/* 1 if some container in the tree has negated members only: it can never grant. */
static int authz_node_is_hopeless(apr_pool_t *ptemp, server_rec *s, const authz_node *node)
{
    int positive = 0;

    if (node->provider)
        return 0;
    for (const authz_node *child = node->first; child; child = child->next) {
        if (authz_node_is_hopeless(ptemp, s, child))
            return 1;
        positive |= !child->negate;
    }
    if (!positive) {
        ap_log_error(APLOG_MARK, APLOG_ERR | APLOG_STARTUP, 0, s,
                     APLOGNO(01624) "%s directive contains only negative authorization directives",
                     authz_node_name(ptemp, node));
    }
    return !positive;
}

int authz_tree_check(apr_pool_t *ptemp, server_rec *s)
{
    int rv = OK;

    for (int i = 0; authz_unchecked && i < authz_unchecked->nelts; i++) {
        const authz_dir_conf *conf = APR_ARRAY_IDX(authz_unchecked, i, authz_dir_conf *);
        if (authz_node_is_hopeless(ptemp, s, conf->root))
            rv = !OK;
    }
    authz_unchecked = NULL;
    return rv;
}
