/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_CONFIG_PRIVATE_H
#define LOG_CONFIG_PRIVATE_H

/**
 * @file log_config_private.h
 * Parts of mod_log_config: the format language (log_config_format.c), the items it knows
 * (log_config_items.c, log_config_time.c, log_config_memory.c, log_config_squid.c), formats of JSON and those known by name
 * (log_config_json.c), the lines made of them (log_config_plan.c), the buffer each thread formats into
 * (log_config_buffer.c), files and pipes (log_config_file.c), the threads that write them
 * (log_config_writer.c, log_config_channel.c), directives and hooks (mod_log_config.c).
 */
#include "httpd.h"
#include "http_config.h"
#include "ap_expr.h"
#include "mod_log_config.h"
#include "brigade/client_mask.h"
#include "brigade/transaction.h"

extern module log_config_module;

/** Where a thread's next log line grows; see log_config_buffer.c. */
typedef struct log_out {
    char *data;
    apr_size_t used, size;
} log_out;

/** One request being logged. */
typedef struct log_entry {
    /** Ends of the chain of internal redirects; without a request_rec they are one. */
    const brg_transaction *first, *last;
    apr_time_t end_us; /**< when it ended, microseconds; 0: not asked for yet */
} log_entry;

typedef struct log_item log_item;

/**
 * Append the item's value for @a t; item->arg holds the text in braces, "" without any.
 * Threads: any. Blocking: no, without t->r; else as the API functions that it asks.
 */
typedef void log_emit_fn(log_out *out, const brg_transaction *t, const log_item *item,
                         log_entry *entry);

/** Needs of an item, or of its format, from a transaction; the greatest first. */
typedef enum log_needs {
    LOG_NEEDS_RECORD, /**< t->r */
    LOG_NEEDS_PORT,   /**< that, or a port in t->server */
    LOG_NEEDS_NOTHING
} log_needs;

/** Where an item stands in a format of JSON. */
typedef enum log_json {
    LOG_JSON_NOT,
    LOG_JSON_VALUE,  /**< a number, or null */
    LOG_JSON_STRING, /**< a string, or null; it writes the quotes */
    LOG_JSON_PART    /**< part of a string */
} log_json;

/** How an item shows the client's address. */
typedef enum log_client { LOG_CLIENT_PLAIN, LOG_CLIENT_MASKED, LOG_CLIENT_SALTED } log_client;

struct log_item {
    log_emit_fn *emit;
    log_needs needs;
    ap_log_handler_fn_t *foreign;            /**< a handler that another module registered */
    brg_transaction_item_fn *foreign_stored; /**< the same without a request_rec; NULL: none */
    char *arg;                               /**< for literal text: the text */
    apr_size_t arg_len;
    int field; /**< brg_transaction_field_id() of arg, of a field of the request; 0: it has none */
    const int *statuses; /**< restrict to these; NULL: no restriction */
    int statuses_n;
    int statuses_negated;
    log_client client;
    brg_client_mask mask; /**< of LOG_CLIENT_MASKED */
    int of_connection;    /**< of %a: the address that the connection is from */
    log_json json;        /**< in a format of JSON: what it is there */
    int want_first;       /**< ask the request that came in, not the one that answered */
    int crosses; /**< a sign asks for the other one of these than is usual, where that may matter */
};

/**
 * Parse a format.
 * @param err  [out] set where NULL is returned
 * @return     array of log_item, ending with a line feed
 */
apr_array_header_t *logconf_format_parse(apr_pool_t *p, const char *format, const char **err);

/** 1: @a item is for requests with this status; 0: it is a dash for them. */
int log_item_applies(const log_item *item, int status);

/** Begin of a format whose lines are JSON. */
#define LOG_JSON_FORMAT "json:"

/** Items of such a format: which are strings (log_config_json.c). */
void log_json_mark(apr_array_header_t *items);

/** @a item wrote from @a from on: make JSON of it. */
void log_json_end(log_out *out, apr_size_t from, const log_item *item);

/** The format that is known by this name, if no LogFormat says otherwise; NULL: none. */
const char *log_preset(const char *name);

/** Make @a item, which has its arg, the built-in one for a tag such as "h" or "^ti". @return 0:
 * unknown */
int logconf_item_find(apr_pool_t *p, log_item *item, const char *tag);

/** A handler registered by another module for this tag, or NULL. */
const ap_log_handler *log_foreign_find(const char *tag);

