/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_CONFIG_H
#define APACHE_HTTP_CONFIG_H

/**
 * @file http_config.h
 * Modules, their directives and their configuration.
 *
 * Configuration is read by one thread, before server processes start; its results are read-only for
 * all. Directive functions return NULL or a message for the administrator, in a pool of the
 * command.
 */
#include "util_cfgtree.h"
#include "ap_config.h"
#include "apr_tables.h"
#include "httpd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Directives ---------------------------------------------------------------------------------------- */

/** How a directive's arguments are passed. */
enum cmd_how {
    RAW_ARGS,  /**< the rest of the line, unparsed */
    TAKE1,     /**< one word */
    TAKE2,     /**< two */
    ITERATE,   /**< called for each word */
    ITERATE2,  /**< called for each word after the first, with the first */
    FLAG,      /**< On or Off */
    NO_ARGS,   /**< none */
    TAKE12,    /**< one or two words; absent ones are NULL */
    TAKE3,     /**< three */
    TAKE23,    /**< two or three */
    TAKE123,   /**< one, two or three */
    TAKE13,    /**< one or three */
    TAKE_ARGV  /**< all words as an array */
};

/** A directive that is being read, see below. */
typedef struct cmd_parms_struct cmd_parms;

#ifdef AP_HAVE_DESIGNATED_INITIALIZER
/** A directive's function, by the way it takes arguments. @a mconfig is the module's configuration. */
typedef union {
    const char *(*no_args)(cmd_parms *parms, void *mconfig);
    const char *(*raw_args)(cmd_parms *parms, void *mconfig, const char *args);
    const char *(*take_argv)(cmd_parms *parms, void *mconfig, int argc, char *const argv[]);
    const char *(*take1)(cmd_parms *parms, void *mconfig, const char *w);
    const char *(*take2)(cmd_parms *parms, void *mconfig, const char *w, const char *w2);
    const char *(*take3)(cmd_parms *parms, void *mconfig, const char *w, const char *w2, const char *w3);
    const char *(*flag)(cmd_parms *parms, void *mconfig, int on);
} cmd_func;
/** How the function of a directive is kept in a command_rec, and given to it. */
#define AP_CMD_FUNC_MEMBER(member) func.member
#define AP_CMD_FUNC_INIT(member, f) { .member = f }
#else
/** The function of a directive, by its kind of arguments. */
typedef const char *(*cmd_func)();
#define AP_CMD_FUNC_MEMBER(member) func
#define AP_CMD_FUNC_INIT(member, f) f
#endif

/* Member of command_rec to call through. */
#define AP_NO_ARGS AP_CMD_FUNC_MEMBER(no_args)
#define AP_RAW_ARGS AP_CMD_FUNC_MEMBER(raw_args)
#define AP_TAKE_ARGV AP_CMD_FUNC_MEMBER(take_argv)
#define AP_TAKE1 AP_CMD_FUNC_MEMBER(take1)
#define AP_TAKE2 AP_CMD_FUNC_MEMBER(take2)
#define AP_TAKE3 AP_CMD_FUNC_MEMBER(take3)
#define AP_FLAG AP_CMD_FUNC_MEMBER(flag)

/* One entry of a command table. AP_INIT_NO_ARGS passes the (empty) rest of the line unparsed, as ever. */
#define AP_INIT_NO_ARGS(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(no_args, func), mconfig, where, RAW_ARGS, help }
#define AP_INIT_RAW_ARGS(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(raw_args, func), mconfig, where, RAW_ARGS, help }
#define AP_INIT_TAKE_ARGV(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take_argv, func), mconfig, where, TAKE_ARGV, help }
#define AP_INIT_FLAG(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(flag, func), mconfig, where, FLAG, help }
#define AP_INIT_TAKE1(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take1, func), mconfig, where, TAKE1, help }
#define AP_INIT_ITERATE(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take1, func), mconfig, where, ITERATE, help }
#define AP_INIT_TAKE2(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take2, func), mconfig, where, TAKE2, help }
#define AP_INIT_TAKE12(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take2, func), mconfig, where, TAKE12, help }
#define AP_INIT_ITERATE2(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take2, func), mconfig, where, ITERATE2, help }
#define AP_INIT_TAKE3(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take3, func), mconfig, where, TAKE3, help }
#define AP_INIT_TAKE13(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take3, func), mconfig, where, TAKE13, help }
#define AP_INIT_TAKE23(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take3, func), mconfig, where, TAKE23, help }
#define AP_INIT_TAKE123(directive, func, mconfig, where, help) \
    { directive, AP_CMD_FUNC_INIT(take3, func), mconfig, where, TAKE123, help }

