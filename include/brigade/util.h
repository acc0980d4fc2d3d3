/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_UTIL_H
#define BRIGADE_UTIL_H

/**
 * @file brigade/util.h
 * Utility functions of the core for strings, header values, URLs, file names. Part of httpd.h.
 *
 * Results live in the given pool. Unless a line says otherwise, functions here may be called from
 * any thread, do not block, and do not change their input.
 */
#include "ap_regex.h"
#include "brigade/declare.h"
#include "brigade/records.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and name of the server
 * ----------------------------------------------------------------- */

/** The version of the server. */
typedef struct {
    int major;
    int minor;
    int patch;
    const char *add_string;
} ap_version_t;

/** The version of Apache's interface that is offered. */
AP_DECLARE(void) ap_get_server_revision(ap_version_t *version);
/** The Server field, as ServerTokens asks. */
AP_DECLARE(const char *) ap_get_server_banner(void);
/** The same with all components, whatever ServerTokens says. */
AP_DECLARE(const char *) ap_get_server_description(void);
/** Add to the banner, from post_config. */
AP_DECLARE(void) ap_add_version_component(apr_pool_t *pconf, const char *component);
/** When it was built. */
AP_DECLARE(const char *) ap_get_server_built(void);
/** The line under generated pages, as ServerSignature asks; "" if off. */
AP_DECLARE(const char *) ap_psignature(const char *prefix, request_rec *r);

/* ---- Context of a request ------------------------------------------------------------------------------ */

/* Where the URL prefix of an alias or user directory maps to, for a module that maps URLs. */
AP_DECLARE(const char *) ap_context_document_root(request_rec *r);
/** The part of the URI that a module has mapped to a folder, or "". */
AP_DECLARE(const char *) ap_context_prefix(request_rec *r);
/** Say so, for mod_alias and the like. */
AP_DECLARE(void)
ap_set_context_info(request_rec *r, const char *prefix, const char *document_root);
/** Another DocumentRoot for one request; the string must live as long as it. */
AP_DECLARE(void) ap_set_document_root(request_rec *r, const char *document_root);

/** 1 if @a r has this handler. Most requests have another one, whose first letter differs. */
static inline int brg_handler_is(const request_rec *r, const char *name)
{
    return r->handler && *r->handler == *name && !strcmp(r->handler, name);
}

/** Is there a request body, by the header alone? */
AP_DECLARE(int) ap_request_has_body(request_rec *r);

/** A name of a form, and its value as a brigade. */
typedef struct {
    const char *name;
    apr_bucket_brigade *value;
} ap_form_pair_t;

/**
 * Read a form from the body through @a f, at most @a num pairs (-1: no limit) of @a size bytes in all.
 * OK or an HTTP status. Blocks.
 */
AP_DECLARE(int)
ap_parse_form_data(request_rec *r, struct ap_filter_t *f, apr_array_header_t **ptr, apr_size_t num,
                   apr_size_t size);

/* ---- Words --------------------------------------------------------------------------------------------- */

/* Cut the first word off *line, which moves on; the word is a copy. "stop" ends the word and is skipped
 * (repeats too, unless _nulls). _white: white space ends it. _conf: as in configuration, with quotes and
 * backslashes; _conf2: also with { }. _nc: for a line that is not const. */
AP_DECLARE(char *) ap_getword(apr_pool_t *p, const char **line, char stop);
/** The same for text that may be changed. */
AP_DECLARE(char *) ap_getword_nc(apr_pool_t *p, char **line, char stop);
/** The next word before white space; *line is moved behind it. In @a p. */
AP_DECLARE(char *) ap_getword_white(apr_pool_t *p, const char **line);
/** The same for text that may be changed. */
AP_DECLARE(char *) ap_getword_white_nc(apr_pool_t *p, char **line);
/** As ap_getword(), but two delimiters have an empty word between them. */
AP_DECLARE(char *) ap_getword_nulls(apr_pool_t *p, const char **line, char stop);
/** The same for text that may be changed. */
AP_DECLARE(char *) ap_getword_nulls_nc(apr_pool_t *p, char **line, char stop);
/** The next word of a configuration line, with quotes and backslashes. In @a p. */
AP_DECLARE(char *) ap_getword_conf(apr_pool_t *p, const char **line);
/** The same for text that may be changed. */
AP_DECLARE(char *) ap_getword_conf_nc(apr_pool_t *p, char **line);
/** The same; a word in braces is one word. */
AP_DECLARE(char *) ap_getword_conf2(apr_pool_t *p, const char **line);
/** The same for text that may be changed. */
AP_DECLARE(char *) ap_getword_conf2_nc(apr_pool_t *p, char **line);
/** Replace ${NAME} by a Define or environment variable; unknown ones stay. May return @a word. */
AP_DECLARE(const char *) ap_resolve_env(apr_pool_t *p, const char *word);

