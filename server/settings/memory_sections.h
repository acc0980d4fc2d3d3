/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MEMORY_SECTIONS_H
#define BRIGADE_MEMORY_SECTIONS_H

/*
 * MemorySystem request in sections. All but memory_request_use_section() is called by the thread that reads the
 * configuration, or by a server process before it has other threads.
 */
#include "httpd.h"
#include "http_config.h"

/** Lines in sections of the configuration. Read only once there are threads. */
extern int memory_sections_n __attribute__((visibility("hidden")));

/** The settings of the memory module by section. */
void *memory_section_create(apr_pool_t *p, char *path);
void *memory_section_merge(apr_pool_t *p, void *base, void *add);

/** Another configuration begins. */
void memory_sections_forget(void);

/** A line of the section @a dir. @param spec  checked; lives as long as the configuration */
void memory_section_add(const cmd_parms *cmd, void *dir, const char *spec);

/** Build the systems of all sections, in a server process. @return NULL, or a message in @a p */
const char *memory_sections_apply(apr_pool_t *p);

/** Give the reserves of the calling thread to the operating system. */
void memory_sections_trim(void);

/** A line of -t for each. */
void memory_sections_show(apr_pool_t *p);

/** The slow side of memory_request_use_section(). */
void memory_request_take_section(request_rec *r);

/** The sections that @a r is in are known: from now on its pool draws from the memory system that they name. Subrequests
 * draw from what their request has. On the request path: one comparison, unless a section has a system. */
static inline void memory_request_use_section(request_rec *r)
{
    if (__builtin_expect(memory_sections_n, 0))
        memory_request_take_section(r);
}

#endif
