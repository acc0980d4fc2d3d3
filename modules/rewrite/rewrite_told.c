/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules of a server and of a folder make of the last name of a path, or of all that it has behind a prefix, so that the answer to
 * one name can be sent for others.
 *
 * Two names go the same way where each rule matches both or neither, with the same groups: such as lie before the name, or reach to its
 * end. Conditions may look at nothing that goes with the name, so they say the same of both, whatever they say; but for %{REQUEST_URI}, which
 * both have to match or not, also with text and groups of the rule beside it. A rule that matches must
 * leave the path as it is, lead to the same path whatever the name (in whose query the groups may stand), or end the request: else those behind
 * it match what it made of the name.
 */
#include "rewrite_private.h"
#include "apr_lib.h"
#include "brigade/assert.h"
#include "brigade/response_cache.h"

#include <string.h>
#include <strings.h>

/* ---- rules, when they are read ---- */

/* Variables that are the same for all names; @param name  up to a brace. */
static int told_variable(const char *name, size_t len, int in_output)
{
    static const char *const same[] = {
        "HTTPS",          "HTTP_HOST",   "HTTP_USER_AGENT", "HTTP_REFERER",  "HTTP_COOKIE",
        "HTTP_ACCEPT",    "SERVER_NAME", "SERVER_PORT",     "SERVER_ADMIN",  "REQUEST_METHOD",
        "REQUEST_SCHEME", "REMOTE_ADDR", "QUERY_STRING",    "DOCUMENT_ROOT", NULL};

    if (len > 5 && !strncmp(name, "HTTP:", 5))
        return 1;
    if (in_output && len == 11 && !strncmp(name, "REQUEST_URI", len))
        return 1;
    for (const char *const *at = same; *at; at++)
        if (strlen(*at) == len && !strncmp(name, *at, len))
            return 1;
    return 0;
}

/* @return the place behind a reference; NULL: it may go with the name. @param groups  of an output: those that it has, added; or NULL */
static const char *told_reference(const char *text, unsigned *groups)
{
    const char *end;

    if (apr_isdigit(text[1])) {
        if (*text == '$' && !groups)
            return NULL;
        if (*text == '$')
            *groups |= 1u << (text[1] - '0');
        return text + 2;
    }
    if (text[1] != '{')
        return text + 1;
    end = strchr(text, '}');
    return *text == '%' && end && told_variable(text + 2, (size_t)(end - text) - 2, groups != NULL)
               ? end + 1
               : NULL;
}

static int told_text(const char *text, unsigned *groups)
{
    while (text && *text) {
        text += strcspn(text, "\\$%");
        if (*text == '\\')
            text += text[1] ? 2 : 1;
        else if (*text && !(text = told_reference(text, groups)))
            return 0;
    }
    return 1;
}

/* All names of an answer lead to files that are not empty, or to none. */
static int told_file_test(const rewrite_cond *cond)
{
    return (cond->test == REWRITE_FILE || cond->test == REWRITE_FOLDER ||
            cond->test == REWRITE_NONEMPTY || cond->test == REWRITE_LINK) &&
           (!strcmp(cond->input, "%{REQUEST_FILENAME}") ||
            !strcmp(cond->input, "%{SCRIPT_FILENAME}"));
}

#define TOLD_URI "%{REQUEST_URI}"

/* Text, the path, and what the rule's pattern matched of it: Symfony and others find the folder that they are in by "%{REQUEST_URI}::$0". */
static int told_path_text(const char *text)
{
    for (; *(text += strcspn(text, "\\$%")); text += *text == '$' ? 2 : sizeof TOLD_URI - 1)
        if ((*text != '$' || !apr_isdigit(text[1])) &&
            strncmp(text, TOLD_URI, sizeof TOLD_URI - 1) != 0)
            return 0;
    return 1;
}

/* Each path is tested anew. */
static int told_path_test(const rewrite_cond *cond)
{
    return (cond->test == REWRITE_SAME ? cond->operand != NULL
                                       : cond->test == REWRITE_REGEX && cond->regex) &&
           told_path_text(cond->input);
}

/* Conditions of which one alone decides. */
static void told_by_file(rewrite_rule *rule)
{
    int joined = 0;

    for (int i = 0; i < rule->conds->nelts; i++) {
        const rewrite_cond *cond = &APR_ARRAY_IDX(rule->conds, i, rewrite_cond);

        if (!joined && !cond->or_next && told_file_test(cond)) {
            if (cond->test != REWRITE_LINK)
                rule->no_file |= (cond->test == REWRITE_FOLDER) != cond->negated;
            rule->no_lack |= !cond->negated;
        }
        joined = cond->or_next;
    }
}

