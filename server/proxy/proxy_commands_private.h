/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROXY_COMMANDS_PRIVATE_H
#define BRIGADE_PROXY_COMMANDS_PRIVATE_H

/* Setters of mod_proxy's directives: NULL or a message. */
#include "http_config.h"

typedef const char *proxy_word_fn(cmd_parms *cmd, void *dconf, const char *arg);
typedef const char *proxy_three_fn(cmd_parms *cmd, void *dconf, const char *a, const char *b,
                                   const char *c);

/* The server's settings, of a conf_setting. */
void *proxy_of_server(const cmd_parms *cmd);

proxy_word_fn proxy_via_cmd, proxy_bad_header_cmd, proxy_timeout_cmd;
proxy_word_fn proxy_receive_buffer_cmd, proxy_io_buffer_cmd, proxy_max_forwards_cmd,
    proxy_growth_cmd;
proxy_word_fn proxy_source_cmd, proxy_domain_cmd, proxy_block_cmd, proxy_direct_cmd,
    proxy_override_cmd;
proxy_three_fn proxy_remote_cmd, proxy_remote_match_cmd, proxy_reverse_cmd;
proxy_three_fn proxy_cookie_path_cmd, proxy_cookie_domain_cmd;

#endif
