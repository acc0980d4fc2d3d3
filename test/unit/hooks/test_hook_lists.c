/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks without anything to do are left out, by server, until a directive asks for them; handlers are found by name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "brigade/hooks.h"
#include "hook_lists.h"
#include "http_request.h"
#include "test_pool.h"

#define SLOTS 8

static module idle = {.name = "mod_idle.c"}, busy = {.name = "mod_busy.c"},
              named = {.name = "mod_named.c"};
static server_rec site, virtual_host;
static char called[16];

static int called_by(char who)
{
    const size_t n = strlen(called);

    called[n] = who;
    called[n + 1] = '\0';
    return DECLINED;
}

static int idle_fixup(request_rec *r)
{
    return called_by('i');
}

static int busy_fixup(request_rec *r)
{
    return called_by('b');
}

static int idle_handler(request_rec *r)
{
    return called_by('i');
}

static int named_handler(request_rec *r)
{
    return called_by('n');
}

static int busy_handler(request_rec *r)
{
    return called_by('b');
}

/* A handler that chooses another for the request. */
static int turning_handler(request_rec *r)
{
    called_by('t');
    r->handler = "other";
    return DECLINED;
}

static void add(const module *m, ap_HOOK_fixups_t *fixup, ap_HOOK_handler_t *handler)
{
    apr_hook_debug_current = m->name;
    if (fixup)
        ap_hook_fixups(fixup, NULL, NULL, APR_HOOK_MIDDLE);
    if (handler)
        ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
    apr_hook_debug_current = NULL;
}

static void server(server_rec *s, server_rec *next)
{
    memset(s, 0, sizeof *s);
    s->module_config = apr_pcalloc(test_pool, SLOTS * sizeof(void *));
    s->is_virtual = !next;
    s->next = next;
}

static int begin(void **state)
{
    if (test_pool_setup(state))
        return -1;
    apr_hook_global_pool = test_pool;
    apr_hook_deregister_all();
    hook_needs_forget();
    server(&virtual_host, NULL);
    server(&site, &virtual_host);
    add(&idle, idle_fixup, idle_handler);
    add(&busy, busy_fixup, busy_handler);
    add(&named, NULL, named_handler);
    return 0;
}

static int end(void **state)
{
    apr_hook_deregister_all();
    apr_hook_global_pool = NULL;
    return test_pool_teardown(state);
}

static void read_directive(const module *m, const char *name, server_rec *s)
{
    hook_needs_directive(m, name, s, test_pool);
}

static const char *fixups(server_rec *s)
{
    request_rec r = {.server = s};

    *called = '\0';
    assert_int_equal(ap_run_fixups(&r), OK);
    return called;
}

static const char *handlers(server_rec *s, const char *name)
{
    request_rec r = {.server = s, .handler = name};

    *called = '\0';
    assert_int_equal(ap_run_handler(&r), DECLINED);
    return called;
}

static void test_without_declarations(void **state)
{
    assert_string_equal(fixups(&site), "ib"); /* before there are lists */
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "ib");
    assert_string_equal(handlers(&site, "x"), "ibn");
    assert_string_equal(handlers(&site, NULL), "ibn");
}

static void test_idle_until_directive(void **state)
{
    brg_hooks_need_directive(&idle, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    read_directive(&busy, "Busy", &site);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "b");
    assert_string_equal(fixups(&virtual_host), "b");
    assert_string_equal(handlers(&site, "x"), "ibn"); /* of that hook nothing was said */
    read_directive(&busy, "Busy", &site);
    assert_string_equal(fixups(&site), "b");
    read_directive(&idle, "Idle", &virtual_host); /* in an .htaccess file: for all */
    assert_string_equal(fixups(&site), "ib");
    assert_string_equal(fixups(&virtual_host), "ib");
}

static void test_by_server(void **state)
{
    brg_hooks_need_directive(&idle, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    read_directive(&idle, "Idle", &virtual_host);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "b");
    assert_string_equal(fixups(&virtual_host), "ib");
}

static void test_of_main_server(void **state)
{
    brg_hooks_need_directive(&idle, "type_checker fixups", NULL, BRG_HOOKS_BY_SERVER);
    read_directive(&idle, "Idle", &site);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&virtual_host), "ib");
}

static void test_everywhere(void **state)
{
    brg_hooks_need_directive(&idle, "fixups", NULL, BRG_HOOKS_EVERYWHERE);
    read_directive(&idle, "Idle", &virtual_host);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "ib");
}