/** A directive, see below. */
typedef struct command_struct command_rec;
/** One directive. A table of them ends with one whose name is NULL. */
struct command_struct {
    const char *name;
    cmd_func func;
    void *cmd_data; /**< comes to the function as cmd->info */
    int req_override; /**< where it may stand: OR_*, ACCESS_CONF, RSRC_CONF */
    enum cmd_how args_how;
    const char *errmsg; /**< usage, shown when the arguments are wrong */
};

/* Where a directive may stand. OR_* are the words of AllowOverride. */
#define OR_NONE 0
#define OR_LIMIT 1
#define OR_OPTIONS 2
#define OR_FILEINFO 4
#define OR_AUTHCFG 8
#define OR_INDEXES 16
#define OR_UNSET 32
#define OR_ALL (OR_LIMIT | OR_OPTIONS | OR_FILEINFO | OR_AUTHCFG | OR_INDEXES)
#define ACCESS_CONF 64    /**< in a Directory or Location section */
#define RSRC_CONF 128     /**< outside them */
#define EXEC_ON_READ 256  /**< act when the line is read, before the tree is complete */
#define NONFATAL_OVERRIDE 512
#define NONFATAL_UNKNOWN 1024
#define NONFATAL_ALL (NONFATAL_OVERRIDE | NONFATAL_UNKNOWN)
#define PROXY_CONF 2048   /**< in a Proxy section */

/** Returned by a directive function: not mine, ask the next module that has it. */
#define DECLINE_CMD "\a\b"

/** A source of configuration lines, see below. */
typedef struct ap_configfile_t ap_configfile_t;
/** A source of lines. */
struct ap_configfile_t {
    apr_status_t (*getch)(char *ch, void *param);
    apr_status_t (*getstr)(void *buf, apr_size_t bufsiz, void *param); /**< may be NULL */
    apr_status_t (*close)(void *param);
    void *param;
    const char *name;
    unsigned line_number;
};

/** The surroundings of a directive function. */
struct cmd_parms_struct {
    void *info; /**< command_rec.cmd_data */
    int override; /**< directives allowed here */
    int override_opts;
    apr_table_t *override_list;
    apr_int64_t limited; /**< methods of the Limit section, -1: all */
    apr_array_header_t *limited_xmethods;
    ap_method_list_t *xlimited;

    ap_configfile_t *config_file;
    ap_directive_t *directive;

    apr_pool_t *pool;      /**< for lasting data */
    apr_pool_t *temp_pool; /**< gone when the configuration is read */
    server_rec *server;
    char *path; /**< of the section, NULL outside */
    const command_rec *cmd;

    struct ap_conf_vector_t *context;
    const ap_directive_t *err_directive; /**< named in messages instead of directive */
};

/* Sections that ap_check_cmd_context() can forbid. */
#define NOT_IN_VIRTUALHOST 0x01
#define NOT_IN_LIMIT 0x02
#define NOT_IN_DIRECTORY 0x04
#define NOT_IN_LOCATION 0x08
#define NOT_IN_FILES 0x10
#define NOT_IN_HTACCESS 0x20
#define NOT_IN_PROXY 0x40
#define NOT_IN_DIR_LOC_FILE (NOT_IN_DIRECTORY | NOT_IN_LOCATION | NOT_IN_FILES)
#define NOT_IN_DIR_CONTEXT (NOT_IN_LIMIT | NOT_IN_DIR_LOC_FILE | NOT_IN_PROXY)
#define GLOBAL_ONLY (NOT_IN_VIRTUALHOST | NOT_IN_DIR_CONTEXT)
/** NULL, or a message if the directive stands in a place that is forbidden. */
AP_DECLARE(const char *) ap_check_cmd_context(cmd_parms *cmd, unsigned forbidden);
/** Does the Limit section around the directive name the method? */
AP_DECLARE(int) ap_method_is_limited(cmd_parms *cmd, const char *method);