static int told_conditions(const apr_array_header_t *conds)
{
    for (int i = 0; i < conds->nelts; i++) {
        const rewrite_cond *cond = &APR_ARRAY_IDX(conds, i, rewrite_cond);
        const int compares = cond->test == REWRITE_REGEX || cond->test >= REWRITE_LESS;

        if (!told_file_test(cond) && !(cond->of_path && !cond->captures) &&
            (!compares || cond->test == REWRITE_EXPR || !told_text(cond->input, NULL)))
            return 0;
    }
    return 1;
}

static int told_variables(const apr_array_header_t *envs)
{
    for (int i = 0; envs && i < envs->nelts; i++)
        if (!told_text(APR_ARRAY_IDX(envs, i, const char *), NULL))
            return 0;
    return 1;
}

#define TOLD_WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* The length of a variable of the environment in front of a path: it is the same for names that modules decide alike. */
static size_t told_base(const rewrite_rule *rule)
{
    const size_t word = 6 + strspn(rule->output + strnlen(rule->output, 6), TOLD_WORD);

    return !(rule->flags & (REWRITE_F_STATUS | REWRITE_F_REDIRECT)) &&
                   !strncmp(rule->output, "%{ENV:", 6) && rule->output[word] == '}'
               ? word + 1
               : 0;
}

/* A path of this server, the same for all names, or with them at its end; what its query has of them is as with groups of a redirect. */
static int told_leads(const rewrite_rule *rule)
{
    const unsigned never = REWRITE_F_NOSUB | REWRITE_F_STATUS | REWRITE_F_REDIRECT;
    const char *output = rule->output + told_base(rule);
    const char *behind = output + strcspn(output, "$%\\?");

    if (behind > output && *behind == '$' && apr_isdigit(behind[1]))
        behind += 2;
    return !(rule->flags & never) &&
           (!*behind || (*behind == '?' && told_path_text(behind) &&
                         !(rule->flags & (REWRITE_F_QSLAST | REWRITE_F_QSNONE)))) &&
           !rewrite_scheme(rule->output, NULL);
}

void rewrite_tell_rule(rewrite_rule *rule)
{
    const unsigned never = REWRITE_F_NEXT | REWRITE_F_PROXY | REWRITE_F_PASS | REWRITE_F_ESCAPE |
                           REWRITE_F_DISCARDPATH | REWRITE_F_CHAIN;
    const unsigned stays = REWRITE_F_NOSUB | REWRITE_F_STATUS | REWRITE_F_REDIRECT;

    for (int i = 0; i < rule->conds->nelts; i++) {
        rewrite_cond *cond = &APR_ARRAY_IDX(rule->conds, i, rewrite_cond);

        cond->of_path = told_path_test(cond) != 0;
    }
    told_by_file(rule);
    rule->told = !(rule->flags & never) && !rule->skip && !rule->type && !rule->handler &&
                 !rule->cookies && told_variables(rule->envs) && told_conditions(rule->conds) &&
                 told_text(rule->output + told_base(rule), &rule->groups) &&
                 (rule->flags & stays || told_leads(rule));
    for (int i = 0; i < rule->conds->nelts; i++) {
        const rewrite_cond *cond = &APR_ARRAY_IDX(rule->conds, i, rewrite_cond);

        rule->files |= (unsigned)told_file_test(cond);
        rule->links |= told_file_test(cond) && cond->test == REWRITE_LINK;
    }
}

/* ---- a name ---- */

typedef struct told_name {
    const char *uri;  /* decoded */
    const char *path; /* what rules match, with what goes on behind the name */
    size_t len, at;   /* of it, and where the name begins */
    int of_server;    /* rules come before names are looked for: where they lead is not told */
    apr_uint64_t said;
} told_name;

static void told_mix(told_name *n, apr_uint64_t more)
{
    n->said = (n->said ^ more) * 0x9e3779b97f4a7c15u;
    n->said ^= n->said >> 29;
}