/* Directives by name are those of any module, in any case; one of either declaration is enough. */
static void test_by_name(void **state)
{
    brg_hooks_need_directive(&idle, "fixups", "Other Busy", BRG_HOOKS_BY_SERVER);
    brg_hooks_need_directive(&idle, "fixups handler", NULL, BRG_HOOKS_BY_SERVER);
    read_directive(&busy, "Bus", &site);
    read_directive(&busy, "busy", &virtual_host);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "b");
    assert_string_equal(fixups(&virtual_host), "ib");
    assert_string_equal(handlers(&virtual_host, "x"), "bn");
}

/* As where a module of the program gives way to a file: what was read before still counts. */
static void test_declared_again(void **state)
{
    static const char hooks[] = "fixups";

    brg_hooks_need_directive(&busy, hooks, NULL, BRG_HOOKS_BY_SERVER);
    brg_hooks_need_directive(&idle, hooks, NULL, BRG_HOOKS_BY_SERVER);
    read_directive(&idle, "Idle", &site);
    hook_needs_forget();
    brg_hooks_need_directive(&idle, hooks, NULL, BRG_HOOKS_BY_SERVER);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "ib"); /* mod_busy.c did not declare itself again */
}

static void test_handlers_by_name(void **state)
{
    brg_handlers_are_for(&named, "one two gate:*");
    hook_lists_make(&site, test_pool);
    assert_string_equal(handlers(&site, "x"), "ib");
    assert_string_equal(handlers(&site, ""), "ib");
    assert_string_equal(handlers(&site, "one"), "ibn");
    assert_string_equal(handlers(&site, "two"), "ibn");
    assert_string_equal(handlers(&site, "on"), "ib");
    assert_string_equal(handlers(&site, "gate:unix:/x"), "ibn");
    assert_string_equal(handlers(&site, "gate"), "ib");
    assert_string_equal(handlers(&site, NULL), "ibn");
}

/* The name, or a directive. */
static void test_handlers_by_both(void **state)
{
    brg_handlers_are_for(&named, "one");
    brg_hooks_need_directive(&named, "handler", NULL, BRG_HOOKS_BY_SERVER);
    read_directive(&named, "Named", &virtual_host);
    hook_lists_make(&site, test_pool);
    assert_string_equal(handlers(&site, "x"), "ib");
    assert_string_equal(handlers(&site, "one"), "ibn");
    assert_string_equal(handlers(&virtual_host, "x"), "ibn");
}

/* One that declines, having given the request another handler: those behind it are asked as for that. */
static void test_handler_changes(void **state)
{
    brg_handlers_are_for(&named, "other");
    apr_hook_debug_current = busy.name;
    ap_hook_handler(turning_handler, NULL, NULL, APR_HOOK_FIRST);
    apr_hook_debug_current = NULL;
    apr_hook_sort_all();
    hook_lists_make(&site, test_pool);
    assert_string_equal(handlers(&site, "x"), "tibn");
    assert_string_equal(handlers(&site, "other"), "tibn");
}

/* A function that is registered later is called: the lists of before do not count. */
static void test_registered_later(void **state)
{
    brg_hooks_need_directive(&idle, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    hook_lists_make(&site, test_pool);
    assert_string_equal(fixups(&site), "b");
    add(&busy, busy_fixup, NULL);
    assert_string_equal(fixups(&site), "ibb");
}

/* A server of a module's making has no lists. */
static void test_other_server(void **state)
{
    server_rec made;

    brg_hooks_need_directive(&idle, "fixups", NULL, BRG_HOOKS_BY_SERVER);
    hook_lists_make(&site, test_pool);
    server(&made, NULL);
    assert_string_equal(fixups(&made), "ib");
    assert_string_equal(fixups(NULL), "ib");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_declarations, begin, end),
        cmocka_unit_test_setup_teardown(test_idle_until_directive, begin, end),
        cmocka_unit_test_setup_teardown(test_by_server, begin, end),
        cmocka_unit_test_setup_teardown(test_of_main_server, begin, end),
        cmocka_unit_test_setup_teardown(test_everywhere, begin, end),
        cmocka_unit_test_setup_teardown(test_by_name, begin, end),
        cmocka_unit_test_setup_teardown(test_declared_again, begin, end),
        cmocka_unit_test_setup_teardown(test_handlers_by_name, begin, end),
        cmocka_unit_test_setup_teardown(test_handlers_by_both, begin, end),
        cmocka_unit_test_setup_teardown(test_handler_changes, begin, end),
        cmocka_unit_test_setup_teardown(test_registered_later, begin, end),
        cmocka_unit_test_setup_teardown(test_other_server, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
