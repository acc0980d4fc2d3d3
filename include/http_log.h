/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_HTTP_LOG_H
#define APACHE_HTTP_LOG_H

/**
 * @file http_log.h
 * The error log, PID file and piped logs.
 *
 * The ap_log_* macros evaluate their arguments only if the level is on. Any thread may log. They write one
 * line at a time; a failure to write is not reported.
 */
#include "apr_thread_proc.h"
#include "http_config.h"
#include <syslog.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Levels -------------------------------------------------------------------------------------------- */

#ifndef LOG_PRIMASK
/** The bits of a level of syslog. */
#define LOG_PRIMASK 7
#endif
#define APLOG_EMERG LOG_EMERG     /**< cannot go on */
#define APLOG_ALERT LOG_ALERT     /**< act at once */
/** Levels of messages, as LogLevel has them. */
#define APLOG_CRIT LOG_CRIT
#define APLOG_ERR LOG_ERR
#define APLOG_WARNING LOG_WARNING
#define APLOG_NOTICE LOG_NOTICE   /**< always logged, as those above */
/** Levels that are off by default, down to the most talkative. */
#define APLOG_INFO LOG_INFO
#define APLOG_DEBUG LOG_DEBUG
#define APLOG_TRACE1 (LOG_DEBUG + 1)
#define APLOG_TRACE2 (LOG_DEBUG + 2)
#define APLOG_TRACE3 (LOG_DEBUG + 3)
#define APLOG_TRACE4 (LOG_DEBUG + 4)
#define APLOG_TRACE5 (LOG_DEBUG + 5)
#define APLOG_TRACE6 (LOG_DEBUG + 6)
#define APLOG_TRACE7 (LOG_DEBUG + 7)
#define APLOG_TRACE8 (LOG_DEBUG + 8)
#define APLOG_LEVELMASK 15

/* Or-ed to a level. */
#define APLOG_NOERRNO (APLOG_LEVELMASK + 1)        /**< no effect */
#define APLOG_TOCLIENT ((APLOG_LEVELMASK + 1) * 2) /**< also into the error page */
#define APLOG_STARTUP ((APLOG_LEVELMASK + 1) * 4)  /**< to the console: no time and process */

#ifndef DEFAULT_LOGLEVEL
/** LogLevel where the configuration has none. */
#define DEFAULT_LOGLEVEL APLOG_WARNING
#endif
/** The same, -e taken into account. Set before the configuration is read. */
AP_DECLARE_DATA extern int ap_default_loglevel;

/** Number in front of a message, for administrators to search for. */
#define APLOGNO(n) "AH" #n ": "

/** No module: the server's level applies. */
#define APLOG_NO_MODULE -1

/* APLOG_USE_MODULE or AP_DECLARE_MODULE gives it a value; a file without them has none. C++ cannot declare
 * the same object twice, so a C++ file must use one of them. */
#ifdef __cplusplus
#define APLOG_MODULE_INDEX (*aplog_module_index)
#else
/** Index of the module that this file belongs to, if it says so. */
static int *const aplog_module_index;
/** Index of this file's module, for its messages. */
#define APLOG_MODULE_INDEX (aplog_module_index ? *aplog_module_index : APLOG_NO_MODULE)
#endif

/** First arguments of every log call. */
#define APLOG_MARK __FILE__, __LINE__, APLOG_MODULE_INDEX

/* Is the level on, for a module on a server (s), connection (c), both (cs) or request (r)? Where
 * APLOG_MAX_LOGLEVEL is defined, calls above it are not compiled in. */
#ifdef APLOG_MAX_LOGLEVEL
#define APLOG_COMPILED_IN__(level) (((level)&APLOG_LEVELMASK) <= APLOG_MAX_LOGLEVEL)
#else
#define APLOG_COMPILED_IN__(level) 1
#endif
#define APLOG_ALWAYS_ON__(level) (((level)&APLOG_LEVELMASK) <= APLOG_NOTICE)
#define APLOG_MODULE_IS_LEVEL(s, module_index, level) \
    (APLOG_COMPILED_IN__(level) \
     && (APLOG_ALWAYS_ON__(level) || (s == NULL) \
         || (ap_get_server_module_loglevel(s, module_index) >= ((level)&APLOG_LEVELMASK))))
#define APLOG_C_MODULE_IS_LEVEL(c, module_index, level) \
    (APLOG_COMPILED_IN__(level) \
     && (APLOG_ALWAYS_ON__(level) \
         || (ap_get_conn_module_loglevel(c, module_index) >= ((level)&APLOG_LEVELMASK))))