/* @return 0: one has a part of the name */
static int told_groups(told_name *n, unsigned groups, const ap_regmatch_t *at)
{
    for (int i = 0; groups; groups >>= 1, i++) {
        const size_t from = (size_t)at[i].rm_so, to = (size_t)at[i].rm_eo;

        if (!(groups & 1))
            continue;
        if (at[i].rm_so < 0 || from == to) {
            told_mix(n, (apr_uint64_t)i);
            continue;
        }
        if (to > n->at && (to != n->len || from > n->at))
            return 0;
        told_mix(n, (apr_uint64_t)i | (from + 1) << 4 | (to > n->at ? 0 : (to + 1) << 32));
    }
    return 1;
}

#define TOLD_PATH_MOST 2048

/* What a condition on the path looks at. @param at  what the rule's pattern matched; NULL: nothing @return 0: it is too long */
static const char *told_input(const told_name *n, const char *text, const ap_regmatch_t *at,
                              char *room)
{
    char *to = room, *end = room + TOLD_PATH_MOST;

    if (!strcmp(text, TOLD_URI))
        return n->uri;
    while (*text) {
        const int is_uri = *text == '%', is_group = *text == '$';
        const ap_regmatch_t *group = is_group && at ? &at[text[1] - '0'] : NULL;
        const char *from = is_uri ? n->uri : text;
        size_t len = is_uri ? strlen(from) : is_group ? 0 : strcspn(text, "$%");

        if (group && group->rm_eo > group->rm_so && group->rm_so >= 0) {
            from = n->path + group->rm_so;
            len = (size_t)(group->rm_eo - group->rm_so);
        }
        if (len >= (size_t)(end - to))
            return NULL;
        to = mempcpy(to, from, len);
        text += is_uri ? sizeof TOLD_URI - 1 : is_group ? 2 : len;
    }
    *to = '\0';
    return room;
}

/* @return 1 or 0; -1: it cannot be told */
static int told_path_holds(const told_name *n, const rewrite_cond *cond, const ap_regmatch_t *at)
{
    char room[TOLD_PATH_MOST];
    const char *input = told_input(n, cond->input, at, room);
    int rv;

    if (!input)
        return -1;
    if (cond->test == REWRITE_SAME)
        rv = (cond->nocase ? strcasecmp : strcmp)(input, cond->operand);
    else if ((rv = ap_regexec(cond->regex, input, 0, NULL, 0)) != 0 && rv != AP_REG_NOMATCH)
        return -1;
    return (rv == 0) != cond->negated;
}

/* Conditions that look at the path, whether they are come to or not. @return 0: one cannot be told */
static int told_paths(told_name *n, const apr_array_header_t *conds, const ap_regmatch_t *at)
{
    for (int i = 0; i < conds->nelts; i++) {
        const rewrite_cond *cond = &APR_ARRAY_IDX(conds, i, rewrite_cond);
        const int holds = cond->of_path ? told_path_holds(n, cond, at) : 0;

        if (holds < 0)
            return 0;
        told_mix(n, (unsigned)holds);
    }
    return 1;
}

/* One of the conditions, or all that OR joins, fail for this path, whatever the others say: the rule does nothing, whatever it would do. */
static int told_fails(const told_name *n, const apr_array_header_t *conds, const ap_regmatch_t *at)
{
    int failed = 1;

    for (int i = 0; i < conds->nelts; i++) {
        const rewrite_cond *cond = &APR_ARRAY_IDX(conds, i, rewrite_cond);

        failed = failed && cond->of_path && told_path_holds(n, cond, at) == 0;
        if (!cond->or_next && failed)
            return 1;
        failed |= !cond->or_next;
    }
    return 0;
}

/* It matches. @return 0: its effect is not the same for names that are told alike */
static int told_effect(told_name *n, const rewrite_rule *rule, const ap_regmatch_t *at)
{
    const unsigned stays = REWRITE_F_NOSUB | REWRITE_F_STATUS | REWRITE_F_REDIRECT;

    return rule->told && (!n->of_server || (!rule->files && rule->flags & stays)) &&
           (rule->flags & REWRITE_F_NEGATED || told_groups(n, rule->groups, at)) &&
           told_paths(n, rule->conds, rule->flags & REWRITE_F_NEGATED ? NULL : at);
}

