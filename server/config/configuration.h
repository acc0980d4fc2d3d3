/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CONFIG_CONFIGURATION_H
#define BRIGADE_CONFIG_CONFIGURATION_H

/**
 * @file configuration.h
 * Reading a configuration, private to server/.
 *
 * A file becomes a tree of ap_directive_t (config_parse.c; directives marked EXEC_ON_READ act at
 * once), the tree is walked and each directive handed to the modules that offer it (config_walk.c,
 * config_args.c). A generation is all of that plus the hooks around it (config_generation.c).
 *
 * Threads: everything here runs on the main thread, except conf_htaccess_* and their callees, which
 * only read the registry and the command index.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_optional.h"

/** Level of a struct ap_logconf for which no directive set one. */
#define CONF_LEVEL_UNSET (-1)

/* ---- module registry: config_registry.c ---- */

/** Vector length that is certain to hold every module of this generation. */
int conf_vector_slots(void);

/** A shallow copy of a vector. */
ap_conf_vector_t *conf_vector_copy(apr_pool_t *p, const ap_conf_vector_t *of);

/** At the start of reading: vectors get room for modules that are yet to be loaded. */
void conf_registry_open(void);

/** After all LoadModule directives: vectors get as long as there are modules (and reserved slots).
 */
void conf_registry_seal(void);

/** Find a module by any of its names: mod_x.c, x_module or x. NULL if it is not active. */
module *conf_find_module(const char *name);

/** Symbol name ("x_module") of an active module, "" if unknown. */
const char *conf_module_symbol(const module *m);

/** Take built-in module @a name out of this generation. @return NULL, or a message */
const char *conf_builtin_off(const char *name);

/**
 * BuiltinModule @a name On: it is there, or will be taken where LoadModule names it.
 * @param unless_lacking  1: Auto: unless the configuration asks for a feature that it lacks
 * @return NULL, or a message
 */
const char *conf_builtin_on(const char *name, int unless_lacking);

/**
 * LoadModule @a cmd named a file for module @a symbol, and whether it is there. A built-in module that lacks something
 * is taken out for this generation; and if the file is of a family of modules (module_rows.def) of which others are
 * built in, these are left to files, too.
 * @return a message (of no interest to anyone) if reading has to start over; else NULL
 */
const char *conf_builtin_named_file(const cmd_parms *cmd, const char *symbol, int is_there);

/** 1 if modules that are files are loaded, which may treat requests as no built-in one does:
 * modules that serve other modules alone do not count (module_rows_idle()). Threads: any. */
int conf_has_module_files(void);

/** 1 if a LoadModule line named the built-in module @a m. Threads: main. */
int conf_builtin_was_named(const module *m);

/**
 * A setter of the built-in module @a m met a feature that the module lacks.
 * @param what  the directive, with as much of its value as matters
 * @return a message, if the configuration is read again with the file that LoadModule names in place of
 *         @a m; NULL if that is not possible: in .htaccess, without such a file, after BuiltinModule On
 */
const char *conf_builtin_lacks(const cmd_parms *cmd, const module *m, const char *what);

/** Log for which line each such module, or family of modules, was left out. */
void conf_builtin_tell_lacks(const server_rec *s);

/** Take @a m out for this generation, to be followed by another in its place. */
void conf_builtin_replace(module *m);

/** 1 if the built-in module @a symbol is not active in this generation. */
int conf_builtin_is_off(const char *symbol);

/** @name Which built-in modules are present (BuiltinModules; config_builtin.c) A configuration with
 * LoadModule lines for modules of Apache has those built-in modules that Apache has as shared ones
 * only where such a line names them. Knowledge that comes up while a file is read counts from its
 * first line: the reading ends and starts over. Threads: main. */
/** @{ */
/** A configuration is about to be read for the first time: nothing is known of it. */
void conf_builtin_begin(void);

/** 1 if reading ended because it has to start over. */
int conf_builtin_rereads(void);

/** The same, and forgets it. */
int conf_builtin_reread(void);

/** BuiltinModules loaded|all. @return NULL or a message */
const char *conf_builtin_modules(const char *which);

/** LoadModule @a symbol was met. @return a message (of no interest to anyone) if reading has to
 * start over; else NULL. */
const char *conf_builtin_stock_load(const char *symbol);

/** The built-in module @a symbol if it is not active because nothing has loaded it yet. */
module *conf_builtin_absent(const char *symbol);

/** 1 if the built-in module @a m counts as present only where LoadModule names it. */
int conf_builtin_waits_for_load(const module *m);

/** 1 if a LoadModule line named a module that comes with Apache, as sites of Apache's have them.
 * Threads: any, once the configuration is read. */
int conf_loads_stock(void);

/** 1 if the configuration is one of Apache's, which names all modules that it wants: it has LoadModule lines for
 * mod_authz_core, or for a process model and others. Whatever BuiltinModules says. Threads: any, once the configuration is
 * read. */