/* ---- Header values ------------------------------------------------------------------------------------- */

/** A value without its parameters. */
AP_DECLARE(char *) ap_field_noparam(apr_pool_t *p, const char *intype);
/** First item of a list, unchanged: its start and length; *field moves on. NULL: no more. */
AP_DECLARE(const char *) ap_size_list_item(const char **field, int *len);
/** The same as a normalized copy: outer white space gone, lower case outside quotes. */
AP_DECLARE(char *) ap_get_list_item(apr_pool_t *p, const char **field);
/** 1 if @a tok is an element of the list @a line, its parameters included. */
AP_DECLARE(int) ap_find_list_item(apr_pool_t *p, const char *line, const char *tok);
/* Is an entity tag in a list, by weak or strong comparison? */
AP_DECLARE(int) ap_find_etag_weak(apr_pool_t *p, const char *line, const char *tok);
/** 1 if @a tok is in the list @a line and both are strong. */
AP_DECLARE(int) ap_find_etag_strong(apr_pool_t *p, const char *line, const char *tok);

/* First character that is not field content, token, or visible/obs-text. */
AP_DECLARE(const char *) ap_scan_http_field_content(const char *ptr);
/** The first byte that may not be in a token. */
AP_DECLARE(const char *) ap_scan_http_token(const char *ptr);
/** The first byte that may not be in a field's value, blanks among them. */
AP_DECLARE(const char *) ap_scan_vchar_obstext(const char *ptr);

/** Append the tokens of a list to *tokens (made if needed). NULL, or a message; skip_invalid ignores bad ones. */
AP_DECLARE(const char *)
ap_parse_token_list_strict(apr_pool_t *p, const char *tok, apr_array_header_t **tokens,
                           int skip_invalid);
/** One token; accept_white keeps inner white space. */
AP_DECLARE(char *) ap_get_token(apr_pool_t *p, const char **accept_line, int accept_white);
/** 1 if @a tok is in the list @a line, in any case. */
AP_DECLARE(int) ap_find_token(apr_pool_t *p, const char *line, const char *tok);
/** 1 if @a tok is the last element of the list @a line. */
AP_DECLARE(int) ap_find_last_token(apr_pool_t *p, const char *line, const char *tok);
/** Is "chunked" the last coding of a Transfer-Encoding value? */
AP_DECLARE(int) ap_is_chunked(apr_pool_t *p, const char *line);
/** Lower-case a media type but not its parameters' values, in place. */
AP_DECLARE(void) ap_content_type_tolower(char *s);
/** Decimal digits only, no overflow: 1 and *len, else 0. */
AP_DECLARE(int) ap_parse_strict_length(apr_off_t *len, const char *str);
/** Time as strftime's @a fmt says; NULL stands for the format of HTTP. */
AP_DECLARE(char *) ap_ht_time(apr_pool_t *p, apr_time_t t, const char *fmt, int gmt);

/* ---- URLs ---------------------------------------------------------------------------------------------- */

/** 1 if it begins as a scheme with a colon does. */
AP_DECLARE(int) ap_is_url(const char *u);

/* Decode %XX in place. OK; HTTP_BAD_REQUEST for bad digits; HTTP_NOT_FOUND for %00 or a forbidden slash. */
AP_DECLARE(int) ap_unescape_all(char *url);
/** Decode in place. OK, 400 or 404 (a slash or NUL). */
AP_DECLARE(int) ap_unescape_url(char *url);
/** The same; encoded slashes stay, or become slashes if @a decode_slashes. */
AP_DECLARE(int) ap_unescape_url_keep2f(char *url, int decode_slashes);
/** Flags of the next function. */
#define AP_UNESCAPE_URL_KEEP_UNRESERVED (1u << 0)
#define AP_UNESCAPE_URL_FORBID_SLASHES (1u << 1)
#define AP_UNESCAPE_URL_KEEP_SLASHES (1u << 2)
/** The same by AP_UNESCAPE_URL_* flags. */
AP_DECLARE(int) ap_unescape_url_ex(char *url, unsigned int flags);
/** The same with + for a space. */
AP_DECLARE(int) ap_unescape_urlencoded(char *query);

