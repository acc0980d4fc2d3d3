/* SPDX-License-Identifier: Apache-2.0 */
/* <IfVersion [!]op version>: op is one of = == > >= < <= with a version, ~ or = with a regular
 * expression. The version compared with is that of the Apache whose configuration we read. */
#include "httpd.h"
#include "brigade/assert.h"
#include "http_config.h"
#include "http_core.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include <stdlib.h>
#include "configuration.h"
#include "core_section.h"

#define VERSION_BAD                                                                              \
    "Version appears to be invalid. It must have the format major[.minor[.patch]] where major, " \
    "minor and patch are numbers."

/* Missing parts count as 0. @return < 0, 0, > 0: ours is older, the same, newer */
static const char *version_compare(const char *text, int *order)
{
    ap_version_t ours;
    int part[3] = {0, 0, 0};

    for (int i = 0; i < 3; i++) {
        char *end;

        if (!apr_isdigit(*text))
            return VERSION_BAD;
        part[i] = (int)strtol(text, &end, 10);
        text = end;
        if (*text == '.' && i < 2)
            text++;
        else
            break;
    }
    if (*text)
        return VERSION_BAD;
    ap_get_server_revision(&ours);
    *order = ours.major != part[0]   ? ours.major - part[0]
             : ours.minor != part[1] ? ours.minor - part[1]
                                     : ours.patch - part[2];
    return NULL;
}

static const char *version_match(cmd_parms *cmd, const char *pattern, int *holds)
{
    ap_regex_t *regex = ap_pregcomp(cmd->temp_pool, pattern, AP_REG_EXTENDED);
    ap_version_t v;

    if (!regex)
        return "Unable to compile regular expression";
    ap_get_server_revision(&v);
    *holds = !ap_regexec(
        regex, apr_psprintf(cmd->temp_pool, "%d.%d.%d%s", v.major, v.minor, v.patch, v.add_string),
        0, NULL, 0);
    return NULL;
}

static int version_holds(char op, int equal, int order)
{
    BRG_ASSERT(op == '=' || op == '<' || op == '>');
    if (order == 0)
        return op == '=' || equal;
    return op == '>' ? order > 0 : op == '<' && order < 0;
}

static const char *version_ordered(char op, int equal, const char *version, int *holds)
{
    int order = 0;
    const char *error = version_compare(version, &order);

    *holds = version_holds(op, equal, order);
    return error;
}

/* "= /regex/" is another way to write "~ regex". */
static const char *version_equal(cmd_parms *cmd, const char *version, int *holds)
{
    apr_size_t len = strlen(version);

    if (len >= 2 && version[0] == '/' && version[len - 1] == '/')
        return version_match(cmd, apr_pstrmemdup(cmd->temp_pool, version + 1, len - 2), holds);
    return version_ordered('=', 1, version, holds);
}

static const char *version_test(cmd_parms *cmd, const char *op, const char *version, int *holds)
{
    if (!strcmp(op, "=") || !strcmp(op, "=="))
        return version_equal(cmd, version, holds);
    if (!strcmp(op, "~") && *version)
        return version_match(cmd, version, holds);
    if ((*op == '<' || *op == '>') && (!op[1] || (op[1] == '=' && !op[2])))
        return version_ordered(*op, op[1] == '=', version, holds);
    return apr_pstrcat(cmd->pool, "unrecognized operator '", op, "'", NULL);
}

static const char *version_section(cmd_parms *cmd, void *tree, const char *arg)
{
    const char *text, *op, *version, *error = core_section_text(cmd, arg, &text);
    int negate, holds = 0;

    if (error)
        return error;
    op = ap_getword_conf(cmd->temp_pool, &text);
    version = ap_getword_conf(cmd->temp_pool, &text);
    if (*text)
        return core_section_missing_gt(cmd);
    negate = *op == '!';
    op += negate;
    if (!*version && apr_isdigit(*op)) {
        version = op;
        op = "=";
    }
    error = version_test(cmd, op, version, &holds);
    if (error)
        return error;
    BRG_ASSERT(tree != NULL);
    return conf_conditional(cmd, tree, holds != negate);
}

static const command_rec version_commands[] = {
    AP_INIT_RAW_ARGS("<IfVersion", version_section, NULL, EXEC_ON_READ | OR_ALL,
                     "a comparison operator, a version (and a delimiter)"),
    {.name = NULL}};

module AP_MODULE_DECLARE_DATA version_module;
module AP_MODULE_DECLARE_DATA version_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, version_commands, NULL, AP_MODULE_FLAG_NONE};