int conf_is_of_apache(void);

/** -D DUMP_INCLUDES: print the files that the last reading consisted of. Nothing else otherwise. @a p: for a while */
void conf_dump_includes(apr_pool_t *p);

/** Output of -l. */
void conf_builtin_print(void);
/** @} */

/** The built-in module whose symbol is @a symbol ("mime_module"), active or not; NULL if there is
 * none. */
module *conf_builtin_find(const char *symbol);

/** Let @a modules (NULL-terminated) register their hooks and filters, after forgetting the earlier
 * ones. */
void conf_register_afresh(module **modules, apr_pool_t *pconf);

/** Re-register all hooks if a built-in module was taken out since they were registered. */
void conf_builtin_reregister(apr_pool_t *pconf);

/* ---- command index: config_commands.c ---- */

typedef struct conf_command {
    const command_rec *cmd;
    module *mod;
    struct conf_command *next; /**< another module's directive of the same name */
} conf_command;

/** All active modules' definitions of directive @a name (any case); NULL if none offers it. */
const conf_command *conf_commands_find(const char *name);

/** Add or drop a module's directives. */
void conf_commands_add(module *m);
void conf_commands_remove(const module *gone);

/* ---- directives that no active module offers: config_unsupported.c ---- */

/** Note an unsupported line of the configuration that is being read. */
void conf_unsupported_add(apr_pool_t *p, const ap_directive_t *d, const char *mod);

/**
 * Report all noted lines (to the startup log) and forget them.
 * @param lenient  1: go on without them
 * @return number of lines
 */
int conf_unsupported_report(int lenient);

/** The result of the last report. */
int conf_unsupported_last(void);

/** Forget without a report. */
void conf_unsupported_reset(void);

/** Defined while --takeover-check reads a configuration. */
#define CONF_TAKEOVER_DEFINE "BRIGADE_TAKEOVER_CHECK"

/**
 * Of a module whose file is not there: under --takeover-check its line counts as unsupported, and reading goes on.
 * @return 1: so it does; 0: it is an error as ever
 */
int conf_absent_add(cmd_parms *cmd, const char *symbol, const char *file);

/** 1 if conf_absent_add() noted the module of that symbol or name ("mod_x.c"); @a name NULL: any. */
int conf_absent_has(apr_pool_t *p, const char *name);

/**
 * A directive is taken and has no effect: tell of it once for this configuration, when all of it is read.
 * @param module_index  APLOG_MODULE_INDEX
 * @param why  a clause; as long as the configuration
 */
void conf_notice_no_effect(const cmd_parms *cmd, int module_index, const char *why);

/** Tell of them (to the startup log) and forget them. */
void conf_notices_write(void);

/** Forget them without that. */
void conf_notices_reset(void);

/* ---- text to tree: config_parse.c ---- */

/** bytes in one (continued) line of a configuration file */
#define CONF_LINE_MAX (16 * 1024 * 1024)
#define CONF_HTACCESS_LINE_MAX 8192 /**< the same in an .htaccess file */

/** A buffer for lines that grows; the pool owns it. */
typedef struct conf_line {
    apr_pool_t *pool;
    char *buf;
    apr_size_t len, cap; /**< len: bytes before the NUL */
} conf_line;

/**
 * Read one logical line: continuation lines joined, blanks at both ends dropped.
 * @return APR_SUCCESS, APR_EOF, APR_ENOSPC (longer than @a max), APR_BADCH (holds a NUL) or a read
 * error
 */
apr_status_t conf_read_line(conf_line *line, apr_size_t max, ap_configfile_t *f);

/** A configuration file held in memory. @a text must outlive it; need not end in NUL or newline. */
ap_configfile_t *conf_open_memory(apr_pool_t *p, const char *name, const char *text,
                                  apr_size_t len);

/** The longest line for directives that are read on behalf of @a parms. */
apr_size_t conf_line_limit(const apr_pool_t *p, const apr_pool_t *ptemp);

/** Whether @a parms belongs to an .htaccess file. */
int conf_is_htaccess(const cmd_parms *parms);

/** The result of a setter whose directive this configuration does not have: it goes on as if no
 * module offered it. */
extern const char conf_not_here[];

/** The end of every conditional section: read on into *tree, or pass over to the closing line.
 * (core_conditional.c) */
const char *conf_conditional(cmd_parms *cmd, ap_directive_t **tree, int holds);

/** Include: the files' tree is appended to *tree, carried out for directive cmd->directive.
 * (config_include.c) */
const char *conf_include(cmd_parms *cmd, ap_directive_t **tree, const char *name, int optional);

/* ---- tree to settings ---- */

/** Parameters as for the main file, outside every section. */
void conf_parms_init(cmd_parms *parms, apr_pool_t *p, apr_pool_t *ptemp, server_rec *s);