/* Clean a path in place. */
AP_DECLARE(void) ap_no2slash(char *name);
/** The same; @a is_fs_path: on systems that need it, two at the start stay. */
AP_DECLARE(void) ap_no2slash_ex(char *name, int is_fs_path);
/** Remove "." and ".." of a path in place. */
AP_DECLARE(void) ap_getparents(char *name);
/** Flags of ap_normalize_path(). */
#define AP_NORMALIZE_ALLOW_RELATIVE (1u << 0)
#define AP_NORMALIZE_NOT_ABOVE_ROOT (1u << 1)
#define AP_NORMALIZE_DECODE_UNRESERVED (1u << 2)
#define AP_NORMALIZE_MERGE_SLASHES (1u << 3)
#define AP_NORMALIZE_DROP_PARAMETERS (0)
/** Remove . and .. segments in place. 0 if the path is bad or leaves the root. */
AP_DECLARE(int) ap_normalize_path(char *path, unsigned int flags);

/* Encode. A _buffer variant writes to @a c, which has room for three times the length and a NUL. */
AP_DECLARE(char *) ap_escape_path_segment(apr_pool_t *p, const char *s);
/** The same, into a buffer of three times the length. */
AP_DECLARE(char *) ap_escape_path_segment_buffer(char *c, const char *s);
/** A path as a URL path; unless @a partial, with ./ in front of a first segment that has a colon. */
AP_DECLARE(char *) ap_os_escape_path(apr_pool_t *p, const char *path, int partial);
/** The same under the name for whole URIs. */
#define ap_escape_uri(ppool, path) ap_os_escape_path(ppool, path, 1)
/** As a form has it, with + for a blank. In @a p. */
AP_DECLARE(char *) ap_escape_urlencoded(apr_pool_t *p, const char *s);
/** The same, into a buffer of three times the length. */
AP_DECLARE(char *) ap_escape_urlencoded_buffer(char *c, const char *s);

/** host or host:port, the port only if it is not the scheme's default. */
AP_DECLARE(char *)
ap_construct_server(apr_pool_t *p, const char *hostname, apr_port_t port, const request_rec *r);

/* ---- Escaping for other places ------------------------------------------------------------------------- */

/** Escape <, >, & and the quotation mark. In @a p. */
#define ap_escape_html(p, s) ap_escape_html2(p, s, 0)
/** For HTML text and attributes; @a toasc also turns non-ASCII into references. */
AP_DECLARE(char *) ap_escape_html2(apr_pool_t *p, const char *s, int toasc);
/** Escape bytes that a log must not hold: control bytes, quotes, backslashes. In @a p. */
AP_DECLARE(char *) ap_escape_logitem(apr_pool_t *p, const char *str);
/** Into @a dest of @a buflen bytes; returns the length without the NUL. */
AP_DECLARE(apr_size_t) ap_escape_errorlog_item(char *dest, const char *source, apr_size_t buflen);
/** Put backslashes before all that a shell knows. In @a p. */
AP_DECLARE(char *) ap_escape_shell_cmd(apr_pool_t *p, const char *s);
/** Put a backslash before each quote that has none. */
AP_DECLARE(char *) ap_escape_quotes(apr_pool_t *p, const char *instring);

/* ---- File names ---------------------------------------------------------------------------------------- */

