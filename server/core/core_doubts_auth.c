/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords that cannot be asked for: a file that is not there, no AuthName, no file at all; and rules of Apache 2.2 beside Require. */
#include "core_doubts_private.h"
#include "apr_strings.h"
#include <errno.h>

#include <sys/stat.h>

static int auth_is(const ap_directive_t *node, const char *name)
{
    return !ap_cstr_casecmp(node->directive, name);
}

static void auth_file(core_doubts *d, const ap_directive_t *node)
{
    const char *path = ap_server_root_relative(d->p, core_doubts_word(d, node, 0));
    struct stat st;

    if (path && stat(path, &st) && errno == ENOENT)
        core_doubts_say(
            d, node,
            "%s: %s is not there, so nobody is let in; write one (htpasswd -c %s NAME), "
            "or another path",
            node->directive, path, path);
}

static const ap_directive_t *auth_find(const ap_directive_t *tree, const char *name)
{
    for (; tree; tree = tree->next)
        if (auth_is(tree, name))
            return tree;
    return NULL;
}

static void auth_count(core_doubts *d, const ap_directive_t *node)
{
    d->found |= auth_is(node, d->nearest->word);
}

/* Whether a line stands in the section, or may come to it from another one. */
static int auth_may_have(core_doubts *d, const ap_directive_t *section, const char *name)
{
    brg_nearest wanted = {name, NULL, 0};

    if (auth_find(section->first_child, name))
        return 1;
    d->nearest = &wanted;
    d->found = 0;
    core_doubts_each(d, ap_conftree, auth_count);
    /* Of sections with a pair of their own nothing comes. */
    if (d->found && auth_find(section->first_child, "AuthType")) {
        for (const ap_directive_t *node = section->parent ? section->parent->first_child
                                                          : ap_conftree;
             node; node = node->next)
            if (node != section && auth_find(node->first_child, name) &&
                !auth_find(node->first_child, "AuthType"))
                return 1;
        return 0;
    }
    return d->found;
}

static void auth_type(core_doubts *d, const ap_directive_t *node)
{
    const char *type = core_doubts_word(d, node, 0), *provider;
    const ap_directive_t *section = node->parent;

    if (!section || (ap_cstr_casecmp(type, "Basic") && ap_cstr_casecmp(type, "Digest")))
        return;
    if (!auth_may_have(d, section, "AuthName"))
        core_doubts_say(d, node,
                        "AuthType %s without AuthName: each request gets 500; write AuthName "
                        "\"Members\" in this section",
                        type);
    provider = ap_cstr_casecmp(type, "Basic") ? "AuthDigestProvider" : "AuthBasicProvider";
    if (!auth_may_have(d, section, "AuthUserFile") && !auth_may_have(d, section, provider))
        core_doubts_say(d, node,
                        "AuthType %s without AuthUserFile: each request gets 500; write "
                        "AuthUserFile PATH in this section",
                        type);
}

/* Require and Order in one section: both have to let a client in. */
static void auth_both(core_doubts *d, const ap_directive_t *node)
{
    const ap_directive_t *siblings = node->parent ? node->parent->first_child : ap_conftree;
    const ap_directive_t *require = auth_find(siblings, "Require");

    if (require && (auth_find(siblings, "Allow") || auth_find(siblings, "Deny")) &&
        !auth_find(siblings, "Satisfy") && !auth_find(siblings, "AuthType"))
        core_doubts_say(
            d, node,
            "%s beside Require (line %d): a request has to pass both; write the rule as "
            "Require alone, and take Order, Allow and Deny out",
            node->directive, require->line_num);
}

void core_doubts_auth(core_doubts *d, const ap_directive_t *node)
{
    if (auth_is(node, "AuthUserFile") || auth_is(node, "AuthGroupFile"))
        auth_file(d, node);
    else if (auth_is(node, "AuthType"))
        auth_type(d, node);
    else if (auth_is(node, "Order"))
        auth_both(d, node);
}
