/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MemorySystem request in sections: <Directory>, <Files>, <Location>, <If> and their relatives. A request's pool goes on
 * with the section's system as soon as it is known which sections it is in: before hooks of access control, fixups,
 * the handler and filters allocate from it. What came before stays where it is.
 */
#include "memory_sections.h"
#include "brigade/assert.h"
#include "brigade/memory.h"
#include "http_config.h"
#include "memory_scope.h"
#include "memory_settings.h"
#include "apr_strings.h"
#include <stdio.h>
#include <string.h>

APLOG_USE_MODULE(memory);

int memory_sections_n;

/* A MemorySystem line in a section. */
typedef struct memory_section {
    struct memory_section *next;
    const char *spec, *name;
    memory_stack *stack; /* in a server process; sections that say the same have the same one */
} memory_section;

/* Of the configuration, in its order. Written by the thread that reads it, and before others begin. */
static memory_section *sections, **sections_end = &sections;

typedef struct section_conf {
    const memory_section *section; /* NULL: none of its own */
} section_conf;

void *memory_section_create(apr_pool_t *p, char *path)
{
    return apr_pcalloc(p, sizeof(section_conf));
}

void *memory_section_merge(apr_pool_t *p, void *base, void *add)
{
    return ((const section_conf *)add)->section ? add : base;
}

void memory_sections_forget(void)
{
    sections = NULL;
    sections_end = &sections;
    memory_sections_n = 0;
}

void memory_section_add(const cmd_parms *cmd, void *dir, const char *spec)
{
    memory_section *section = apr_pcalloc(cmd->pool, sizeof *section);

    BRG_ASSERT(cmd->path != NULL);
    section->spec = spec;
    section->name = apr_psprintf(cmd->pool, "%s, line %d", cmd->path, cmd->directive->line_num);
    *sections_end = section;
    sections_end = &section->next;
    memory_sections_n++;
    ((section_conf *)dir)->section = section;
}

static memory_stack *section_stack_before(const memory_section *section)
{
    for (const memory_section *s = sections; s != section; s = s->next)
        if (!strcmp(s->spec, section->spec))
            return s->stack;
    return NULL;
}

const char *memory_sections_apply(apr_pool_t *p)
{
    const char *error = NULL;

    for (memory_section *s = sections; s && !error; s = s->next) {
        if ((s->stack = section_stack_before(s)) != NULL)
            continue;
        error = memory_stack_of(&s->stack, s->spec, BRG_SCOPE_REQUEST, p);
        if (!error)
            memory_stack_begin_request(s->stack, s->name, p);
    }
    return error;
}

void memory_sections_trim(void)
{
    for (const memory_section *s = sections; s; s = s->next)
        memory_stack_trim(s->stack);
}

void memory_sections_show(apr_pool_t *p)
{
    for (const memory_section *s = sections; s; s = s->next)
        printf("  %-14s %s (%s)\n", brg_scope_name(BRG_SCOPE_REQUEST), memory_spec_long(s->spec, p),
               s->name);
}

void memory_request_take_section(request_rec *r)
{
    const section_conf *conf = ap_get_module_config(r->per_dir_config, &memory_module);
    const memory_section *section = conf ? conf->section : NULL;

    /* What was refused memory has its reserve, and ends. */
    if (section && !r->main && !brg_pool_refused(r->pool))
        pool_continue_on(r->pool, section->stack);
}
