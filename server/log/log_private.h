/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_LOG_LOG_PRIVATE_H
#define BRIGADE_LOG_LOG_PRIVATE_H

/**
 * @file log_private.h
 * Between the parts of the error log: log.c (which message goes where), log_format.c and log_items.c
 * (the form of a line), log_json.c (lines of JSON), log_open.c (files, services, stderr), log_service.c (syslog and the journal), log_pipe.c (programs that read a
 * log).
 */
#include "httpd.h"
#include "log_settings.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "brigade/log_service.h"
#include "log_said.h"

#define LOG_LINE_BYTES MAX_STRING_LEN /**< longest line, NUL included; longer ones are cut */

/** Where messages go that belong to no server, or to one whose log is not open yet. NULL: nowhere.
 */
extern apr_file_t *log_stderr;

/** 1 once stderr is the main error log: start-up messages then look like all others. */
extern int log_is_open;

/** Where a message goes. */
typedef struct log_target {
    apr_file_t *file;               /**< NULL: no file, or a service */
    const brg_log_service *service; /**< NULL: it is a file */
    int fd;                         /**< of either; -1: none */
    int wanted;
} log_target;

log_target log_find_target(const ap_errorlog_info *info);

/** @param line  of LOG_LINE_BYTES, @a len of them used; a line end is put behind them */
void log_write_line(log_target *to, const ap_errorlog_info *info, char *line, int len);

/** @a n lines, with their ends, in one write. What a full pipe does not take is lost. */
void log_write_lines(int fd, const char *lines, apr_size_t len, unsigned n);

/** 1: the next line is to tell that some were lost. */
int log_has_lost(void);

/** Give @a r an id, or with NULL the connection, if it has none. */
void log_set_id(const conn_rec *c, const request_rec *r);

/** An id that is unique among the processes of a host: time, process and a count per process. @param id  LOG_ID_BYTES bytes */
void log_put_new_id(char *id);

/** getpid() and gettid() without the system call. Threads: any. (log_process.c) */
pid_t log_process(void);
pid_t log_thread(void);

/** The format of the main error log, once stderr is that, if it is JSON: messages while a later configuration is read have it,
 * too. */
extern const apr_array_header_t *log_startup_format;

/** The service that the error log of @a s is, and the descriptor to send with; NULL: it is a file, or logs are closed. */
const brg_log_service *log_service_of(const server_rec *s, int *fd);

/** The kinds of line that have a built-in format. NAMELESS: the message belongs to no module (a
 * module that does not declare its name to http_log.h, for example). */
typedef enum {
    LOG_STYLE_FILE,
    LOG_STYLE_FILE_NAMELESS,
    LOG_STYLE_SYSLOG,
    LOG_STYLE_SYSLOG_NAMELESS,
    LOG_STYLE_STARTUP
} log_style;

/** The subject of a line: a client, a connection that this server made, or a request whose error page shows its id. */
typedef enum log_kind { LOG_OF_CLIENT, LOG_OF_SERVER, LOG_WITH_ID } log_kind;

/** The built-in format. Made at the first call; never NULL. Threads: any. */
const apr_array_header_t *log_format_builtin(log_style style, log_kind kind);

/**
 * Parse an ErrorLogFormat string.
 * @param once  a format that is written once per connection or request: no %M, and %+ is allowed
 * @param out   [out] array of ap_errorlog_format_item in @a p; left alone if something is wrong
 * @return NULL, or a message
 */
const char *log_format_parse(apr_pool_t *p, const char *format, int once, apr_array_header_t **out);

/**
 * Write one line without its end into @a buf.
 * @param message    text for %M, escaped already; may be NULL in a format without it
 * @return bytes written, NUL not counted; 0 = omit the line
 */
int log_format_line(const apr_array_header_t *format, const ap_errorlog_info *info,
                    const char *message, char *buf, int buflen);

/** monitor hook (log_pipe.c): programs behind logs that could not be started again are tried once more. Supervisor only. */
int pipe_monitor(apr_pool_t *p, server_rec *s);

/** In a server process: lines of others for programs behind logs are not to be read there. */
void pipe_leave(void);

/** @name Lines of JSON (log_json.c) */
/** @{ */
/** The format "json" or "ecs"; NULL: no such name. */
const apr_array_header_t *log_json_format(const char *name);
/** The format of the error log of @a s, if it is one of them; else NULL. */
const apr_array_header_t *log_json_of(const server_rec *s);
/** 1 if @a format is one of them. It has no items. */
int log_json_is(const apr_array_header_t *format);
/** As log_format_line(). @param message  as it came, with nothing escaped; @param buflen  more than LOG_LINE_BYTES / 2 */
int log_json_line(const apr_array_header_t *format, const ap_errorlog_info *info,
                  const char *message, char *buf, int buflen);
/** @} */

/** Offered items: (character) -> handler, see ap_register_errorlog_handler. NULL: not offered. */
const ap_errorlog_handler *log_item_find(char tag);

/** Put text, or as much of it as fits, with its NUL. @return its length; 0: NULL, or no room (log_items.c) */
int log_put(char *buf, int buflen, const char *s);

/** Of APLOG_EMERG to APLOG_TRACE8. */
const char *log_level_name(int level);

/** Register the items of Apache's manual. */
void log_items_register(void);

/** The core's generate_log_id hook. */
int log_generate_id(const conn_rec *c, const request_rec *r, const char **id);

#endif
