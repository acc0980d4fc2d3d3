/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_REWRITE_PRIVATE_H
#define BRIGADE_REWRITE_PRIVATE_H

/**
 * @file rewrite_private.h
 * Shared by the files of mod_rewrite. Rules, conditions and maps are made
 * when the configuration (or an .htaccess file) is read and only read afterwards, by any thread.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "apr_hash.h"
#include "apr_tables.h"
#include "mod_rewrite.h"

extern module AP_MODULE_DECLARE_DATA rewrite_module;

/* ---- conditions ---------------------------------------------------------------------------------------- */

/** A condition's test of its string. */
typedef enum rewrite_test {
    REWRITE_REGEX,
    REWRITE_FILE,     /**< -f */
    REWRITE_NONEMPTY, /**< -s */
    REWRITE_LINK,     /**< -l, -h, -L */
    REWRITE_FOLDER,   /**< -d */
    REWRITE_PROGRAM,  /**< -x */
    REWRITE_URL,      /**< -U */
    REWRITE_PATH,     /**< -F */
    REWRITE_LESS,     /**< < and the like compare text ... */
    REWRITE_LESS_EQUAL,
    REWRITE_SAME,
    REWRITE_MORE_EQUAL,
    REWRITE_MORE,
    REWRITE_LT, /**< ... -lt and the like numbers */
    REWRITE_LE,
    REWRITE_EQ,
    REWRITE_GE,
    REWRITE_GT,
    REWRITE_EXPR
} rewrite_test;

typedef struct rewrite_cond {
    const char *input;   /**< the test string, not expanded */
    const char *shown;   /**< the pattern as written, without '!' */
    const char *operand; /**< the right side */
    ap_regex_t *regex;
    ap_expr_info_t *expr;
    /** the request field that the test string consists of; NULL: it is another one */
    const char *field;
    /** for brg_cache_vary(): the expression, of a condition on the query; NULL: it is another one */
    const char *query;
    rewrite_test test;
    unsigned negated : 1;
    unsigned marked : 1; /**< written with '!'; -ne is negated, too */
    unsigned nocase : 1;
    unsigned or_next : 1;
    unsigned no_vary : 1;
    /** lives as long as the configuration, other than one of an .htaccess file */
    unsigned lasting : 1;
    unsigned captures : 1; /**< something later in the rule may use %N */
    unsigned of_path : 1;  /**< by rewrite_tell_rule(): it looks at nothing but the path */
    const ap_directive_t *line;
} rewrite_cond;

/* ---- rules --------------------------------------------------------------------------------------------- */

#define REWRITE_F_CHAIN (1u << 0)
#define REWRITE_F_LAST (1u << 1)
#define REWRITE_F_NEXT (1u << 2)
#define REWRITE_F_NOCASE (1u << 3)
#define REWRITE_F_NOESCAPE (1u << 4)
#define REWRITE_F_NOSUBREQ (1u << 5)
#define REWRITE_F_PROXY (1u << 6)
#define REWRITE_F_PASS (1u << 7)
#define REWRITE_F_QSAPPEND (1u << 8)
#define REWRITE_F_QSDISCARD (1u << 9)
#define REWRITE_F_QSLAST (1u << 10)
#define REWRITE_F_QSNONE (1u << 11)
#define REWRITE_F_REDIRECT (1u << 12)
#define REWRITE_F_STATUS (1u << 13)
#define REWRITE_F_END (1u << 14)
#define REWRITE_F_DISCARDPATH (1u << 15)
#define REWRITE_F_ESCAPE (1u << 16)     /**< B */
#define REWRITE_F_NOPLUS (1u << 17)     /**< BNP */
#define REWRITE_F_CTLS (1u << 18)       /**< BCTLS */
#define REWRITE_F_ALLOW3F (1u << 19)    /**< UnsafeAllow3F */
#define REWRITE_F_PREFIXSTAT (1u << 22) /**< UnsafePrefixStat */
#define REWRITE_F_UNC (1u << 21)
#define REWRITE_F_NOSUB (1u << 20)   /**< the substitution is "-" */
#define REWRITE_F_NEGATED (1u << 23) /**< the pattern begins with '!' */