/** Number of slashes. */
AP_DECLARE(int) ap_count_dirs(const char *path);
/** The first @a n directories of @a s, to @a d; returns the end. */
AP_DECLARE(char *) ap_make_dirstr_prefix(char *d, const char *s, int n);
/** The folder of a file name, with the slash. In @a p. */
AP_DECLARE(char *) ap_make_dirstr_parent(apr_pool_t *p, const char *s);
/** @a dir and @a f with one slash in between. In @a a. */
AP_DECLARE(char *) ap_make_full_path(apr_pool_t *a, const char *dir, const char *f);
/** 1 for an absolute file name. */
AP_DECLARE(int) ap_os_is_path_absolute(apr_pool_t *p, const char *dir);
/* Is it a directory? The first does not follow a link. Both ask the file system. */
AP_DECLARE(int) ap_is_rdirectory(apr_pool_t *p, const char *name);
/** 1 if it is one; links are followed. May block. */
AP_DECLARE(int) ap_is_directory(apr_pool_t *p, const char *name);
/** apr_filepath_merge() with the checks that the server needs. */
AP_DECLARE(apr_status_t)
ap_filepath_merge(char **newpath, const char *rootpath, const char *addpath, apr_int32_t flags,
                  apr_pool_t *p);
/** May this path be given to stat at all? Always so here. */
AP_DECLARE(apr_status_t) ap_stat_check(const char *path, apr_pool_t *pool);

/** Bytes that separate parts of file names here. */
#define AP_IS_SLASH(s) (s == '/')
#define AP_SLASHES "/"

/** Flags of ap_dir_nofnmatch() and ap_dir_fnmatch(): none. */
#define AP_DIR_FLAG_NONE 0
#define AP_DIR_FLAG_OPTIONAL 1  /**< no error if nothing matches */
#define AP_DIR_FLAG_RECURSIVE 2 /**< below a directory too */
/** The action on files that a pattern matches. */
typedef struct ap_dir_match_t ap_dir_match_t;
/** A walk over the files that a pattern names. */
struct ap_dir_match_t {
    apr_pool_t *p;
    apr_pool_t *ptemp;
    const char *prefix;                                      /**< in front of messages */
    const char *(*cb)(ap_dir_match_t *w, const char *fname); /**< NULL to go on, or a message */
    void *ctx;
    int flags;
    unsigned int depth;
};
/** Call back for one file or directory. NULL or a message. */
AP_DECLARE(const char *)
ap_dir_nofnmatch(ap_dir_match_t *w, const char *fname) __attribute__((nonnull(1, 2)));
/** Call back for each file that the wildcards name, in order. NULL or a message. */
AP_DECLARE(const char *)
ap_dir_fnmatch(ap_dir_match_t *w, const char *path, const char *fname)
    __attribute__((nonnull(1, 3)));

/* ---- Strings ------------------------------------------------------------------------------------------- */

/** Has it * or ? in it? */
AP_DECLARE(int) ap_is_matchexp(const char *str);
/* Match with * and ?: 0 if it does. */
AP_DECLARE(int) ap_strcmp_match(const char *str, const char *expected);
/** As ap_strcmp_match(), in any case. */
AP_DECLARE(int) ap_strcasecmp_match(const char *str, const char *expected);
/** As strstr(), in any case. */
AP_DECLARE(char *) ap_strcasestr(const char *s1, const char *s2);
/** The text behind the prefix, or the whole if it is not there. */
AP_DECLARE(const char *) ap_stripprefix(const char *bigstring, const char *prefix);
/** Decode base64 into a string in @a p; an invalid character ends it. */
AP_DECLARE(char *) ap_pbase64decode(apr_pool_t *p, const char *bufcoded);
/** Encode a string. In @a p. */
AP_DECLARE(char *) ap_pbase64encode(apr_pool_t *p, char *string);
/** In place, ASCII only. */
AP_DECLARE(void) ap_str_tolower(char *s);
/** In place, ASCII only. */
AP_DECLARE(void) ap_str_toupper(char *s);
/* Index of the first, last c; -1 if absent. */
AP_DECLARE(int) ap_ind(const char *str, char c);
/** Place of the last @a c in a string, -1 if it is not there. */
AP_DECLARE(int) ap_rind(const char *str, char c);
/* ASCII only, whatever the locale. */
AP_DECLARE(int) ap_cstr_casecmp(const char *s1, const char *s2);
/** The same for at most @a n bytes. */
AP_DECLARE(int) ap_cstr_casecmpn(const char *s1, const char *s2, apr_size_t n);
/* Nonzero if equal; the time taken does not tell where they differ. */
AP_DECLARE(int) ap_memeq_timingsafe(const void *buf1, const void *buf2, apr_size_t n);
/** 1 if both are equal; the time depends on the lengths alone. */
AP_DECLARE(int) ap_streq_timingsafe(const char *sec1, const char *str2);
/** The same for @a n bytes. */
AP_DECLARE(int) ap_strneq_timingsafe(const char *sec1, const char *str2, apr_size_t n);
/** The name with a delimiter and the process id. In @a p. */
AP_DECLARE(char *) ap_append_pid(apr_pool_t *p, const char *string, const char *delim);
/* Replace all but letters and digits by _. */
AP_DECLARE(apr_status_t) ap_pstr2_alnum(apr_pool_t *p, const char *src, const char **dest);
/** Copy @a src and put _ for all but letters and digits; at the size of @a src. */
AP_DECLARE(apr_status_t) ap_str2_alnum(const char *src, char *dest);
/** Lower-case hexadecimal, 2 * srclen + 1 bytes. */
AP_DECLARE(void) ap_bin2hex(const void *src, apr_size_t srclen, char *dest);
/** "5", "300ms", "2min": @a default_time_unit where none is given. APR_EGENERAL if it does not parse. */
AP_DECLARE(apr_status_t)
ap_timeout_parameter_parse(const char *timeout_parameter, apr_interval_time_t *timeout,
                           const char *default_time_unit);
