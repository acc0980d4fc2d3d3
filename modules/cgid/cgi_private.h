/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_CGI_PRIVATE_H
#define BRIGADE_CGI_PRIVATE_H

/**
 * @file cgi_private.h
 * Shared by mod_cgid and mod_cgi: both names of Apache's are the same module
 * here, with a daemon.
 */
#include "brigade/directive.h"
#include "httpd.h"
#include "http_config.h"
#include "apr_buckets.h"

#define CGI_TYPE "application/x-httpd-cgi"

/** Of a server. */
typedef struct cgi_server_conf {
    const char *log;       /**< ScriptLog; NULL: none */
    apr_off_t log_bytes;   /**< ScriptLogLength */
    apr_size_t body_bytes; /**< ScriptLogBuffer */
} cgi_server_conf;

/** Of a section. */
typedef struct cgi_dir_conf {
    apr_interval_time_t timeout; /**< 0: not set */
} cgi_dir_conf;

/** A request that a program answers. In r->pool, which closes its descriptors. */
typedef struct cgi_run {
    request_rec *r;
    const cgi_server_conf *conf;
    apr_interval_time_t timeout;
    const char *name; /**< of the program, without its folder */
    int is_nph;
    const module *m; /**< whose handler it is */
    /** an internal redirect, which a worker makes by calling the handler again; NULL: none */
    const char *location;

    int io; /**< input and output of the program; -1: closed */
    int errors; /**< its stream of errors, by which the daemon knows that the request is over; -1: closed */
    int both;        /**< an epoll set of them; -1: none */
    unsigned events; /**< that the set waits for on io */
    int wants_out;   /**< the program takes no more input now */

    apr_bucket_brigade *body; /**< of the request; its buckets so far */
    int body_open;            /**< more of it is to come */
    int deaf;                 /**< the program reads no more */
    char *kept;               /**< the beginning of the body, for ScriptLog; NULL: not wanted */
    apr_size_t kept_len;

    apr_bucket_brigade *out; /**< output that was not passed on */
    apr_size_t head_len;     /**< of out, while the head is not complete */
    int head_done;
    int line_len; /**< of the last line of the head so far; for its end */

    char *line; /**< of errors, incomplete */
    apr_size_t line_bytes, errors_bytes;
} cgi_run;

extern module cgid_module;
extern module cgi_module;

/** The module named in messages about programs: the one of LoadModule. Threads: any, behind
 * post_config. */
static inline int cgi_log_index(void)
{
    return brg_module_is_named(&cgi_module) && !brg_module_is_named(&cgid_module)
               ? cgi_module.module_index
               : cgid_module.module_index;
}

/** The handlers' common part. @param m  whose configuration counts */
int cgi_handle(request_rec *r, const module *m);

/** 1: the request may wait on its loop, where its filters run from then on: not where one of them may wait itself. */
int cgi_may_wait(request_rec *r);

/** Serve a program that was started, to its end: OK, SUSPENDED, or a status. */
int cgi_run_begin(cgi_run *run);

/** Make the internal redirect that a program asked for. */
int cgi_run_redirect(cgi_run *run);

/** Write a request into ScriptLog. @param error  a message, or NULL: the head of a program, of which @a bad is the last line */
void cgi_log_script(cgi_run *run, int status, const char *error, const char *bad);

/** Copy the program's stream of errors to the error log. Does not wait. */
void cgi_log_errors(cgi_run *run);

/** Log the last line of errors, which has no end. */
void cgi_log_errors_end(cgi_run *run);

/** Close the streams. @param ends  1: all processes of the program are to end */
void cgi_run_close(cgi_run *run, int ends);

#endif
