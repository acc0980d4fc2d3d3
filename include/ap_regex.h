/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_REGEX_H
#define AP_REGEX_H

/**
 * @file ap_regex.h
 * Regular expressions: PCRE2 behind an interface in the manner of POSIX. A compiled expression may be used by
 * any number of threads at once.
 */
#include "apr.h"

/* apr_tables.h and apr_pools.h are named by the functions below. */
#include "apr_tables.h"
#include "apr_pools.h"
#include "ap_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of ap_regcomp (C) and ap_regexec (X). */
#define AP_REG_ICASE 0x01          /**< C: ignore case */
#define AP_REG_NEWLINE 0x02        /**< C: ^ and $ match at line ends too */
#define AP_REG_NOTBOL 0x04         /**< X: ^ does not match at the start of the subject */
#define AP_REG_NOTEOL 0x08         /**< X: $ does not match at its end */
#define AP_REG_EXTENDED (0)        /**< always so */
#define AP_REG_NOSUB (0)           /**< no effect */
#define AP_REG_MULTI 0x10          /**< ap_rxplus: /g, replace every match */
#define AP_REG_NOMEM 0x20          /**< ap_rxplus: /n, do not remember groups */
#define AP_REG_DOTALL 0x40         /**< C: . matches a newline */
#define AP_REG_DOLLAR_ENDONLY 0x200 /**< C: $ matches at the very end only */
#define AP_REG_NO_DEFAULT 0x400    /**< C: do not add the default flags */

/** Prefix of the variables that named groups of a section's expression set. */
#define AP_REG_MATCH "MATCH_"
#define AP_REG_DEFAULT (AP_REG_DOTALL | AP_REG_DOLLAR_ENDONLY)

/** Which version ap_pcre_version_string() tells. */
enum { AP_REG_PCRE_COMPILED = 0, AP_REG_PCRE_LOADED };

/** Errors of ap_regcomp and ap_regexec. */
enum { AP_REG_ASSERT = 1, AP_REG_ESPACE, AP_REG_INVARG, AP_REG_NOMATCH };

typedef struct {
    void *re_pcre;           /**< the compiled expression, private */
    int re_nsub;             /**< number of groups */
    apr_size_t re_erroffset; /**< where compilation failed */
} ap_regex_t;

/** Offsets of a match; -1 where a group took no part. */
typedef struct {
    int rm_so;
    int rm_eo;
} ap_regmatch_t;

AP_DECLARE(const char *) ap_pcre_version_string(int which);

/* Flags that ap_regcomp adds to those it is given. Set them while reading the configuration only. */
AP_DECLARE(int) ap_regcomp_get_default_cflags(void);
AP_DECLARE(void) ap_regcomp_set_default_cflags(int cflags);
/** Flag of that name in the RegexDefaultOptions directive, 0 if unknown. */
AP_DECLARE(int) ap_regcomp_default_cflag_by_name(const char *name);

/** Compile. 0, or AP_REG_*. The caller frees with ap_regfree; ap_pregcomp ties it to a pool. */
AP_DECLARE(int) ap_regcomp(ap_regex_t *preg, const char *regex, int cflags);
/** Search. 0 if found, AP_REG_NOMATCH if not, another AP_REG_* on error. */
AP_DECLARE(int)
ap_regexec(const ap_regex_t *preg, const char *string, apr_size_t nmatch, ap_regmatch_t *pmatch,
           int eflags);
/** Search in @a len bytes that need no terminator. */
AP_DECLARE(int)
ap_regexec_len(const ap_regex_t *preg, const char *buff, apr_size_t len, apr_size_t nmatch,
               ap_regmatch_t *pmatch, int eflags);
/** Text of an error, cut to @a errbuf_size. Returns the length it would need. */
AP_DECLARE(apr_size_t)
ap_regerror(int errcode, const ap_regex_t *preg, char *errbuf, apr_size_t errbuf_size);
/** Fill @a names (of const char *, by group number) with prefix + name of each named group. */
AP_DECLARE(int)
ap_regname(const ap_regex_t *preg, apr_array_header_t *names, const char *prefix, int upper);
AP_DECLARE(void) ap_regfree(ap_regex_t *preg);

/** Perl-like expressions: "m/re/flags" and "s/re/text/flags". */
typedef struct {
    ap_regex_t rx;
    apr_uint32_t flags;
    const char *subs;
    const char *match;
    apr_size_t nmatch;
    ap_regmatch_t *pmatch;
} ap_rxplus_t;

/** NULL if the pattern does not parse. */
AP_DECLARE(ap_rxplus_t *) ap_rxplus_compile(apr_pool_t *pool, const char *pattern);
/** Number of matches; for a substitution also the new string. Not safe for threads: it keeps the match. */
AP_DECLARE(int)
ap_rxplus_exec(apr_pool_t *pool, ap_rxplus_t *rx, const char *pattern, char **newpattern);
/** Number of remembered groups of the last match. */
#define ap_rxplus_nmatch(rx) (((rx)->match != NULL) ? (rx)->nmatch : 0)
/** Group @a n as pointer and length into the subject. */
AP_DECLARE(void) ap_rxplus_match(ap_rxplus_t *rx, int n, int *len, const char **match);
/** Group @a n as a copy. */
AP_DECLARE(char *) ap_rxplus_pmatch(apr_pool_t *pool, ap_rxplus_t *rx, int n);

#ifdef __cplusplus
}
#endif
#endif
