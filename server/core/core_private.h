/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CORE_CORE_PRIVATE_H
#define BRIGADE_CORE_CORE_PRIVATE_H

/**
 * @file core_private.h
 * The setters of the core's directives, by file; core_module.c's table lists them.
 */
#include "core_settings.h"
#include "setting.h"

/** The settings of the server that a directive is read for. */
static inline core_server_config *core_conf(const cmd_parms *cmd)
{
    return ap_get_core_module_config(cmd->server->module_config);
}

/** Flags of a section that are bits of core_dir_config: cmd->info of core_set_flag and core_set_on_off. */
typedef enum core_bit {
    CORE_ENABLE_MMAP,
    CORE_ENABLE_SENDFILE,
    CORE_CONTENT_MD5,
    CORE_CANONICAL_PHYS_PORT,
    CORE_CGI_PASS_AUTH,
    CORE_QUALIFY_REDIRECT
} core_bit;

/** @name Setters, by the arguments that their directives take
 * @{ */
typedef const char *core_take1_fn(cmd_parms *cmd, void *dir, const char *arg);
typedef const char *core_take2_fn(cmd_parms *cmd, void *dir, const char *a, const char *b);
typedef const char *core_flag_fn(cmd_parms *cmd, void *dir, int on);
typedef const char *core_argv_fn(cmd_parms *cmd, void *dir, int argc, char *const argv[]);
/** @} */

/* core_sections.c */
core_take1_fn core_section_directory, core_section_location, core_section_files, core_section_if,
    core_section_virtualhost;

/* core_conditional.c */
core_take1_fn core_if_module, core_if_define, core_if_file, core_if_directive, core_if_section;

/* core_directives_read.c: acting while the file is read */
core_take1_fn core_set_server_root, core_set_runtime_dir, core_set_state_dir, core_include,
    core_undefine, core_error, core_warning;
core_take2_fn core_define, core_builtin_module;
core_take1_fn core_builtin_modules;

/* core_directives_dir.c */
core_take1_fn core_set_options, core_set_on_off, core_set_default_charset, core_set_default_type,
    core_set_hostname_lookups, core_set_canonical_name, core_set_file_etag, core_set_handler,
    core_set_encoded_slashes_arg, core_set_builtin_pages;
core_take2_fn core_set_error_document, core_set_cgi_var;
core_flag_fn core_set_flag;

/* core_directives_override.c */
core_take1_fn core_set_allow_override, core_set_access_name;
core_argv_fn core_set_allow_override_list;

/* core_directives_limits.c */
core_take1_fn core_set_head_limit, core_set_range_limit;
core_take2_fn core_set_recursion_limit, core_set_rlimit;

/* core_directives_server.c, core_directives_protocol.c */
core_take1_fn core_set_document_root, core_set_server_name, core_set_server_admin,
    core_set_server_alias, core_set_server_path, core_set_timeout, core_set_protocol,
    core_set_protocols, core_set_protocol_options, core_register_method, core_set_regex_options,
    core_set_regex_limit, core_set_cache_validate;
core_take2_fn core_set_accept_filter;

/* core_directives_log.c */
core_take1_fn core_set_log_level;
core_take2_fn core_set_error_log, core_set_log_mask;

/** Hook of %{salt}a. */
void core_client_salt_register(void);

#endif