/* @return 1: the rules behind it do not run; 0: they may; -1: it cannot be told */
static int told_rule(told_name *n, const rewrite_rule *rule, int is_file, int is_last)
{
    const unsigned ends = REWRITE_F_LAST | REWRITE_F_END;
    const int negated = (rule->flags & REWRITE_F_NEGATED) != 0;
    ap_regmatch_t at[AP_MAX_REG_MATCH];
    int rv, fails;

    if (!n->of_server && (is_file ? rule->no_file : rule->no_lack))
        return 0;
    rv = ap_regexec_len(rule->regex, n->path, n->len, AP_MAX_REG_MATCH, at, 0);
    if (rv && rv != AP_REG_NOMATCH)
        return -1;
    told_mix(n, (rv == 0) != negated);
    if ((rv == 0) == negated)
        return 0;
    if (is_file && rule->links) /* of two files one may be a link */
        return -1;
    fails = told_fails(n, rule->conds, negated ? NULL : at);
    told_mix(n, (unsigned)fails);
    if (fails)
        return 0;
    if (!told_effect(n, rule, at))
        return -1;
    if (rule->flags & REWRITE_F_STATUS)
        return !rule->conds->nelts;
    if (!(rule->flags & REWRITE_F_NOSUB) && !(rule->flags & ends) && !is_last)
        return -1; /* those behind it match what it made, with what goes on behind the name */
    return (rule->flags & ends) && !rule->conds->nelts;
}

/* Rules that are chained to one that does not match are skipped with it. @return the last of them */
static int told_skip_chain(const apr_array_header_t *rules, int i)
{
    while (i < rules->nelts && APR_ARRAY_IDX(rules, i, rewrite_rule).flags & REWRITE_F_CHAIN)
        i++;
    return i;
}

static int told_rules(told_name *n, const apr_array_header_t *rules, int is_file)
{
    int ended = 0;

    for (int i = 0; !ended && i < rules->nelts; i++) {
        const rewrite_rule *rule = &APR_ARRAY_IDX(rules, i, rewrite_rule);

        ended = told_rule(n, rule, is_file, i == rules->nelts - 1);
        if (!ended &&
            rule->flags & REWRITE_F_CHAIN) /* told_rule() tells nothing of one that matches */
            i = told_skip_chain(rules, i);
    }
    return ended;
}

/* What rules of a folder match. @return 0: it is too long */
static int told_path(char *room, const char *filename, const char *path_info)
{
    const size_t len = strlen(filename), rest = strlen(path_info);

    if (len + rest >= TOLD_PATH_MOST)
        return 0;
    memcpy(room, filename, len);
    memcpy(room + len, path_info, rest + 1);
    return 1;
}

/* What rules of the server make of @a path. @return 0: it cannot be told */
static int told_server(told_name *n, const apr_array_header_t *rules, const char *path,
                       const char *filename, const char *path_info)
{
    const size_t len = strlen(path), behind = strlen(path_info);
    const char *slash = memrchr(path, '/', len - behind);

    BRG_ASSERT(behind <= len);
    if (!slash)
        return 0;
    n->path = path;
    n->len = len;
    n->at = !filename && behind ? len - behind : (size_t)(slash + 1 - path);
    n->of_server = 1;
    return told_rules(n, rules, 0) >= 0;
}

/* What rules of the folder make of the file's name. */
static int told_folder(told_name *n, const rewrite_conf *section, const char *filename,
                       const char *path_info, int is_file)
{
    const char *slash = strrchr(filename, '/');
    size_t folder = section->directory ? strlen(section->directory) : 0;
    char room[TOLD_PATH_MOST];

    if (!slash || (*path_info && !told_path(room, filename, path_info)))
        return 0;
    if (!folder || strncmp(filename, section->directory, folder) != 0 ||
        folder > (size_t)(slash - filename) + 1)
        folder = 0;
    n->at = (size_t)(slash - filename) + 1 - folder;
    n->path = (*path_info ? room : filename) + folder;
    n->len = strlen(n->path);
    n->of_server = 0;
    return told_rules(n, section->rules, is_file) >= 0;
}

/* Rules of a server are asked whether they run or not: then they tell names apart that are alike. */
apr_int64_t rewrite_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                         const char *filename, const char *path_info, int is_file)
{
    const rewrite_conf *server = ap_get_module_config(s->module_config, &rewrite_module);
    const rewrite_conf *section = ap_get_module_config(dir, &rewrite_module);
    told_name n = {.uri = path, .said = 0x5851f42d4c957f2du};

    if (!server->on && !section->on)
        return 0;
    if (server->rules->nelts && !told_server(&n, server->rules, path, filename, path_info))
        return BRG_CACHE_NAME_COUNTS;
    if (filename && section->on && !told_folder(&n, section, filename, path_info, is_file))
        return BRG_CACHE_NAME_COUNTS;
    return (apr_int64_t)(n.said >> 1);
}
