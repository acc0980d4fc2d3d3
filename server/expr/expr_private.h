/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_EXPR_EXPR_PRIVATE_H
#define BRIGADE_EXPR_EXPR_PRIVATE_H

/**
 * @file expr_private.h
 * Expressions inside: the tree, the parser that builds it (expr_lex.c, expr_parse.c), its
 * evaluation (expr_eval.c), and the names that the core itself offers (expr_core.c with expr_vars.c,
 * expr_funcs.c, expr_ops.c).
 *
 * Threads: a tree is read-only once it is built.
 */
#include "httpd.h"
#include "ap_expr.h"
#include "expr_depends.h"
#include "expr_subject.h"
#include "apr_tables.h"

/* ---- tree ---- */

typedef enum expr_kind {
    /* words */
    EXPR_TEXT,    /**< text */
    EXPR_VAR,     /**< func(data) */
    EXPR_CALL,    /**< func(data, part[0]) */
    EXPR_BACKREF, /**< group number op */
    EXPR_CONCAT,  /**< all parts one after the other */
    /* conditions */
    EXPR_TRUE,
    EXPR_FALSE,
    EXPR_NOT,     /**< part[0] */
    EXPR_AND,     /**< parts */
    EXPR_OR,      /**< parts */
    EXPR_COMPARE, /**< part[0] op part[1], op is an expr_compare */
    EXPR_MATCH,   /**< part[0] against regex; op is 1 for !~ */
    EXPR_IN,      /**< part[0] equals one of the words part[1..] */
    EXPR_IN_CALL, /**< part[0] is in the list func(data, part[1]) */
    EXPR_UNARY,   /**< func(data, part[0]) */
    EXPR_BINARY   /**< func(data, part[0], part[1]) */
} expr_kind;

typedef enum expr_compare {
    EXPR_STR_EQ,
    EXPR_STR_NE,
    EXPR_STR_LT,
    EXPR_STR_LE,
    EXPR_STR_GT,
    EXPR_STR_GE,
    EXPR_INT_EQ,
    EXPR_INT_NE,
    EXPR_INT_LT,
    EXPR_INT_LE,
    EXPR_INT_GT,
    EXPR_INT_GE
} expr_compare;

struct ap_expr_node {
    expr_kind kind;
    int op;
    int n; /**< of part */
    ap_expr_t **part;
    const char *text; /**< constant text; the name of a variable, function or operator */
    const void *func, *data;
    ap_regex_t *regex;
};

/* ---- lexer ---- */

typedef enum expr_token {
    EXPR_T_END,
    EXPR_T_TRUE,
    EXPR_T_FALSE,
    EXPR_T_NOT,
    EXPR_T_AND,
    EXPR_T_OR,
    EXPR_T_COMPARE, /**< op is an expr_compare */
    EXPR_T_MATCH,   /**< op is 1 for !~ */
    EXPR_T_IN,
    EXPR_T_UNARY,  /**< text is the letter */
    EXPR_T_BINARY, /**< text is the name without the dash */
    EXPR_T_DIGITS,
    EXPR_T_ID,
    EXPR_T_QUOTE,   /**< only the opening quote; op is the character */
    EXPR_T_VAR,     /**< only "%{" */
    EXPR_T_BACKREF, /**< op is the number */
    EXPR_T_OPEN,
    EXPR_T_CLOSE,
    EXPR_T_OPEN_LIST,
    EXPR_T_CLOSE_LIST,
    EXPR_T_COMMA,
    EXPR_T_CONCAT,
    EXPR_T_BAD
} expr_token;

typedef struct expr_parser {
    /** the unread rest: after the token, but at its start for T_END and T_BAD */
    const char *at;
    expr_token token;
    int op;
    const char *text; /**< the token's characters */
    apr_size_t len;
    int depth; /**< of parentheses and calls */
    const char *error;
    apr_pool_t *pool, *ptemp;
    const ap_expr_info_t *info;
    ap_expr_lookup_fn_t *lookup;
} expr_parser;

/** Read the next token into the parser. */
void expr_next(expr_parser *p);

/** Read a regular expression with its delimiters, at p->at; NULL after an error. */
ap_regex_t *expr_lex_regex(expr_parser *p);

/** Read a name at p->at; its length, 0 if no name is there. */
apr_size_t expr_lex_name(const char *at);