#define APLOG_CS_MODULE_IS_LEVEL(c, s, module_index, level) \
    (APLOG_COMPILED_IN__(level) \
     && (APLOG_ALWAYS_ON__(level) \
         || (ap_get_conn_server_module_loglevel(c, s, module_index) >= ((level)&APLOG_LEVELMASK))))
#define APLOG_R_MODULE_IS_LEVEL(r, module_index, level) \
    (APLOG_COMPILED_IN__(level) \
     && (APLOG_ALWAYS_ON__(level) \
         || (ap_get_request_module_loglevel(r, module_index) >= ((level)&APLOG_LEVELMASK))))

/* The same for the module of this file. */
#define APLOG_IS_LEVEL(s, level) APLOG_MODULE_IS_LEVEL(s, APLOG_MODULE_INDEX, level)
#define APLOG_C_IS_LEVEL(c, level) APLOG_C_MODULE_IS_LEVEL(c, APLOG_MODULE_INDEX, level)
#define APLOG_CS_IS_LEVEL(c, s, level) APLOG_CS_MODULE_IS_LEVEL(c, s, APLOG_MODULE_INDEX, level)
#define APLOG_R_IS_LEVEL(r, level) APLOG_R_MODULE_IS_LEVEL(r, APLOG_MODULE_INDEX, level)

/** Is a level on for a server and this file's module? */
#define APLOGinfo(s) APLOG_IS_LEVEL(s, APLOG_INFO)
#define APLOGdebug(s) APLOG_IS_LEVEL(s, APLOG_DEBUG)
#define APLOGtrace1(s) APLOG_IS_LEVEL(s, APLOG_TRACE1)
#define APLOGtrace2(s) APLOG_IS_LEVEL(s, APLOG_TRACE2)
#define APLOGtrace3(s) APLOG_IS_LEVEL(s, APLOG_TRACE3)
#define APLOGtrace4(s) APLOG_IS_LEVEL(s, APLOG_TRACE4)
#define APLOGtrace5(s) APLOG_IS_LEVEL(s, APLOG_TRACE5)
#define APLOGtrace6(s) APLOG_IS_LEVEL(s, APLOG_TRACE6)
#define APLOGtrace7(s) APLOG_IS_LEVEL(s, APLOG_TRACE7)
#define APLOGtrace8(s) APLOG_IS_LEVEL(s, APLOG_TRACE8)

/** The same for a request. */
#define APLOGrinfo(r) APLOG_R_IS_LEVEL(r, APLOG_INFO)
#define APLOGrdebug(r) APLOG_R_IS_LEVEL(r, APLOG_DEBUG)
#define APLOGrtrace1(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE1)
#define APLOGrtrace2(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE2)
#define APLOGrtrace3(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE3)
#define APLOGrtrace4(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE4)
#define APLOGrtrace5(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE5)
#define APLOGrtrace6(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE6)
#define APLOGrtrace7(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE7)
#define APLOGrtrace8(r) APLOG_R_IS_LEVEL(r, APLOG_TRACE8)

/** The same for a connection. */
#define APLOGcinfo(c) APLOG_C_IS_LEVEL(c, APLOG_INFO)
#define APLOGcdebug(c) APLOG_C_IS_LEVEL(c, APLOG_DEBUG)
#define APLOGctrace1(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE1)
#define APLOGctrace2(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE2)
#define APLOGctrace3(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE3)
#define APLOGctrace4(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE4)
#define APLOGctrace5(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE5)
#define APLOGctrace6(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE6)
#define APLOGctrace7(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE7)
#define APLOGctrace8(c) APLOG_C_IS_LEVEL(c, APLOG_TRACE8)

/* ---- Messages ------------------------------------------------------------------------------------------ */

/* ap_log_error(APLOG_MARK, level, status, s, format, ...), and the same with r, c, (c, s) or a pool in the
 * place of s. A status other than 0 has its text added. C++ calls the functions directly. */
#ifdef AP_HAVE_C99
#define ap_log_error(...) ap_log_error__(__VA_ARGS__)
#define ap_log_error__(file, line, mi, level, status, s, ...) \
    do { \
        const server_rec *sr__ = s; \
        if (APLOG_MODULE_IS_LEVEL(sr__, mi, level)) \
            ap_log_error_(file, line, mi, level, status, sr__, __VA_ARGS__); \
    } while (0)