typedef struct rewrite_rule {
    const apr_array_header_t *conds; /**< rewrite_cond */
    const char *pattern;             /**< without '!' */
    ap_regex_t *regex;
    const char *output;
    unsigned flags;           /**< REWRITE_F_* */
    int status;               /**< of redirects, and of F and G */
    int skip;                 /**< S */
    int rounds;               /**< N */
    const char *type;         /**< T */
    const char *handler;      /**< H */
    const char *escapes;      /**< B=...; NULL: all but letters, digits and '_' */
    const char *noescapes;    /**< BNE=...; NULL: none */
    apr_array_header_t *envs; /**< const char *: E; NULL: none */
    apr_array_header_t *cookies;
    const ap_directive_t *line;
    unsigned groups;           /**< that the output refers to: bits */
    unsigned told;             /**< by rewrite_tell_rule(): what it makes of names can be told */
    unsigned no_file, no_lack; /**< it holds for no name of a file, or for none that is not there */
    unsigned files;            /**< a condition asks whether the file is there */
    unsigned links;            /**< or whether it is a link */
} rewrite_rule;

#define REWRITE_ROUNDS 10000 /**< the limit of N */

/* ---- maps ---------------------------------------------------------------------------------------------- */

typedef enum rewrite_map_kind {
    REWRITE_MAP_TEXT,
    REWRITE_MAP_RANDOM,
    REWRITE_MAP_DBM,
    REWRITE_MAP_DBD,
    REWRITE_MAP_DBD_KEPT, /**< fastdbd */
    REWRITE_MAP_PROGRAM,
    REWRITE_MAP_FUNCTION
} rewrite_map_kind;

struct rewrite_text_map;

typedef struct rewrite_map {
    const char *name;
    rewrite_map_kind kind;
    const char *file;  /**< of text and dbm, or the program; NULL: none */
    const char *file2; /**< a second file of dbm, or NULL */
    const char *dbm_type, *dbm_name;
    const char *query; /**< dbd */
    char **argv;       /**< of a program */
    const char *user, *group;
    apr_file_t *to, *from; /**< pipes of a program, once it was started */
    rewrite_mapfunc_t *function;
    int is_plain; /**< the function looks at its argument alone */
    struct rewrite_text_map *text;
} rewrite_map;

/* ---- configuration ------------------------------------------------------------------------------------- */

#define REWRITE_O_INHERIT (1u << 0)
#define REWRITE_O_INHERIT_BEFORE (1u << 1)
#define REWRITE_O_INHERIT_DOWN (1u << 2)
#define REWRITE_O_INHERIT_DOWN_BEFORE (1u << 3)
#define REWRITE_O_IGNORE_INHERIT (1u << 4)
#define REWRITE_O_NOSLASH (1u << 5)
#define REWRITE_O_ANYURI (1u << 6)
#define REWRITE_O_MERGEBASE (1u << 7)
#define REWRITE_O_IGNORE_CONTEXT (1u << 8)
#define REWRITE_O_LEGACY_PREFIX (1u << 9)
#define REWRITE_O_PREFIXSTAT (1u << 10)

/** Of a server, or of a section. */
typedef struct rewrite_conf {
    server_rec *server;        /**< of a server; NULL of sections */
    const char *directory;     /**< of a section */
    const char *base;          /**< RewriteBase */
    apr_hash_t *maps;          /**< of a server: rewrite_map by name */
    apr_array_header_t *conds; /**< of the rule that comes next */
    apr_array_header_t *rules; /**< rewrite_rule */
    unsigned options;          /**< REWRITE_O_* */
    unsigned on : 1;
    unsigned on_set : 1;
    unsigned options_set : 1;
    unsigned base_set : 1;
} rewrite_conf;

extern const command_rec rewrite_commands[];

/** A word of a RewriteRule's or RewriteCond's last argument. NULL or a message. */
typedef const char *rewrite_flag_fn(apr_pool_t *p, void *target, char *name, char *value);

/** Split [A,B=x] and call @a fn for each. NULL or a message. Changes @a field. */
const char *rewrite_parse_flags(apr_pool_t *p, void *target, char *field, rewrite_flag_fn *fn);
/** A rewrite_flag_fn for a rewrite_rule. */
const char *rewrite_rule_flag(apr_pool_t *p, void *target, char *name, char *value);