/** Another module's function for this tag for transactions without a request_rec, or NULL. */
brg_transaction_item_fn *log_foreign_stored(const char *tag);

/** A format, ready to write lines (log_config_plan.c). */
typedef struct log_plan log_plan;

/**
 * @param format  must live as long as the plan
 * @param idents  1: %l may have something to tell
 */
log_plan *log_plan_make(apr_pool_t *p, const apr_array_header_t *format, int idents);

/** Append the line that the format makes of the request. Threads: any. */
void log_plan_emit(log_out *out, const log_plan *plan, log_entry *entry);

/** The most that an item of the format needs. */
log_needs log_format_needs(const apr_array_header_t *format);

/** One CustomLog, GlobalLog or TransferLog. */
typedef struct log_config {
    const char *file;
    const char *format_name;    /* as given: a nickname, if one of that name exists in the end */
    apr_array_header_t *format; /* NULL: the server's default format */
    log_plan *plan;             /* of format */
    const char *variable;       /* env=; NULL: none. "!x": only where x is not set */
    ap_expr_info_t *condition;  /* expr=; NULL: none */
    const ap_directive_t *directive;
    int is_global;
    void *handle; /* of the writer; a log_file for our own */
} log_config;

/** The logs of a virtual host. */
typedef struct log_server {
    const char *default_name;
    apr_array_header_t *default_format;
    log_plan *default_plan;
    apr_array_header_t *logs;      /* of log_config: this server's own */
    apr_array_header_t *main_logs; /* the main server's, for a server without its own */
    apr_table_t *formats;          /* nicknames */
    log_needs needs;               /* of answers from memory */
    int crosses; /* some log tells the request that came in from its error document in a way of its own */
} log_server;

/** Times (log_config_time.c). */
log_emit_fn log_emit_time, log_emit_duration, log_emit_duration_us;

/** %{...}M (log_config_memory.c). */
log_emit_fn log_emit_memory;

/** @return NULL, or why there is no such item */
const char *log_memory_check(const char *arg);

log_emit_fn log_emit_literal, log_emit_foreign, log_emit_logname;

__attribute__((cold)) int log_out_grow(log_out *out, apr_size_t n);

/** Make room for @a n more bytes. @return 0 without memory: the addition is left out */
static inline int log_out_reserve(log_out *out, apr_size_t n)
{
    return out->size - out->used >= n || log_out_grow(out, n);
}
void log_out_bytes(log_out *out, const char *bytes, apr_size_t n);
void log_out_number(log_out *out, apr_int64_t value);
/** As log_out_escaped(), of @a len bytes. */
void log_out_escaped_n(log_out *out, const char *s, apr_size_t len);
/** Append @a s with quotes, backslashes and all but printable ASCII escaped; "-" for NULL. */
void log_out_dash(log_out *out);

/** Take what %a has in braces apart. @return NULL, or what is wrong with it */
const char *log_client_parse(apr_pool_t *p, log_item *item);

/** Make @a item %{cache-result}e, %{cache-hierarchy}e, %{cache-url}e or %{sent-by}e, which are no variables (log_config_squid.c). @return 0: it is neither */
int log_squid_find(log_item *item, const char *tag);

/** A file or pipe that lines go to; shared by all logs that name it. */
typedef struct log_file log_file;

/** Open @a name for server @a s, or find it opened already. @return NULL after logging why not */
log_file *log_file_open(apr_pool_t *p, server_rec *s, const char *name);

/** check_config hook: the folders of files are there. */
int log_check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s);

/** Forget files of an earlier configuration; they are closed with its pool. */
void log_file_reset(apr_pool_t *pconf);

/** The files of the configuration, linked by log_file.next. */
log_file *log_files_list(void);

/** Begin a line in the calling thread's buffer. @return NULL without memory: the line is lost */
log_out *log_line_begin(void);

/** The line is complete: it will be written to @a file; NULL: drop it. */
void log_line_end(log_file *file, apr_time_t now);

/** The line begun and not ended yet. */
const char *log_line_text(const log_out *out, apr_size_t *len);

/** Write the calling thread's lines. */
void log_buffer_flush(void);

/** Pool cleanup: write all threads' lines, and end the writers; when all have stopped and before
 * the files go. */
apr_status_t log_buffer_close(void *data);

/** turn_end hook. */
void log_buffer_turn_end(apr_time_t now);

/** BufferedLogs: hold lines back for up to a second. */
void log_buffer_hold(int on);

#endif