#define ap_log_rerror(...) ap_log_rerror__(__VA_ARGS__)
#define ap_log_rerror__(file, line, mi, level, status, r, ...) \
    do { \
        if (APLOG_R_MODULE_IS_LEVEL(r, mi, level)) \
            ap_log_rerror_(file, line, mi, level, status, r, __VA_ARGS__); \
    } while (0)
#define ap_log_cerror(...) ap_log_cerror__(__VA_ARGS__)
#define ap_log_cerror__(file, line, mi, level, status, c, ...) \
    do { \
        if (APLOG_C_MODULE_IS_LEVEL(c, mi, level)) \
            ap_log_cerror_(file, line, mi, level, status, c, __VA_ARGS__); \
    } while (0)
#define ap_log_cserror(...) ap_log_cserror__(__VA_ARGS__)
#define ap_log_cserror__(file, line, mi, level, status, c, s, ...) \
    do { \
        if (APLOG_CS_MODULE_IS_LEVEL(c, s, mi, level)) \
            ap_log_cserror_(file, line, mi, level, status, c, s, __VA_ARGS__); \
    } while (0)
#else
#define ap_log_error ap_log_error_
#define ap_log_rerror ap_log_rerror_
#define ap_log_cerror ap_log_cerror_
#define ap_log_cserror ap_log_cserror_
#endif
#if defined(AP_HAVE_C99) && defined(APLOG_MAX_LOGLEVEL)
#define ap_log_perror(...) ap_log_perror__(__VA_ARGS__)
#define ap_log_perror__(file, line, mi, level, status, p, ...) \
    do { \
        if ((level) <= APLOG_MAX_LOGLEVEL) \
            ap_log_perror_(file, line, mi, level, status, p, __VA_ARGS__); \
    } while (0)
#else
#define ap_log_perror ap_log_perror_
#endif

/** ap_log_error() calls these when the level is on. The compiler lays code that leads to a call of
 * these (cold) out of the way of the code around it. Threads: any. */
AP_DECLARE(void)
ap_log_error_(const char *file, int line, int module_index, int level, apr_status_t status,
              const server_rec *s, const char *fmt, ...) __attribute__((cold, format(printf, 7, 8)));
/** To stderr, where there is no server yet. */
AP_DECLARE(void)
ap_log_perror_(const char *file, int line, int module_index, int level, apr_status_t status,
               apr_pool_t *p, const char *fmt, ...) __attribute__((cold, format(printf, 7, 8)));
/** Adds the client and referrer. */
AP_DECLARE(void)
ap_log_rerror_(const char *file, int line, int module_index, int level, apr_status_t status,
               const request_rec *r, const char *fmt, ...) __attribute__((cold, format(printf, 7, 8)));
/** Adds the client. */
AP_DECLARE(void)
ap_log_cerror_(const char *file, int line, int module_index, int level, apr_status_t status,
               const conn_rec *c, const char *fmt, ...) __attribute__((cold, format(printf, 7, 8)));
/** Client of @a c, log of @a s. */
AP_DECLARE(void)
ap_log_cserror_(const char *file, int line, int module_index, int level, apr_status_t status,
                const conn_rec *c, const server_rec *s, const char *fmt, ...)
    __attribute__((cold, format(printf, 8, 9)));

/* ---- Bytes as hexadecimal and text --------------------------------------------------------------------- */

/** Flags of the functions below: nothing, or the offset in front of each line. */
#define AP_LOG_DATA_DEFAULT 0
#define AP_LOG_DATA_SHOW_OFFSET 1

#ifdef AP_HAVE_C99
/** ap_log_data(APLOG_MARK, level, s, label, data, len, flags), and the same with r, c, or c and s. */
#define ap_log_data(...) ap_log_data__(__VA_ARGS__)
#define ap_log_data__(file, line, mi, level, s, ...) \
    do { \
        const server_rec *sr__ = s; \
        if (APLOG_MODULE_IS_LEVEL(sr__, mi, level)) \
            ap_log_data_(file, line, mi, level, sr__, __VA_ARGS__); \
    } while (0)
#define ap_log_rdata(...) ap_log_rdata__(__VA_ARGS__)
#define ap_log_rdata__(file, line, mi, level, r, ...) \
    do { \
        if (APLOG_R_MODULE_IS_LEVEL(r, mi, level)) \
            ap_log_rdata_(file, line, mi, level, r, __VA_ARGS__); \
    } while (0)