/* Ready-made directive functions: store at offset cmd->info of the module's configuration. */
AP_DECLARE_NONSTD(const char *)
ap_set_string_slot(cmd_parms *cmd, void *struct_ptr, const char *arg);
/** The same, in lower case. */
AP_DECLARE_NONSTD(const char *)
ap_set_string_slot_lower(cmd_parms *cmd, void *struct_ptr, const char *arg);
/** The same for a number. */
AP_DECLARE_NONSTD(const char *) ap_set_int_slot(cmd_parms *cmd, void *struct_ptr, const char *arg);
/** The same for On or Off, into an int. */
AP_DECLARE_NONSTD(const char *) ap_set_flag_slot(cmd_parms *cmd, void *struct_ptr, int arg);
/** The same, into an unsigned char. */
AP_DECLARE_NONSTD(const char *) ap_set_flag_slot_char(cmd_parms *cmd, void *struct_ptr, int arg);
/** The name relative to ServerRoot made absolute. */
AP_DECLARE_NONSTD(const char *) ap_set_file_slot(cmd_parms *cmd, void *struct_ptr, const char *arg);
/** Takes anything and returns cmd->cmd->errmsg. */
AP_DECLARE_NONSTD(const char *) ap_set_deprecated(cmd_parms *cmd, void *struct_ptr, const char *arg);

/* A file name relative to ServerRoot, DefaultRuntimeDir; NULL if it cannot be one. */
AP_DECLARE(char *) ap_server_root_relative(apr_pool_t *p, const char *fname);
/** A name below DefaultRuntimeDir, absolute names as they are. In @a p; NULL: it is not valid. */
AP_DECLARE(char *) ap_runtime_dir_relative(apr_pool_t *p, const char *fname);

/* ---- Modules ------------------------------------------------------------------------------------------- */

/** Flags of a module: none. */
#define AP_MODULE_FLAG_NONE (0)
/** Merge this module's configuration even where a section has none of its directives. */
#define AP_MODULE_FLAG_ALWAYS_MERGE (1 << 0)

/** A module, see below. */
typedef struct module_struct module;
/** A module. Begin with STANDARD20_MODULE_STUFF, then the functions; any may be NULL. */
struct module_struct {
    int version;
    int minor_version;
    int module_index; /**< place in configuration vectors, set by the core */
    const char *name;
    void *dynamic_load_handle;
    struct module_struct *next;
    unsigned long magic;

    void (*rewrite_args)(process_rec *process); /**< for an MPM */

    void *(*create_dir_config)(apr_pool_t *p, char *dir);
    void *(*merge_dir_config)(apr_pool_t *p, void *base_conf, void *new_conf);
    void *(*create_server_config)(apr_pool_t *p, server_rec *s);
    void *(*merge_server_config)(apr_pool_t *p, void *base_conf, void *new_conf);

    const command_rec *cmds;
    void (*register_hooks)(apr_pool_t *p);
    int flags; /**< AP_MODULE_FLAG_*, see AP_MODULE_HAS_FLAGS */
};

#ifndef AP_MAYBE_UNUSED
#ifdef __GNUC__
/** A name that a file need not use. */
#define AP_MAYBE_UNUSED(x) x __attribute__((unused))
#else
#define AP_MAYBE_UNUSED(x) x
#endif
#endif