/** Read one backslash sequence, whose backslash is at *at, into *out. @return 0 after an error */
int expr_lex_escape(expr_parser *p, const char **at, char *out);

/** Note an error (the first one stays); always returns NULL. */
void *expr_fail(expr_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** "syntax error, unexpected (this token), expecting ..." */
void *expr_unexpected(expr_parser *p, const char *wanted);

/* ---- tree building: expr_parse.c, expr_text.c ---- */

ap_expr_t *expr_node(expr_parser *p, expr_kind kind);
void expr_add_part(expr_parser *p, ap_expr_t *node, ap_expr_t *part);

/**
 * Text with %{...}, $0 and backslashes from p->at up to the end character: a quote, '}' for the
 * argument of
 * %{func:...}, or NUL for a whole string expression. p->at is then after it.
 */
ap_expr_t *expr_parse_text(expr_parser *p, char end);

/** A variable or call, p->at being after "%{". */
ap_expr_t *expr_parse_var(expr_parser *p);

/** Find the module that offers node->text. @return node, or NULL after an error */
ap_expr_t *expr_bind(expr_parser *p, ap_expr_t *node, int type, const ap_expr_t *arg);

/** More than that many nested parentheses and calls are refused. */
#define EXPR_MAX_DEPTH 1000

/** Nothing is evaluated below that many nested calls. */
#define EXPR_MAX_CALLS 20

/* ---- evaluation ---- */

/** @return the value, never NULL; "" after an error, which is in *ctx->err */
const char *expr_eval_word(ap_expr_eval_ctx_t *ctx, const ap_expr_t *node);

/** Whether a EXPR_COMPARE of words with these values holds, without AP_EXPR_FLAG_SSL_EXPR_COMPAT. */
int expr_compare_holds(const ap_expr_t *node, const char *a, const char *b);

/** 1 if a node of the tree is of that kind (expr_depends.c). */
int expr_has(const ap_expr_t *node, expr_kind kind);

/** 1 if a variable is of another module that states its dependencies: brg_cache_declare_variable(). */
int expr_is_declared(const ap_expr_t *node);

/* ---- offers of the core ---- */

/** Lookup of one kind of name. Flags in expr_offer.flags. */
#define EXPR_O_RESTRICTED 1 /**< not where AP_EXPR_FLAG_RESTRICTED is set */
#define EXPR_O_FILE 2       /**< nor where AP_EXPR_FLAG_RESTRICTED_FILE_FUNC is */
#define EXPR_O_STATIC 4     /**< depends on its argument, the URI and the configuration alone */
#define EXPR_O_HEAD 8       /**< depends on the method and the fields of the request alone */
/** follows from the dependencies that an answer has anyway: target, host, protocol, configuration,
 * file */
#define EXPR_O_SITE 16
#define EXPR_O_LINE 32    /**< is of the request line: method, version of HTTP */
#define EXPR_O_ENV 64     /**< a variable of the environment; its setter states the dependencies */
#define EXPR_O_TELLS 128  /**< states its dependencies itself, when it is evaluated */
#define EXPR_O_CLIENT 256 /**< depends on the client's address */
#define EXPR_O_ANSWER 512 /**< is of the response, beside another of these */

/** In flags of ap_expr_info_t, beside AP_EXPR_FLAG_*: the tree lives as long as the configuration. */
#define EXPR_FLAG_LASTS (1U << 30)
/** Of a copy for one evaluation: ctx is within an expr_over_heads. */
#define EXPR_FLAG_HEADS (1U << 29)

typedef struct expr_offer {
    const char *name;
    const void *func;
    int flags;
    int id;                                      /**< data of a variable */
    int (*prepare)(ap_expr_lookup_parms *parms); /**< parse a constant argument; may be NULL */
} expr_offer;

extern const expr_offer expr_core_vars[], expr_core_funcs[], expr_core_unary[], expr_core_binary[];

/** The core's own offer that a node is bound to, NULL if another module's. */
const expr_offer *expr_core_offer_of(const ap_expr_t *node);

/** The request field behind a variable of the core's; NULL: another variable. */
const char *expr_var_field(const ap_expr_t *node);

/** req('name') */
const char *expr_f_req(ap_expr_eval_ctx_t *ctx, const void *data, const char *arg);

/** Note a header field that the value depends on, for Vary. */
void expr_add_vary(ap_expr_eval_ctx_t *ctx, const char *name);

#endif