/**
 * Check where the directive stands, cut its arguments as the definition says, call the setter.
 * (config_args.c)
 * @return NULL or a message; DECLINE_CMD as the setter returned it
 */
const char *conf_invoke(const command_rec *cmd, cmd_parms *parms, void *mconfig, const char *args);

/** A directive is carried out: does it name a variable of requests (brg_env_may_be_read())? @a args: may be NULL. Threads: any. */
void conf_env_note(const char *directive, const char *args);

/** A configuration is about to be read: no directive of it names a variable so far. Main thread. */
void conf_env_forget(void);

/**
 * Directives that are passed over when a configuration or an access file is read, for trials.
 * @param lines  "FILE:LINE" and a new line for each, as long as the process lives; NULL: none. Main thread, before they are read.
 */
void conf_leave_out(const char *lines);

/** Called for each directive that a module took for @a section (config_walk.c). */
typedef void conf_directive_fn(const module *m, const cmd_parms *cmd, ap_conf_vector_t *section,
                               const ap_directive_t *d);

/** Set the function that is called; one at most. Call before a configuration is read. Threads: main. */
void conf_on_directive(conf_directive_fn *fn);

/** LoadModule mpm_prefork_module: this configuration's processes have one thread each. @return NULL
 * or a message. Offered by the process model. */
APR_DECLARE_OPTIONAL_FN(const char *, mpm_choose_prefork, (apr_pool_t * pconf, server_rec *s));

/* ---- Define: config_vars.c ---- */

/** Start from the -D words of the command line; names that a file defines are dropped with @a
 * pconf. */
void conf_vars_reset(apr_pool_t *pconf);
void conf_var_define(apr_pool_t *p, const char *name, const char *value);
void conf_var_undefine(const char *name);
/** Value given by Define, or NULL. */
const char *conf_var_get(const char *name);
/** Print the defined names as `-t -D DUMP_RUN_CFG` does. */
void conf_vars_dump(apr_file_t *out);

/* ---- .htaccess: config_htaccess.c ---- */

/** The permissions of an .htaccess file. */
typedef struct conf_htaccess_scope {
    int override, override_opts;
    apr_table_t *override_list;
} conf_htaccess_scope;

/**
 * Parse an open .htaccess file; nothing but EXEC_ON_READ directives is executed.
 * @param p     where the tree lives
 * @param err   the directive that a message is about, or NULL
 * @return NULL or a message
 */
const char *conf_htaccess_parse(apr_pool_t *p, request_rec *r, const conf_htaccess_scope *scope,
                                const char *dir, ap_configfile_t *f, ap_directive_t **tree,
                                const ap_directive_t **err);

/**
 * Apply a parsed tree to the configuration vector @a dc. The tree is not changed and may be applied
 * again; its strings must outlive @a p.
 * @return NULL or a message
 */
const char *conf_htaccess_apply(apr_pool_t *p, request_rec *r, const conf_htaccess_scope *scope,
                                const char *dir, ap_directive_t *tree, ap_conf_vector_t *dc,
                                const ap_directive_t **err);

/**
 * Read the first of the files of the names in @a access_name that is in @a dir.
 * @param p       for all that is read. Another pool than that of r: it may be used for other requests, and hooks of open_htaccess are
 *                not asked
 * @param result  [out] NULL: no such file
 * @return OK, or a status that was logged for @a r. Blocking: reads the file.
 */
int conf_htaccess_read(ap_conf_vector_t **result, apr_pool_t *p, request_rec *r,
                       const conf_htaccess_scope *scope, const char *dir, const char *access_name);

/** A directive did something while it was read that counts for each reading of its file: it looked at another one (<IfFile>), or
 * wrote a message (Warning). */
void conf_note_unrepeatable(void);

/** How often the calling thread did that. */
unsigned conf_unrepeatable_noted(void);

/**
 * As ap_pcfg_openfile() for an access file, of which a request may be in the way of others: a FIFO is
 * refused (APR_EBADF) and not waited for. Threads: any.
 */
apr_status_t conf_open_access_file(ap_configfile_t **ret_cfg, apr_pool_t *p, const char *name);

/** @a error, why the line @a d is refused, with words that help behind it where there are some ("; write ..."). From @a p. Threads: any. */
const char *conf_mend(apr_pool_t *p, const ap_directive_t *d, const char *error);

/** For `--explain` (brigade/explain.h): @a vector was made of these lines, those of a section. Does nothing while nobody asks.
 * (config_explain.c) */
void conf_explain_section(const void *vector, const ap_directive_t *lines);

/** The same of an access file, from its first line on: a nameless directive that contains the lines
 * is explained. */
void conf_explain_file(const void *vector, ap_directive_t *lines);

/** The section, or the first line of the .htaccess file; NULL: it is not known. */
const ap_directive_t *conf_explained_section(const void *vector);

#endif