#define ap_log_cdata(...) ap_log_cdata__(__VA_ARGS__)
#define ap_log_cdata__(file, line, mi, level, c, ...) \
    do { \
        if (APLOG_C_MODULE_IS_LEVEL(c, mi, level)) \
            ap_log_cdata_(file, line, mi, level, c, __VA_ARGS__); \
    } while (0)
#define ap_log_csdata(...) ap_log_csdata__(__VA_ARGS__)
#define ap_log_csdata__(file, line, mi, level, c, s, ...) \
    do { \
        if (APLOG_CS_MODULE_IS_LEVEL(c, s, mi, level)) \
            ap_log_csdata_(file, line, mi, level, c, s, __VA_ARGS__); \
    } while (0)
#else
#define ap_log_data ap_log_data_
#define ap_log_rdata ap_log_rdata_
#define ap_log_cdata ap_log_cdata_
#define ap_log_csdata ap_log_csdata_
#endif

/** ap_log_data() calls this when the level is on; a line for each 16 bytes. */
AP_DECLARE(void)
ap_log_data_(const char *file, int line, int module_index, int level, const server_rec *s,
             const char *label, const void *data, apr_size_t len, unsigned int flags);
/** The same for a request. */
AP_DECLARE(void)
ap_log_rdata_(const char *file, int line, int module_index, int level, const request_rec *r,
              const char *label, const void *data, apr_size_t len, unsigned int flags);
/** The same for a connection. */
AP_DECLARE(void)
ap_log_cdata_(const char *file, int line, int module_index, int level, const conn_rec *c,
              const char *label, const void *data, apr_size_t len, unsigned int flags);
/** The same for a connection, into the log of @a s. */
AP_DECLARE(void)
ap_log_csdata_(const char *file, int line, int module_index, int level, const conn_rec *c,
               const server_rec *s, const char *label, const void *data, apr_size_t len,
               unsigned int flags);

/* ---- Where the log goes -------------------------------------------------------------------------------- */

/** Log to standard error until ErrorLog is known. */
AP_DECLARE(void) ap_open_stderr_log(apr_pool_t *p);
/** Let standard error go to @a file. */
AP_DECLARE(apr_status_t) ap_replace_stderr_log(apr_pool_t *p, const char *file);
/** Hook functions of the core: open all servers' logs; set a server process up. */
AP_DECLARE(int)
ap_open_logs(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s_main);
/** In a server process: take the logs over. */
AP_DECLARE(void) ap_logs_child_init(apr_pool_t *p, server_rec *s);
/** Let standard error be the log of @a s. */
AP_DECLARE(void) ap_error_log2stderr(server_rec *s);
/** Log how the server was started. */
AP_DECLARE(void) ap_log_command_line(apr_pool_t *p, server_rec *s);
/** Log the common start messages of all MPMs. */
AP_DECLARE(void) ap_log_mpm_common(server_rec *s);

/* PID file; names are relative to DefaultRuntimeDir. Writing ends the process if it fails. */
AP_DECLARE(void) ap_log_pid(apr_pool_t *p, const char *fname);
/** Remove the file. */
AP_DECLARE(void) ap_remove_pid(apr_pool_t *p, const char *fname);
/** Read it. APR_ENOENT, or APR_EGENERAL if it holds no number. */
AP_DECLARE(apr_status_t) ap_read_pid(apr_pool_t *p, const char *filename, pid_t *mypid);

/* A program that reads a log from its standard input and is started again when it ends. */
typedef struct piped_log piped_log;
/** NULL after logging why. Without a shell, unless @a cmdtype asks for one. */
AP_DECLARE(piped_log *) ap_open_piped_log(apr_pool_t *p, const char *program);
/** The same with a choice how the program is run. */
AP_DECLARE(piped_log *)
ap_open_piped_log_ex(apr_pool_t *p, const char *program, apr_cmdtype_e cmdtype);
/** End it: the program sees the end of its input. */
AP_DECLARE(void) ap_close_piped_log(piped_log *pl);
/** The end that the program reads from. */
AP_DECLARE(apr_file_t *) ap_piped_log_read_fd(piped_log *pl);
/** The end that the server writes to. */
AP_DECLARE(apr_file_t *) ap_piped_log_write_fd(piped_log *pl);

/** Make an identifier for the log of a connection (@a r NULL) or request. First that does not decline. */
AP_DECLARE_HOOK(int, generate_log_id, (const conn_rec *c, const request_rec *r, const char **id))

#ifdef __cplusplus
}
#endif
#endif