/**
 * Cut a line into its two or three arguments, in place.
 * @return 0; -1 if there are fewer. Arguments behind the third are ignored.
 */
int rewrite_split_line(char *line, char *arg[3]);

const char *rewrite_set_map(cmd_parms *cmd, void *dir, const char *name, const char *spec,
                            const char *options);

static inline int rewrite_in_htaccess(const cmd_parms *cmd)
{
    return cmd->pool == cmd->temp_pool;
}

/** Set rule->told and rule->groups. */
void rewrite_tell_rule(rewrite_rule *rule);
/** A brg_cache_name_fn (rewrite_told.c). */
apr_int64_t rewrite_name(const server_rec *s, ap_conf_vector_t *dir, const char *path,
                         const char *filename, const char *path_info, int is_file);

/* ---- running ------------------------------------------------------------------------------------------- */

typedef struct rewrite_match {
    const char *source; /**< NULL: no text */
    ap_regmatch_t at[AP_MAX_REG_MATCH];
} rewrite_match;

/** Rules at work for a request. */
typedef struct rewrite_run {
    request_rec *r;           /**< the request that variables are of */
    const char *directory;    /**< of the section; NULL: rules of a server */
    const char *uri;          /**< the subject of the rule */
    rewrite_match rule, cond; /**< $N and %N */
    const char *vary; /**< fields of the rule's conditions, for the response's Vary; or NULL */
    int is_unsafe; /**< by rewrite_expand(): the '?' that begins the query was put in for a reference */
    const char *vary_this; /**< those of the condition that is evaluated */
    int no_vary;           /**< of that condition */
    /** the rule tells the cache something, so the cache knows the answer's dependencies */
    int for_cache;
} rewrite_run;

/** Result of a list of rules. */
typedef enum rewrite_result {
    REWRITE_NOTHING,
    REWRITE_CHANGED,
    REWRITE_UNESCAPED, /**< changed, to a target that is not to be escaped */
    REWRITE_ANSWERED   /**< r->status is the answer */
} rewrite_result;

/** @param last  [out] the rule that made r->filename, or NULL */
rewrite_result rewrite_apply(request_rec *r, const apr_array_header_t *rules, const char *directory,
                             const rewrite_rule **last);

/** Evaluate a condition. */
int rewrite_cond_holds(rewrite_run *run, const rewrite_cond *cond);
/** A brg_cache_variant_fn: whether a condition with a field holds for a value. */
int rewrite_cond_kind(const void *data, const char *value, apr_size_t len);

/** Rules of a folder looked at this field, whatever came of it: noted for caches, unless the
 * condition has NV. */
void rewrite_note_field(const rewrite_run *run, const char *name);
/** Expand $N, %N, ${MAP:KEY|DEFAULT} and %{NAME}. @a rule: whose flags say how $N is escaped, or NULL. */
char *rewrite_expand(rewrite_run *run, const char *text, const rewrite_rule *rule);
/** The value of %{NAME}; "" if unknown. @a name may be changed. */
const char *rewrite_variable(rewrite_run *run, char *name);
/** The request field that %{NAME} stands for, or NULL. @a text: the whole test string */
const char *rewrite_field_of(apr_pool_t *p, const char *text);
/** A variable of @a text may wait for a name: the phases of requests run on workers. */
void rewrite_note_waits(const char *text);
/** A request field, noted for Vary; NULL if the request has none. */
const char *rewrite_header(rewrite_run *run, const char *name);
/** 1 if a sub-request for a look-ahead is possible: not within one for the same URI. */
int rewrite_may_look_up(const request_rec *r);

/** The value of a key in the map of that name; NULL if not found. */
const char *rewrite_lookup(request_rec *r, const char *name, char *key);
struct rewrite_text_map *rewrite_text_make(apr_pool_t *p, const char *file);
/** Read the file if it is another one than was read. */
void rewrite_text_prepare(struct rewrite_text_map *map);
/** @param fresh [out] 1: the first look-up of this key in this version of the file */
apr_status_t rewrite_text_find(struct rewrite_text_map *map, apr_pool_t *p, const char *key,
                               const char **value, int *fresh);
const char *rewrite_program_ask(request_rec *r, const rewrite_map *map, const char *key);
const char *rewrite_dbd_find(request_rec *r, const rewrite_map *map, const char *key);

