/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of mistake gets a message with file, line and directive, in Apache's words where those
 * are known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "generation.h"
#include "test_config.h"
#include "apr_strings.h"

typedef struct message_case {
    const char *text;
    const char *message; /* part of what is said; NULL: the text is fine */
} message_case;

#define LINE(n) "Syntax error on line " #n " of -c/-C directives:\n"

static void check_messages(const message_case *c, size_t n)
{
    for (; n; n--, c++) {
        int good = test_config_read(c->text);

        /* Who asks why it cannot be used hears a line; of one that can be used there is nothing to hear. */
        assert_int_equal(*conf_fault() != '\0', !good);
        if (good != !c->message || (c->message && !strstr(test_messages, c->message)))
            fail_msg("%s\n%s: %s", c->text, good ? "is fine" : "is refused", test_messages);
    }
}

#define CHECK(cases) check_messages(cases, sizeof(cases) / sizeof *(cases))

static void test_structure(void **state)
{
    static const message_case cases[] = {
        {"Foo bar", LINE(1) "Invalid command 'Foo', perhaps misspelled or defined by a module not "
                            "included in the server configuration"},
        {"\n\nFoo", LINE(3)},
        {"BuiltinModule zstd_module Off\nZstdFileLevel 3",
         LINE(2) "Invalid command 'ZstdFileLevel', perhaps misspelled or defined by a module not "
                 "included in the server configuration: it is a directive of mod_zstd, which "},
        {"Foo \\\n x", LINE(2)},
        {"<Foo>\n</Foo>", "Invalid command '<Foo'"},
        {"IfModule x", "Invalid command 'IfModule'"},
        {"<ServerName>\n</ServerName>", "Invalid command '<ServerName'"},
        {"<Directory /x>", "-c/-C directives:1: <Directory> was not closed."},
        {"<Files a>\n<Files b>\n", ":1: <Files> was not closed."},
        {"</Directory>", "</Directory> without matching <Directory> section"},
        {"<Directory /x>\n</Location>", "Expected </Directory> but saw </Location>"},
        {"<Directory>\n</Directory>", "<Directory> directive requires additional arguments"},
        {"<Directory /x\n</Directory>", "<Directory> directive missing closing '>'"},
        {"<Directory /a /b>\n</Directory>", "Multiple <Directory> arguments not (yet) supported."},
        {"<Files ~ \"(\">\n</Files>", "Regex could not be compiled"},
        {"<DirectoryMatch ~ \"x\">\n</DirectoryMatch>", NULL},
        {"<VirtualHost *>\n<VirtualHost *>\n</VirtualHost>\n</VirtualHost>",
         LINE(2) "<VirtualHost> cannot occur within <VirtualHost> section"},
        {"<Directory /x>\nServerName x\n</Directory>",
         LINE(2) "ServerName not allowed in <Directory> context"},
        {"<Directory /x>\n<Location /x>\n</Location>\n</Directory>",
         "<Location not allowed in <Directory> context"},
        {"AllowOverride All", "AllowOverride not allowed here"},
        {"<If \"true\">\nDocumentRoot /\n</If>", "DocumentRoot not allowed in <If> context"},
        {"<Else>\n</Else>",
         "<Else> or <ElseIf> section without previous <If> or <ElseIf> section in "
         "same scope"},
        {"<If \"true\">\n</If>\n<Else>\n</Else>\n<Else>\n</Else>", "without previous <If>"},
        {"<If \"true\">\n</If>\n<ElseIf \"true\">\n</ElseIf>\n<Else>\n</Else>", NULL},
        {"<If \"(\">\n</If>", "Cannot parse condition clause: "},
        {"<Limit GET>\n</Limit>", "<Limit not allowed here"},
        {"<Directory /x>\n<Limit TRACE>\n</Limit>\n</Directory>",
         "TRACE cannot be controlled by <Limit>, see TraceEnable"},
        {"<Directory /x>\n<Limit GET>\n<Limit GET>\n</Limit>\n</Limit>\n</Directory>",
         "<Limit> directive specifies methods already excluded"},
        {"<Directory /x>\n<Limit GET>\n<Limit POST>\n</Limit>\n</Limit>\n</Directory>",
         "<Limit> directive excludes all methods"},
        {"ServerTokens Full\n<VirtualHost *>\nServerTokens Prod\n</VirtualHost>",
         LINE(3) "ServerTokens cannot occur within <VirtualHost> section"},
    };

    CHECK(cases);
}

