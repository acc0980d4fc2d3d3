/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a process may use, in trees of control groups as machines, services and containers have them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memory_limit.h"

static char root[] = "/tmp/brigade-limit-XXXXXX";

static void run(const char *command)
{
    char line[1024];

    assert_true(snprintf(line, sizeof line, "cd %s && %s", root, command) < (int)sizeof line);
    assert_int_equal(system(line), 0);
}

static void put(const char *path, const char *text)
{
    char line[1024];

    assert_true(snprintf(line, sizeof line, "mkdir -p $(dirname %s) && printf '%%s\\n' '%s' > %s",
                         path, text, path) < (int)sizeof line);
    run(line);
}

static int begin(void **state)
{
    run("rm -rf proc sys");
    return 0;
}

static uint64_t machine(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void without_groups_it_is_the_machines(void **state)
{
    assert_true(memory_limit(root) == machine());
    put("proc/self/cgroup", "0::/");
    assert_true(memory_limit(root) == machine());
    put("sys/fs/cgroup/memory.max", "max");
    assert_true(memory_limit(root) == machine());
    put("sys/fs/cgroup/memory.max", "99999999999999999999999"); /* no number that fits */
    assert_true(memory_limit(root) == machine());
}

static void the_least_of_all_groups_above_counts(void **state)
{
    put("proc/self/cgroup", "0::/system.slice/brigade.service");
    put("sys/fs/cgroup/system.slice/brigade.service/memory.max", "max");
    put("sys/fs/cgroup/system.slice/memory.max", "50000000");
    assert_true(memory_limit(root) == 50000000);
    put("sys/fs/cgroup/system.slice/brigade.service/memory.max", "40000000");
    assert_true(memory_limit(root) == 40000000);
    put("sys/fs/cgroup/system.slice/brigade.service/memory.high", "30000000");
    assert_true(memory_limit(root) == 30000000);
    put("sys/fs/cgroup/system.slice/memory.high", "20000000");
    assert_true(memory_limit(root) == 20000000);
}

static void in_a_container_the_top_counts(void **state)
{
    put("proc/self/cgroup", "0::/../../elsewhere");
    put("sys/fs/cgroup/memory.max", "70000000");
    assert_true(memory_limit(root) == 70000000);
}

static void version_one_is_known(void **state)
{
    put("proc/self/cgroup",
        "12:cpu,cpuacct:/a\n7:hugetlb,memory:/docker/1\n1:name=systemd:/memory");
    put("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "60000000");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    assert_true(memory_limit(root) == 60000000);
}

static void what_is_no_line_of_groups_is_left_alone(void **state)
{
    put("proc/self/cgroup", "\n0\n0:\n::\n7:memory\nmemory:memory:memory");
    assert_true(memory_limit(root) == machine());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_groups_it_is_the_machines, begin),
        cmocka_unit_test_setup(the_least_of_all_groups_above_counts, begin),
        cmocka_unit_test_setup(in_a_container_the_top_counts, begin),
        cmocka_unit_test_setup(version_one_is_known, begin),
        cmocka_unit_test_setup(what_is_no_line_of_groups_is_left_alone, begin),
    };
    int failed;

    if (!mkdtemp(root))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    run("rm -rf proc sys");
    rmdir(root);
    return failed;
}