/** In each further file of module foo, so that log calls know whose they are. */
#define APLOG_USE_MODULE(foo) \
    extern module AP_MODULE_DECLARE_DATA foo##_module; \
    AP_MAYBE_UNUSED(static int *const aplog_module_index) = &(foo##_module.module_index)

/** Begins the definition of module foo. */
#define AP_DECLARE_MODULE(foo) \
    APLOG_USE_MODULE(foo); \
    module AP_MODULE_DECLARE_DATA foo##_module

/** The first members of a module, which the server fills in. */
#define STANDARD_MODULE_STUFF this_module_needs_to_be_ported_to_apache_2_0
#define MPM20_MODULE_STUFF \
    MODULE_MAGIC_NUMBER_MAJOR, MODULE_MAGIC_NUMBER_MINOR, -1, __FILE__, NULL, NULL, MODULE_MAGIC_COOKIE
#define STANDARD20_MODULE_STUFF MPM20_MODULE_STUFF, NULL

/* The version at which module.flags came. */
#define AP_MODULE_FLAGS_MMN_MAJOR 20120211
#define AP_MODULE_FLAGS_MMN_MINOR 70
#define AP_MODULE_HAS_FLAGS(m) \
    AP_MODULE_MAGIC_AT_LEAST(AP_MODULE_FLAGS_MMN_MAJOR, AP_MODULE_FLAGS_MMN_MINOR)
/** Its flags, 0 for a module that is too old to have any. */
AP_DECLARE(int) ap_get_module_flags(const module *m);

/** A built-in module and the name of its variable. */
typedef struct {
    const char *name;
    module *modp;
} ap_module_symbol_t;

AP_DECLARE_DATA extern module *ap_top_module;          /**< head of the list */
AP_DECLARE_DATA extern module *ap_prelinked_modules[]; /**< built in, NULL at the end, as the next two */
/** All built-in modules with their names, then NULL. */
AP_DECLARE_DATA extern ap_module_symbol_t ap_prelinked_module_symbols[];
/** Modules that are there before the configuration is read, then NULL. */
AP_DECLARE_DATA extern module *ap_preloaded_modules[];
/** All modules, then NULL. Changes while the configuration is read. */
AP_DECLARE_DATA extern module **ap_loaded_modules;

/* NULL, or a message. _loaded_ also appends to ap_loaded_modules. */
AP_DECLARE(const char *) ap_add_module(module *m, apr_pool_t *p, const char *s);
/** Add a module that LoadModule has opened. NULL or a message. */
AP_DECLARE(const char *) ap_add_loaded_module(module *mod, apr_pool_t *p, const char *s);
/** Take a module out; its index is free again. */
AP_DECLARE(void) ap_remove_module(module *m);
/** The same for a module that LoadModule has opened. */
AP_DECLARE(void) ap_remove_loaded_module(module *mod);
/** Name of a module's source file, as <IfModule> takes it. */
AP_DECLARE(const char *) ap_find_module_name(module *m);
/** "core" for core.c, "alias" for mod_alias.c, by index. */
AP_DECLARE(const char *) ap_find_module_short_name(int module_index);
/** By file name, such as "mod_so.c". NULL if it is not there. */
AP_DECLARE(module *) ap_find_linked_module(const char *name);
/** Let a module register its hooks. */
AP_DECLARE(void) ap_register_hooks(module *m, apr_pool_t *p);
/** Make the configurations of a module that was added late. */
AP_DECLARE(void) ap_single_module_configure(apr_pool_t *p, server_rec *s, module *m);
/** Register the built-in modules at the start. NULL or a message. */
AP_DECLARE(const char *) ap_setup_prelinked_modules(process_rec *process);
/* Make room for modules that will be loaded, by number or for the section that will load them. */
AP_DECLARE(void) ap_reserve_module_slots(int count);
/** Keep room for the modules that a directive will add. */
AP_DECLARE(void) ap_reserve_module_slots_directive(const char *directive);

/* Output for -L, -l and -V; does a loaded module have that directive? */
AP_DECLARE(void) ap_show_directives(void);
/** Print the built-in modules, for -l. */
AP_DECLARE(void) ap_show_modules(void);
/** Name of the MPM. */
AP_DECLARE(const char *) ap_show_mpm(void);
/** 1 if a loaded module has the directive. */
AP_DECLARE(int) ap_exists_directive(apr_pool_t *p, const char *name);

/* ---- Configuration vectors: one pointer per module ----------------------------------------------------- */

/** Configurations of all modules, by module index. */
typedef struct ap_conf_vector_t ap_conf_vector_t;
/** Configuration of a module in a vector, NULL if it has none. */
AP_DECLARE(void *) ap_get_module_config(const ap_conf_vector_t *cv, const module *m);
/** Put one there. */
AP_DECLARE(void) ap_set_module_config(ap_conf_vector_t *cv, const module *m, void *val);
#ifndef AP_DEBUG
#define ap_get_module_config(v, m) (((void **)(v))[(m)->module_index])
#define ap_set_module_config(v, m, val) ((((void **)(v))[(m)->module_index]) = (val))
#endif

/** An empty vector for a request. */
AP_DECLARE(ap_conf_vector_t *) ap_create_request_config(apr_pool_t *p);
/** An empty vector for a connection. */
AP_CORE_DECLARE(ap_conf_vector_t *) ap_create_conn_config(apr_pool_t *p);
/** A vector for a section, empty but for the core's place. */
AP_CORE_DECLARE(ap_conf_vector_t *) ap_create_per_dir_config(apr_pool_t *p);
/** Every module's merge of the two, in @a p. */
AP_CORE_DECLARE(ap_conf_vector_t *)
ap_merge_per_dir_configs(apr_pool_t *p, ap_conf_vector_t *base, ap_conf_vector_t *new_conf);
/** For module loaders: where a directive finds its configurations. */
AP_CORE_DECLARE(void *)
ap_set_config_vectors(server_rec *server, ap_conf_vector_t *section_vector, const char *section,
                      module *mod, apr_pool_t *pconf);

/* ---- Log levels ---------------------------------------------------------------------------------------- */

/* The level in force for a module, by server, connection, both, or request. */
AP_DECLARE(int) ap_get_server_module_loglevel(const server_rec *s, int index);
/** LogLevel for a module on a connection. */
AP_DECLARE(int) ap_get_conn_module_loglevel(const conn_rec *c, int index);
/** LogLevel for a module on a connection that belongs to @a s. */
AP_DECLARE(int)
ap_get_conn_server_module_loglevel(const conn_rec *c, const server_rec *s, int index);
/** LogLevel for a module and a request. */
AP_DECLARE(int) ap_get_request_module_loglevel(const request_rec *r, int index);
#ifndef AP_DEBUG
/** The settings that the levels below are read from. */
#define ap_get_conn_logconf(c) ((c)->log ? (c)->log : &(c)->base_server->log)
#define ap_get_conn_server_logconf(c, s) \
    (((c)->log != &(c)->base_server->log && (c)->log != NULL) ? (c)->log : &(s)->log)
#define ap_get_request_logconf(r) \
    ((r)->log ? (r)->log : (r)->connection->log ? (r)->connection->log : &(r)->server->log)
/** LogLevel for a module in these settings. */
#define ap_get_module_loglevel(l, i) \
    (((i) < 0 || (l)->module_levels == NULL || (l)->module_levels[i] < 0) ? (l)->level \
                                                                          : (l)->module_levels[i])
/** LogLevel for a module on a server. */
#define ap_get_server_module_loglevel(s, i) (ap_get_module_loglevel(&(s)->log, i))
#define ap_get_conn_module_loglevel(c, i) (ap_get_module_loglevel(ap_get_conn_logconf(c), i))
#define ap_get_conn_server_module_loglevel(c, s, i) \
    (ap_get_module_loglevel(ap_get_conn_server_logconf(c, s), i))
#define ap_get_request_module_loglevel(r, i) (ap_get_module_loglevel(ap_get_request_logconf(r), i))
#endif

/** Set it for one module, while the configuration is read. */
AP_DECLARE(void) ap_set_module_loglevel(apr_pool_t *p, struct ap_logconf *l, int index, int level);
/** Set it for all modules. */
AP_DECLARE(void) ap_reset_module_loglevels(struct ap_logconf *l, int val);
/** A level's name to its number. NULL or a message. */
AP_DECLARE(const char *) ap_parse_log_level(const char *str, int *val);
/** A copy of @a old, or one with defaults if that is NULL. */
AP_DECLARE(struct ap_logconf *) ap_new_log_config(apr_pool_t *p, const struct ap_logconf *old);
/** A server's settings over those of the main server. */
AP_DECLARE(void)
ap_merge_log_config(const struct ap_logconf *old_conf, struct ap_logconf *new_conf);

/* ---- Reading configuration ----------------------------------------------------------------------------- */

/** Open a regular file for reading lines. */
AP_DECLARE(apr_status_t)
ap_pcfg_openfile(ap_configfile_t **ret_cfg, apr_pool_t *p, const char *name);
/** Read lines from anything. */
AP_DECLARE(ap_configfile_t *)
ap_pcfg_open_custom(apr_pool_t *p, const char *descr, void *param,
                    apr_status_t (*getc_func)(char *ch, void *param),
                    apr_status_t (*gets_func)(void *buf, apr_size_t bufsiz, void *param),
                    apr_status_t (*close_func)(void *param));
/** A logical line: continued lines joined, outer white space gone. APR_EOF; APR_ENOSPC if it is too long. */
AP_DECLARE(apr_status_t) ap_cfg_getline(char *buf, apr_size_t bufsize, ap_configfile_t *cfp);
/** The next byte; APR_EOF at the end. */
AP_DECLARE(apr_status_t) ap_cfg_getc(char *ch, ap_configfile_t *cfp);
/** Close the source. */
AP_DECLARE(int) ap_cfg_closefile(ap_configfile_t *cfp);
/** The error of a source, as a text in @a p. */
AP_DECLARE(const char *) ap_pcfg_strerror(apr_pool_t *p, ap_configfile_t *cfp, apr_status_t rc);

/** Read on, to the end of section @a directive, doing nothing. NULL or a message, as all of these. */
AP_DECLARE(const char *) ap_soak_end_container(cmd_parms *cmd, char *directive);
/** Read a section's body into a tree. */
AP_DECLARE(const char *)
ap_build_cont_config(apr_pool_t *p, apr_pool_t *temp_pool, cmd_parms *parms, ap_directive_t **current,
                     ap_directive_t **curr_parent, char *orig_directive);
/** Read parms->config_file into a tree. */
AP_DECLARE(const char *)
ap_build_config(cmd_parms *parms, apr_pool_t *conf_pool, apr_pool_t *temp_pool,
                ap_directive_t **conftree);
/** Call the directives of a tree. */
AP_DECLARE(const char *)
ap_walk_config(ap_directive_t *conftree, cmd_parms *parms, ap_conf_vector_t *section_vector);
/** An ap_dir_match_t for a directive that takes a pattern of file names. */
AP_DECLARE(ap_dir_match_t *)
ap_dir_cfgmatch(cmd_parms *cmd, int flags, const char *(*cb)(ap_dir_match_t *w, const char *fname),
                void *ctx) __attribute__((nonnull(1, 3)));

/** Read everything: the main server, or NULL after saying why not. */
AP_DECLARE(server_rec *)
ap_read_config(process_rec *process, apr_pool_t *temp_pool, const char *config_name,
               ap_directive_t **conftree);
/** Read a file of directives into @a conftree. NULL or a message. */
AP_DECLARE(const char *)
ap_process_resource_config(server_rec *s, const char *fname, ap_directive_t **conftree, apr_pool_t *p,
                           apr_pool_t *ptemp);
/** The same for all files that a pattern of Include names. */
AP_DECLARE(const char *)
ap_process_fnmatch_configs(server_rec *s, const char *fname, ap_directive_t **conftree, apr_pool_t *p,
                           apr_pool_t *ptemp, int optional);
/** OK, or an HTTP status after logging. */
AP_DECLARE(int)
ap_process_config_tree(server_rec *s, ap_directive_t *conftree, apr_pool_t *p, apr_pool_t *ptemp);
/** Let modules change the command line before it is read. */
AP_DECLARE(void) ap_run_rewrite_args(process_rec *process);
/** Merge the main server's configuration into each virtual host's. */
AP_DECLARE(void) ap_fixup_virtual_hosts(apr_pool_t *p, server_rec *main_server);
/** A server_rec for a <VirtualHost> section. NULL or a message. */
AP_CORE_DECLARE(const char *)
ap_init_virtual_host(apr_pool_t *p, const char *hostname, server_rec *main_server, server_rec **ps);
/** OK with *result (NULL if there is no file), or an HTTP status. Blocks on the file. */
AP_CORE_DECLARE(int)
ap_parse_htaccess(ap_conf_vector_t **result, request_rec *r, int override, int override_opts,
                  apr_table_t *override_list, const char *path, const char *access_name);

/** The directive of that name in a table, or NULL. */
AP_CORE_DECLARE(const command_rec *) ap_find_command(const char *name, const command_rec *cmds);
/** The directive of that name from *mod on, which is set to its module. */
AP_CORE_DECLARE(const command_rec *)
ap_find_command_in_modules(const char *cmd_name, module **mod);

/** Run the handlers; an HTTP status or OK. */
AP_CORE_DECLARE(int) ap_invoke_handler(request_rec *r);

/* Memory that outlives restarts, zeroed when made, by key. Get returns NULL if it was not made. */
AP_DECLARE(void *) ap_retained_data_create(const char *key, apr_size_t size);
/** Data that lives over restarts, NULL if it was not made. */
AP_DECLARE(void *) ap_retained_data_get(const char *key);
/** A cleanup that sets *(void **)data to NULL. */
AP_DECLARE_NONSTD(apr_status_t) ap_pool_cleanup_set_null(void *data);

/* ---- Hooks --------------------------------------------------------------------------------------------- */

/** Headers are known, the virtual host too; before any mapping. Run all. */
AP_DECLARE_HOOK(int, header_parser, (request_rec *r))
/** Before the configuration is read. Run all; other than OK or DECLINED ends the start, as the next ones. */
AP_DECLARE_HOOK(int, pre_config, (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp))
/** It is read; MPM settings may be checked. */
AP_DECLARE_HOOK(int, check_config,
                (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s))
/** Under -t. */
AP_DECLARE_HOOK(void, test_config, (apr_pool_t *pconf, server_rec *s))
/** It is read and logs are open. */
AP_DECLARE_HOOK(int, post_config,
                (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s))
AP_DECLARE_HOOK(int, open_logs,
                (apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s))
/** In a new server process, before it serves. */
AP_DECLARE_HOOK(void, child_init, (apr_pool_t *pchild, server_rec *s))
/** Make the response. Run until one does not decline. */
AP_DECLARE_HOOK(int, handler, (request_rec *r))
/** Before all phases, for caches. @a lookup_uri: for a lookup only, write nothing. */
AP_DECLARE_HOOK(int, quick_handler, (request_rec *r, int lookup_uri))
/** All modules have registered their optional functions. */
AP_DECLARE_HOOK(void, optional_fn_retrieve, (void))
/** Open an access file. AP_DECLINED: ask the next. */
AP_DECLARE_HOOK(apr_status_t, open_htaccess,
                (request_rec *r, const char *dir_name, const char *access_name,
                 ap_configfile_t **conffile, const char **full_name))
/** The last one in that hook: the file system. */
AP_DECLARE(apr_status_t)
ap_open_htaccess(request_rec *r, const char *dir_name, const char *access_name,
                 ap_configfile_t **conffile, const char **full_name);

#ifdef __cplusplus
}
#endif
#endif