static void test_values(void **state)
{
    static const message_case cases[] = {
        {"Options Foo", "Illegal option Foo"},
        {"Options +Indexes FollowSymLinks",
         "Either all Options must start with + or -, or no Option may."},
        {"<Directory /x>\nAllowOverride Foo\n</Directory>", "Illegal override option Foo"},
        {"<Directory /x>\nAllowOverride Options=Foo\n</Directory>", "Illegal option Foo"},
        {"<Directory /x>\nAllowOverride Nonfatal=Foo\n</Directory>",
         "Illegal override option Nonfatal=Foo"},
        {"<Directory /x>\nAllowOverride Nonfatal=All FileInfo\n</Directory>", NULL},
        {"AcceptPathInfo foo", "AcceptPathInfo must be set to on, off or default"},
        {"ErrorDocument 999 foo", "Unsupported HTTP response code 999"},
        {"ErrorDocument 404 \"one sided", NULL},
        {"LogLevel foo", "Log level keyword must be one of emerg/alert"},
        {"LogLevel foo:warn", "Cannot find module foo"},
        {"LogLevel warn so:debug mod_mime.c:trace8 dir_module:info", NULL},
        {"Timeout foo", NULL},
        {"Timeout -1", "Timeout: parameter must be a number between 0"},
        {"LimitRequestBody -1", "LimitRequestBody requires a non-negative integer."},
        {"LimitRequestBody 9999999999999999999999", "LimitRequestBody requires"},
        {"LimitRequestFields -1",
         "LimitRequestFields \"-1\" must be a non-negative integer (0 = no limit)"},
        {"LimitInternalRecursion 0", "The recursion limit must be greater than zero."},
        {"MaxRanges x", "MaxRanges requires 'none', 'default', 'unlimited' or a positive integer"},
        {"TraceEnable x", "TraceEnable must be one of 'on', 'off', or 'extended'"},
        {"FileETag x", "Unknown keyword 'x' for FileETag directive"},
        {"ServerAlias a", "ServerAlias only used in <VirtualHost>"},
        {"ServerName a,b", NULL},
        {"ServerName *.b", "Invalid ServerName \"*.b\" use ServerAlias"},
        {"ServerName a:99999", "The port number \"a:99999\" is outside the appropriate range"},
        {"UseCanonicalName x", "parameter must be 'on', 'off', or 'dns'"},
        {"HostnameLookups x", "parameter must be 'on', 'off', or 'double'"},
        {"AllowEncodedSlashes x", "AllowEncodedSlashes must be On, Off, or NoDecode"},
        {"HttpProtocolOptions x", "HttpProtocolOptions accepts 'Unsafe' or 'Strict'"},
        {"RegisterHttpMethod \"a b\"", "is not the name of a method"},
        {"RegexDefaultOptions x", "RegexDefaultOptions: option 'x' unknown"},
        {"CGIVar FOO bar", "Unrecognized CGI variable: \"FOO\""},
        {"FileCacheValidate x", "FileCacheValidate must be inotify, stat, or a number of seconds"},
        {"FileCacheSize 12Q", "FileCacheSize: parameter must be a number between"},
        {"RLimitCPU x", NULL},
        {"DocumentRoot /nonexistent/root",
         "DocumentRoot '/nonexistent/root' is not a directory, or is not readable"},
        {"ServerRoot /nonexistent", "ServerRoot must be a valid directory"},
        {"Error", "The Error directive was used with no message."},
        {"Error \"a b\"", LINE(1) "a b"},
    };

    CHECK(cases);
}

static void test_includes(void **state)
{
    const char *bad = test_config_file("bad.conf", "\nFoo\n");
    const char *open = test_config_file("open.conf", "<Files x>\n");
    const char *self = apr_pstrcat(test_process->pool, test_config_dir(), "self.conf", NULL);
    apr_pool_t *p = test_process->pool;
    const message_case cases[] = {
        {apr_pstrcat(p, "Include ", bad, NULL),
         apr_pstrcat(p, "Syntax error on line 2 of ", bad, ":\nInvalid command 'Foo'", NULL)},
        {apr_pstrcat(p, "Include ", open, NULL),
         apr_pstrcat(p, "Syntax error on line 1 of ", open, ": ", open, ":1: <Files> was not",
                     NULL)},
        {apr_pstrcat(p, "Include ", self, NULL), "Exceeded maximum include depth of 128"},
        {"Include /nonexistent", "Could not open configuration file /nonexistent: No such file"},
        {"Include /nonexistent/*.conf", "Could not open directory /nonexistent"},
        {apr_pstrcat(p, "Include ", test_config_dir(), "*.none", NULL),
         "No matches for the wildcard"},
        {"IncludeOptional /nonexistent/*.conf", NULL},
        {"IncludeOptional /nonexistent", NULL},
    };

    test_config_file("self.conf", apr_pstrcat(p, "Include ", self, "\n", NULL));
    CHECK(cases);
}

/* Lines for modules that are not here are all reported, and can be passed over. */
static void test_unsupported(void **state)
{
    static const char text[] = "DavLockDB x\n"
                               "<LuaHookLog x>\nNonsense\n</LuaHookLog>\n"
                               "<IfModule mod_lua.c>\n<Foo\nLuaScope x\n</Foo>\n</IfModule>\n"
                               "LuaScope x";

    assert_false(test_config_read(text));
    assert_non_null(strstr(test_messages, ":1: unsupported: DavLockDB, offered by mod_dav_fs;"));
    assert_non_null(strstr(test_messages, ":2: unsupported: <LuaHookLog>, offered by mod_lua;"));
    assert_non_null(strstr(test_messages, ":10: unsupported: LuaScope, offered by mod_lua;"));
    assert_null(strstr(test_messages, "Nonsense"));
    assert_true(test_config_read(apr_pstrcat(test_process->pool, "Define LENIENT\n", text, NULL)));
    assert_non_null(strstr(test_messages, "ignored (-D LENIENT)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure), cmocka_unit_test(test_values),
        cmocka_unit_test(test_includes), cmocka_unit_test(test_unsupported)};

    return cmocka_run_group_tests(tests, test_config_setup, test_config_teardown);
}
