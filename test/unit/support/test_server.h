/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_SERVER_H
#define BRIGADE_TEST_SERVER_H

/**
 * @file test_server.h
 * A configuration that was really read, and connections over loopback TCP, without loops or
 * processes. Include after cmocka.h. test_server_up() once per program.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_main.h"
#include "generation.h"
#include "connection.h"
#include "loop.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static process_rec *test_process;
static char test_dir[] = "/tmp/brigade-test-XXXXXX";

static int test_server_down(void **state)
{
    char command[64];

    (void)state;
    connection_thread_fini();
    snprintf(command, sizeof command, "rm -rf %s", test_dir);
    return system(command);
}

/* The directory is new and holds what the configuration may name: conf/mime.types, htdocs. */
static void test_server_files(const char *directives)
{
    char path[128];
    FILE *f;

    assert_non_null(mkdtemp(test_dir));
    snprintf(path, sizeof path, "%s/httpd.conf", test_dir);
    assert_non_null(f = fopen(path, "w"));
    fprintf(f,
            "ServerName localhost\nErrorLog /dev/null\nListen 127.0.0.1:1\nDocumentRoot %s\n"
            "TypesConfig /dev/null\n%s",
            test_dir, directives);
    fclose(f);
}

static void test_server_up(const char *directives)
{
    static const char *argv[] = {"test", NULL};

    apr_initialize();
    test_server_files(directives);
    apr_pool_create(&ap_pglobal, NULL);
    test_process = apr_pcalloc(ap_pglobal, sizeof *test_process);
    test_process->pool = ap_pglobal;
    apr_pool_create(&test_process->pconf, ap_pglobal);
    test_process->short_name = "test";
    test_process->argv = argv;
    test_process->argc = 1;
    ap_server_argv0 = "test";
    ap_server_pre_read_config = apr_array_make(ap_pglobal, 1, sizeof(char *));
    ap_server_post_read_config = apr_array_make(ap_pglobal, 1, sizeof(char *));
    ap_server_config_defines = apr_array_make(ap_pglobal, 1, sizeof(char *));
    conf_generation_init(test_process);
    assert_null(ap_setup_prelinked_modules(test_process));
    conf_generation_source(apr_pstrcat(ap_pglobal, test_dir, "/httpd.conf", NULL), test_dir);
    assert_int_equal(conf_generation_read(test_process, CONF_DEPTH_CHECK), APR_SUCCESS);
}

/* One end of a loopback connection for the server, the other for the client. */
static void test_tcp_pair(int *server, int *client)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int l = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(l, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(l, 1), 0);
    assert_int_equal(getsockname(l, (struct sockaddr *)&addr, &len), 0);
    *client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(*client, (struct sockaddr *)&addr, sizeof addr), 0);
    *server = accept4(l, NULL, NULL, SOCK_NONBLOCK);
    assert_true(*server >= 0);
    close(l);
}

/* The loop that connections are of, until a test gives them another. */
static inline brg_loop *test_loop(void)
{
    static loops_config config;
    static loop_figures figures;
    static brg_loop loop = {.config = &config, .figures = &figures};

    loop.server = ap_server_conf;
    return &loop;
}

/* An attached connection; *client is the other end. */
static inline void test_connect(brg_conn *bc, int *client)
{
    memset(bc, 0, sizeof *bc);
    bc->tag = CONN_TAG;
    bc->loop = test_loop();
    test_tcp_pair(&bc->fd, client);
    assert_int_equal(connection_attach(bc), APR_SUCCESS);
}

static inline void test_disconnect(brg_conn *bc, int client)
{
    connection_detach(bc);
    free(bc->input.at);
    close(bc->fd);
    close(client);
}

#endif
