/* SPDX-License-Identifier: Apache-2.0 */
/* How arguments are cut and counted for each kind of setter, and how a module's directives are
 * found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "test_config.h"
#include "configuration.h"
#include "apr_strings.h"

static char seen[256];

static void note(const char *w)
{
    strcat(strcat(seen, "["), w ? w : "NULL");
    strcat(seen, "]");
}

static const char *take1(cmd_parms *cmd, void *dir, const char *a)
{
    note(a);
    return strcmp(a, "bad") ? NULL : "is bad";
}

static const char *take2(cmd_parms *cmd, void *dir, const char *a, const char *b)
{
    note(a);
    note(b);
    return NULL;
}

static const char *take3(cmd_parms *cmd, void *dir, const char *a, const char *b, const char *c)
{
    note(a);
    note(b);
    note(c);
    return NULL;
}

static const char *flag(cmd_parms *cmd, void *dir, int on)
{
    note(on ? "1" : "0");
    return NULL;
}

static const char *none(cmd_parms *cmd, void *dir)
{
    note("none");
    return NULL;
}

static const char *argv_setter(cmd_parms *cmd, void *dir, int argc, char *const argv[])
{
    for (int i = 0; i < argc; i++)
        note(argv[i]);
    return NULL;
}

static const char *decline(cmd_parms *cmd, void *dir, const char *a)
{
    note("declined");
    return DECLINE_CMD;
}

static const command_rec commands[] = {
    AP_INIT_RAW_ARGS("XRaw", take1, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE1("XTake1", take1, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE2("XTake2", take2, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE12("XTake12", take2, NULL, RSRC_CONF, NULL),
    AP_INIT_TAKE3("XTake3", take3, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE23("XTake23", take3, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE123("XTake123", take3, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE13("XTake13", take3, NULL, RSRC_CONF, "help"),
    AP_INIT_ITERATE("XIterate", take1, NULL, RSRC_CONF, "help"),
    AP_INIT_ITERATE2("XIterate2", take2, NULL, RSRC_CONF, "help"),
    AP_INIT_FLAG("XFlag", flag, NULL, RSRC_CONF, "help"),
    {"XNone", {.no_args = none}, NULL, RSRC_CONF, NO_ARGS, "help"},
    AP_INIT_TAKE_ARGV("XArgv", argv_setter, NULL, RSRC_CONF, "help"),
    AP_INIT_TAKE1("XDecline", decline, NULL, RSRC_CONF, "help"),
    {.name = NULL}};

static const command_rec more_commands[] = {
    AP_INIT_TAKE1("xdecline", take1, NULL, RSRC_CONF, "help"), {.name = NULL}};

static module probe = {.version = MODULE_MAGIC_NUMBER_MAJOR,
                       .module_index = -1,
                       .name = "/some/path/mod_probe.c",
                       .magic = MODULE_MAGIC_COOKIE,
                       .cmds = commands};
static module probe2 = {.version = MODULE_MAGIC_NUMBER_MAJOR,
                        .module_index = -1,
                        .name = "mod_probe2.c",
                        .magic = MODULE_MAGIC_COOKIE,
                        .cmds = more_commands};

static void test_arguments(void **state)
{
    static const struct {
        const char *line;
        const char *want; /* NULL: an error, whose text is in error */
        const char *error;
    } cases[] = {
        {"XRaw  a \"b c\" d", "[a \"b c\" d]", NULL},
        {"XRaw", "[]", NULL},
        {"XTake1 a", "[a]", NULL},
        {"xtake1 \"a b\"", "[a b]", NULL},
        {"XTAKE1 'a \"b'", "[a \"b]", NULL},
        {"XTake1", NULL, "XTake1 takes one argument, help"},
        {"XTake1 a b", NULL, "XTake1 takes one argument, help"},
        {"XTake1 \"\"", NULL, "XTake1 takes one argument, help"},
        {"XTake1 bad", NULL, "is bad"},
        {"XTake2 a b", "[a][b]", NULL},
        {"XTake2 a", NULL, "XTake2 takes two arguments, help"},
        {"XTake2 a \"\"", NULL, "XTake2 takes two arguments, help"},
        {"XTake2 a b c", NULL, "XTake2 takes two arguments, help"},
        {"XTake12 a", "[a][NULL]", NULL},
        {"XTake12 a \"\"", "[a][NULL]", NULL},
        {"XTake12 a b", "[a][b]", NULL},
        {"XTake12", NULL, "XTake12 takes 1-2 arguments"},
        {"XTake12 a b c", NULL, "XTake12 takes 1-2 arguments"},
        {"XTake3 a b c", "[a][b][c]", NULL},
        {"XTake3 a b", NULL, "XTake3 takes three arguments, help"},
        {"XTake3 a b c d", NULL, "XTake3 takes three arguments, help"},
        {"XTake23 a b", "[a][b][NULL]", NULL},
        {"XTake23 a b c", "[a][b][c]", NULL},
        {"XTake23 a", NULL, "XTake23 takes two or three arguments, help"},
        {"XTake123 a", "[a][NULL][NULL]", NULL},
        {"XTake123 a b", "[a][b][NULL]", NULL},
        {"XTake123 a b c", "[a][b][c]", NULL},
        {"XTake123", NULL, "XTake123 takes one, two or three arguments, help"},
        {"XTake13 a", "[a][NULL][NULL]", NULL},
        {"XTake13 a b c", "[a][b][c]", NULL},
        {"XTake13 a b", NULL, "XTake13 takes one or three arguments, help"},
        {"XIterate a b c", "[a][b][c]", NULL},
        {"XIterate", NULL, "XIterate requires at least one argument, help"},
        {"XIterate a bad c", NULL, "is bad"},
        {"XIterate2 k a b", "[k][a][k][b]", NULL},
        {"XIterate2 k", NULL, "XIterate2 requires at least two arguments, help"},
        {"XFlag On", "[1]", NULL},
        {"XFlag off", "[0]", NULL},
        {"XFlag yes", NULL, "XFlag must be On or Off"},
        {"XFlag On On", "[1]", NULL},
        {"XNone", "[none]", NULL},
        {"XNone a", NULL, "XNone takes no arguments, help"},
        {"XArgv", "", NULL},
        {"XArgv a \"b c\"", "[a][b c]", NULL},
        {"XDecline a", "[a][declined]", NULL},
        {"<If \"true\">\nXTake1 a\n</If>", NULL, "XTake1 not allowed in <If> context"},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int good;

        *seen = '\0';
        good = test_config_read(cases[i].line);
        if (good != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].line, test_messages);
        if (good && strcmp(seen, cases[i].want))
            fail_msg("%s: saw %s", cases[i].line, seen);
        if (!good && !strstr(test_messages, cases[i].error))
            fail_msg("%s: said %s", cases[i].line, test_messages);
    }
}

static int setup(void **state)
{
    return test_config_setup(state) ||
           ap_add_loaded_module(&probe, test_process->pool, "probe_module") ||
           ap_add_loaded_module(&probe2, test_process->pool, "probe2_module");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arguments)};

    return cmocka_run_group_tests(tests, setup, test_config_teardown);
}
