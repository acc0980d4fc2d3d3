/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_TEST_CONFIG_H
#define BRIGADE_TEST_CONFIG_H

/**
 * @file test_config.h
 * A process without a command line, into which tests read configurations given as text.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_main.h"

/** The process of the test; pools live until teardown. */
extern process_rec *test_process;

/** What the last read had to say, at most 64 KiB of it. */
extern char test_messages[65536];

/** cmocka fixtures, for a group or a test. */
int test_config_setup(void **state);
int test_config_teardown(void **state);

/**
 * Read a configuration as -t does, after forgetting the one before. Messages go to test_messages.
 * @param text  lines; put before it: User nobody
 * @return 1 if it is usable; ap_server_conf and ap_conftree are then set
 */
int test_config_read(const char *text);

/** A directory for files of the test, with a trailing slash; removed at teardown. */
const char *test_config_dir(void);

/** Write a file below it. @return its full name */
const char *test_config_file(const char *name, const char *text);

/** The virtual host called @a name, or the main server if it is NULL. */
server_rec *test_config_server(const char *name);

/** Core settings of the n-th <Directory> or <Location> section of @a s. */
core_dir_config *test_config_dir_section(const server_rec *s, int n);
core_dir_config *test_config_url_section(const server_rec *s, int n);

#endif