/* Index in an array of const char * from @a start, or -1; is it in there? */
AP_DECLARE(int) ap_array_str_index(const apr_array_header_t *array, const char *s, int start);
/** 1 if @a s is in an array of strings. */
AP_DECLARE(int) ap_array_str_contains(const apr_array_header_t *array, const char *s);

/* strchr and kin that keep const apart, checked in a debugging build only. */
AP_DECLARE(char *) ap_strchr(char *s, int c);
/** strchr() and the like, under names that keep const in Apache's debug builds. */
AP_DECLARE(const char *) ap_strchr_c(const char *s, int c);
/** strrchr(). */
AP_DECLARE(char *) ap_strrchr(char *s, int c);
/** strrchr() of constant text. */
AP_DECLARE(const char *) ap_strrchr_c(const char *s, int c);
/** strstr(). */
AP_DECLARE(char *) ap_strstr(char *s, const char *c);
/** strstr() of constant text. */
AP_DECLARE(const char *) ap_strstr_c(const char *s, const char *c);
#ifdef AP_DEBUG
#undef strchr
/** The checked kind in debug builds. */
#define strchr(s, c) ap_strchr(s, c)
#undef strrchr
/** The checked kind in debug builds. */
#define strrchr(s, c) ap_strrchr(s, c)
#undef strstr
/** The checked kind in debug builds. */
#define strstr(s, c) ap_strstr(s, c)
#else
/** strchr() and the like, under names that keep const in Apache's debug builds. */
#define ap_strchr(s, c) strchr(s, c)
#define ap_strchr_c(s, c) strchr(s, c)
#define ap_strrchr(s, c) strrchr(s, c)
#define ap_strrchr_c(s, c) strrchr(s, c)
#define ap_strstr(s, c) strstr(s, c)
#define ap_strstr_c(s, c) strstr(s, c)
#endif

/** SHA-256 (FIPS 180-4) of @a n bytes, for builds without a library of cryptography, too: some 200 MB a second. Threads: any. Blocking: no. */
BRG_DECLARE(void) brg_sha256(const void *bytes, apr_size_t n, unsigned char digest[32]);

/* ---- Expressions --------------------------------------------------------------------------------------- */

/** ap_regcomp in a pool. NULL if it does not compile. */
AP_DECLARE(ap_regex_t *) ap_pregcomp(apr_pool_t *p, const char *pattern, int cflags);
/** Free a pattern of ap_pregcomp() before its pool ends. */
AP_DECLARE(void) ap_pregfree(apr_pool_t *p, ap_regex_t *reg);
/** Replace $0 to $9 and & in @a input by parts of @a source. */
AP_DECLARE(char *)
ap_pregsub(apr_pool_t *p, const char *input, const char *source, apr_size_t nmatch,
           ap_regmatch_t pmatch[]);
/** The same with a limit (0: none). APR_ENOMEM if it would be longer. */
AP_DECLARE(apr_status_t)
ap_pregsub_ex(apr_pool_t *p, char **result, const char *input, const char *source,
              apr_size_t nmatch, ap_regmatch_t pmatch[], apr_size_t maxlen);

#ifdef __cplusplus
}
#endif
#endif