/** Offer a function as a map; for the optional function of that name. From pre_config. */
void ap_register_rewrite_mapfunc(char *name, rewrite_mapfunc_t *func);
/** Maps of functions: the table, before the configuration is read. */
void rewrite_functions_register(apr_pool_t *p);

int rewrite_programs_pre_config(apr_pool_t *p);
/** Start the programs of all servers. OK or HTTP_INTERNAL_SERVER_ERROR. */
int rewrite_programs_start(apr_pool_t *p, server_rec *s);
void rewrite_programs_child(apr_pool_t *p, server_rec *s);

/** Whether maps of databases can be used; and have a query prepared. */
int rewrite_dbd_prepare(server_rec *s, const char *query);

/* ---- targets ------------------------------------------------------------------------------------------- */

/** Length of the known scheme ("http://", "mailto:") at the begin of @a uri; 0: none.
 * @param has_query [out] 1: a '?' in it begins a query; may be NULL */
unsigned rewrite_scheme(const char *uri, int *has_query);
/** Split the query off r->filename, by the flags of a rule. */
void rewrite_split_query(request_rec *r, unsigned flags);
/** Give r->filename scheme and host of this server, if it has none. */
void rewrite_qualify(request_rec *r);
/** Take scheme and host from r->filename if they are this server's. */
void rewrite_reduce(request_rec *r);
/** Escape the path of a URL, the length of whose scheme is given. */
char *rewrite_escape_url(apr_pool_t *p, char *uri, unsigned scheme);
/** Put @a subst in the place of the folder @a match at the beginning; the same pointer if it is not there. */
char *rewrite_replace_prefix(request_rec *r, char *text, const char *match, const char *subst);
/** /~NAME/... as a path below the home of that user. */
char *rewrite_expand_tilde(request_rec *r, char *uri);
/** 1 if the first segment of a path is there, as a file name, and the rule allows that it is taken for one. */
int rewrite_is_real_prefix(request_rec *r, const char *path, const rewrite_rule *last);

/** 1: the rule does nothing but to set variables that are words for the cache (LiteSpeedCache). */
int rewrite_is_for_cache(const rewrite_run *run, const rewrite_rule *rule);
/** Find whom variables are told; after all modules registered. */
void rewrite_effects_begin(void);
/** Apply the flags E and CO of a rule. */
void rewrite_set_variables(rewrite_run *run, const rewrite_rule *rule);
void rewrite_set_cookies(rewrite_run *run, const rewrite_rule *rule);
void rewrite_force_type(rewrite_run *run, const rewrite_rule *rule);

/* ---- hooks --------------------------------------------------------------------------------------------- */

int rewrite_translate(request_rec *r);
int rewrite_fixup(request_rec *r);
int rewrite_fixup_type(request_rec *r);
int rewrite_handler(request_rec *r);

/** The finish of both hooks for a proxied target. @return OK or a status */
int rewrite_to_proxy(request_rec *r, rewrite_result result, const char *directory);
/** And for a redirect. @a args: the query before the rules ran, which is escaped already. */
int rewrite_to_client(request_rec *r, rewrite_result result, unsigned scheme, const char *args,
                      const char *directory);
/** 1 if the query holds bytes that no target may have, and the request is to be refused. */
int rewrite_query_is_bad(request_rec *r, rewrite_result result, unsigned scheme,
                         const char *number);
/** END was met. */
int rewrite_has_ended(request_rec *r, const char *directory);
void rewrite_end(request_rec *r);
void rewrite_set_proxy_available(int is);

/** Nothing that was made for this request serves another one. */
void rewrite_is_volatile(request_rec *r);
/** A brg_cache_fn. */
int rewrite_depends(request_rec *r);

/* ---- log ----------------------------------------------------------------------------------------------- */

/** A line at trace level @a level. */
void rewrite_log(request_rec *r, int level, const char *directory, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** rewrite_log(), but its arguments are evaluated only where the line is wanted. */
#define REWRITE_LOG(r, level, directory, ...)                                               \
    do {                                                                                    \
        if (APLOG_R_MODULE_IS_LEVEL(r, rewrite_module.module_index, APLOG_DEBUG + (level))) \
            rewrite_log(r, level, directory, __VA_ARGS__);                                  \
    } while (0)

#endif
