/* SPDX-License-Identifier: Apache-2.0 */
#include "test_config.h"
#include "generation.h"
#include "core_settings.h"
#include "http_log.h"
#include "http_main.h"
#include "apr_general.h"
#include "apr_strings.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

process_rec *test_process;
char test_messages[65536];

static char test_dir[256];
static pid_t test_dir_owner; /* 0: it is not there */

int test_config_setup(void **state)
{
    static const char *const argv[] = {"test", NULL};
    apr_pool_t *pool;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    test_process = apr_pcalloc(pool, sizeof *test_process);
    test_process->pool = pool;
    apr_pool_create(&test_process->pconf, pool);
    test_process->short_name = "test";
    test_process->argv = argv;
    test_process->argc = 1;
    ap_pglobal = pool;
    ap_server_argv0 = "test";
    ap_run_mode = AP_SQ_RM_CONFIG_TEST;
    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    ap_server_pre_read_config = apr_array_make(pool, 1, sizeof(const char *));
    ap_server_post_read_config = apr_array_make(pool, 1, sizeof(const char *));
    ap_server_config_defines = apr_array_make(pool, 1, sizeof(const char *));
    ap_open_stderr_log(pool);
    conf_generation_init(test_process);
    conf_generation_source("/dev/null", "/");
    return ap_setup_prelinked_modules(test_process) != NULL;
}

/* By the process that made it; those that it forked may end before. */
static void test_dir_remove(void)
{
    DIR *dir = test_dir_owner == getpid() ? opendir(test_dir) : NULL;
    const struct dirent *e;

    if (!dir)
        return;
    while ((e = readdir(dir)) != NULL)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(test_dir);
    test_dir_owner = 0;
}

int test_config_teardown(void **state)
{
    conf_generation_clear(test_process);
    test_dir_remove();
    apr_pool_destroy(test_process->pool);
    return 0;
}

/* Standard error goes to a file in memory for the length of a read. */
static int test_capture_begin(int *saved)
{
    int fd = memfd_create("messages", 0);

    *saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    return fd;
}

static void test_capture_end(int fd, int saved)
{
    ssize_t n;

    dup2(saved, STDERR_FILENO);
    close(saved);
    n = pread(fd, test_messages, sizeof test_messages - 1, 0);
    test_messages[n > 0 ? n : 0] = '\0';
    close(fd);
}

int test_config_read(const char *text)
{
    int saved, fd;
    apr_status_t rv;

    conf_generation_clear(test_process);
    ap_main_state = AP_SQ_MS_CREATE_PRE_CONFIG;
    ap_server_pre_read_config->nelts = 0;
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "User nobody";
    APR_ARRAY_PUSH(ap_server_pre_read_config, const char *) = "ErrorLog /dev/null";
    ap_server_post_read_config->nelts = 0;
    APR_ARRAY_PUSH(ap_server_post_read_config, const char *) = text;
    fd = test_capture_begin(&saved);
    rv = conf_generation_read(test_process, CONF_DEPTH_CHECK);
    test_capture_end(fd, saved);
    return rv == APR_SUCCESS;
}

const char *test_config_dir(void)
{
    if (!test_dir_owner) {
        const char *tmp = NULL;

        apr_temp_dir_get(&tmp, test_process->pool);
        apr_snprintf(test_dir, sizeof test_dir, "%s/brigade-XXXXXX", tmp ? tmp : ".");
        if (!mkdtemp(test_dir) || atexit(test_dir_remove)) /* fuzz targets have no teardown */
            abort();
        test_dir_owner = getpid();
    }
    return apr_pstrcat(test_process->pool, test_dir, "/", NULL);
}

const char *test_config_file(const char *name, const char *text)
{
    const char *path = apr_pstrcat(test_process->pool, test_config_dir(), name, NULL);
    FILE *f = fopen(path, "w");

    if (!f)
        abort();
    fputs(text, f);
    fclose(f);
    return path;
}

server_rec *test_config_server(const char *name)
{
    server_rec *s = ap_server_conf;

    while (name && s && (!s->is_virtual || !s->server_hostname || strcmp(s->server_hostname, name)))
        s = s->next;
    return s;
}

static core_dir_config *test_section(const apr_array_header_t *list, int n)
{
    return n < list->nelts ? ap_get_core_module_config(APR_ARRAY_IDX(list, n, ap_conf_vector_t *))
                           : NULL;
}

core_dir_config *test_config_dir_section(const server_rec *s, int n)
{
    return test_section(core_server_conf_of(s)->sec_dir, n);
}

core_dir_config *test_config_url_section(const server_rec *s, int n)
{
    return test_section(core_server_conf_of(s)->sec_url, n);
}
