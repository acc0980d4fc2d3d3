/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SETTINGS_MEMORY_SETTINGS_H
#define BRIGADE_SETTINGS_MEMORY_SETTINGS_H

/**
 * @file memory_settings.h
 * memory_directives.c: directives about memory systems.
 * memory_trace.c: the recording of requests, MemoryTrace. Sections: memory_sections.h.
 */
#include "httpd.h"
#include "http_config.h"
#include "apr_buckets.h"
#include "brigade/memory.h"

/**
 * In a server process, before its threads begin: build the systems of its scopes.
 * @return NULL, or why one cannot be built, in @a p
 */
const char *memory_conf_apply(server_rec *main_server, apr_pool_t *p);

struct memory_stack;

/** Give the reserve of the calling thread's pools to the operating system. */
void memory_trim_thread(server_rec *main_server);

/** The same for malloc, of all threads. Takes its locks. */
void memory_trim_process(void);

/** Have malloc keep some megabytes between busy turns: memory_trim_idle() gives them back. Threads: main, before there are others. */
void memory_keep_process(void);

/** Every few seconds, by a thread that may block: memory of idle threads, those of modules too,
 * goes back to the operating system. */
void memory_trim_idle(void);

/** @return NULL, or why this program has no memory systems: it was built without, in @a p */
const char *memory_unavailable(apr_pool_t *p);

/** The directive MemoryTrace. */
const char *memory_trace_directive(cmd_parms *cmd, void *dir, const char *args);

/** Another configuration begins: nothing is to be recorded. */
void memory_trace_forget(void);

/** Open the file that the configuration names, if it does. @return OK, or !OK after a message */
int memory_trace_open(apr_pool_t *pconf, server_rec *s);

/** Build a system of @a scope. @return NULL and *stack, or a message in @a p that names the directive. Before there are threads. */
const char *memory_stack_of(struct memory_stack **stack, const char *spec, int scope,
                            apr_pool_t *p);

/** A system for requests beside that of the main server is ready: figures show it as @a name. Before there are threads. */
void memory_stack_begin_request(struct memory_stack *stack, const char *name, apr_pool_t *p);

/** The specification with all that it does not say, or the reason why it cannot be built, in @a p. */
const char *memory_spec_long(const char *spec, apr_pool_t *p);

/** Let pools on a stack be recorded if the configuration says so. */
void memory_trace_stack(struct memory_stack *stack);

/** The virtual host of @a r is known: from now on the request's pool draws from that host's memory system. On the request
 * path: one comparison, unless the host has a system of its own. */
void memory_request_use_server(request_rec *r);

#endif
