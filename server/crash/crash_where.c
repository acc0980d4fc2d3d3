/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which module was at work when a fatal signal came. The frames of the stack, from the innermost
 * on, are compared with known addresses: files of modules, registered functions of hooks and of
 * filters, and the functions that run hooks. So requests pay nothing for it.
 *
 * A frame is identified by the entry point of its function. A compiler may leave out frames (a call
 * at the end of a function becomes a jump) or give a rare part of a function an entry point of its
 * own. Then the module is still found by its file, and the hook by the function that runs it.
 */
#include "crash.h"
#include "filter_registry.h"
#include "hook_names.h"
#include "http_config.h"
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

typedef struct crash_search {
    crash_site *site;
    uintptr_t from;       /* the frame to begin with, 0 once it was seen */
    uintptr_t entry;      /* of the frame at hand */
    const char *found_in; /* module of the hook or filter */
    int found;
} crash_search;

/* ---- files ---- */

typedef struct crash_object {
    const char *name;
    uintptr_t start;
} crash_object;

/* @return 0 if @a at is in no object's mapping */
static int crash_object_at(uintptr_t at, crash_object *out)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE  /* comes with _dl_find_object() */
    struct dl_find_object found; /* takes no lock */

    if (!at || _dl_find_object((void *)at, &found))
        return 0;
    out->name = found.dlfo_link_map->l_name;
    out->start = (uintptr_t)found.dlfo_map_start;
#else
    Dl_info found;

    if (!at || !dladdr((void *)at, &found))
        return 0;
    out->name = found.dli_fname;
    out->start = (uintptr_t)found.dli_fbase;
#endif
    return 1;
}

/* The module whose structure is in an object; the program has many and counts as none. */
static const char *crash_module_in(const crash_object *object)
{
    crash_object its;

    for (module **m = ap_loaded_modules; m && *m; m++)
        if ((*m)->dynamic_load_handle && crash_object_at((uintptr_t)*m, &its) &&
            its.start == object->start)
            return (*m)->name;
    return NULL;
}

/* ---- functions ---- */

static void crash_is_filter(void *baton, const ap_filter_rec_t *frec, int is_input)
{
    crash_search *search = baton;
    uintptr_t function =
        is_input ? (uintptr_t)frec->filter_func.in_func : (uintptr_t)frec->filter_func.out_func;

    if (search->found ||
        (search->entry != function && search->entry != (uintptr_t)frec->filter_init_func))
        return;
    search->found = 1;
    search->site->filter = frec->name;
    search->site->is_input = is_input;
    search->found_in = filter_owner(frec);
}

static int crash_is_hook(void *baton, int hook, const char *name, const void *run)
{
    crash_search *search = baton;
    const void *function;
    const char *owner;

    if (search->entry == (uintptr_t)run) {
        search->site->hook = name;
        return search->found = 1;
    }
    for (int n = 0; (function = hook_names_function(hook, n, &owner)) != NULL; n++)
        if (search->entry == (uintptr_t)function) {
            search->site->hook = name;
            search->found_in = owner;
            return search->found = 1;
        }
    return 0;
}

/* ---- the stack ---- */

static _Unwind_Reason_Code crash_frame(struct _Unwind_Context *context, void *baton)
{
    crash_search *search = baton;
    uintptr_t at = _Unwind_GetIP(context), entry = _Unwind_GetRegionStart(context);
    crash_object object;

    if (search->from && at != search->from)
        return _URC_NO_REASON; /* the signal handler's own */
    search->from = 0;
    if (!entry || entry == search->entry)
        return _URC_NO_REASON; /* recursion may be deep */
    search->entry = entry;
    if (!search->site->module && crash_object_at(at, &object)) {
        search->site->module = crash_module_in(&object);
        search->site->loaded = search->site->module != NULL;
    }
    filter_registry_each(crash_is_filter, search);
    if (!search->found)
        hook_names_each(crash_is_hook, search);
    return search->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

#if defined(__x86_64__)
#define CRASH_PC(context) (((ucontext_t *)(context))->uc_mcontext.gregs[REG_RIP])
#define CRASH_SP(context) (((ucontext_t *)(context))->uc_mcontext.gregs[REG_RSP])
typedef greg_t crash_register;

/* After a call to an address without code: as if it had returned at once. */
static void crash_return(void *context)
{
    CRASH_PC(context) = *(greg_t *)CRASH_SP(context);
    CRASH_SP(context) += (greg_t)sizeof(greg_t);
}
#elif defined(__aarch64__)
#define CRASH_PC(context) (((ucontext_t *)(context))->uc_mcontext.pc)
#define CRASH_SP(context) (((ucontext_t *)(context))->uc_mcontext.sp)
typedef unsigned long long crash_register;

static void crash_return(void *context)
{
    CRASH_PC(context) = ((ucontext_t *)context)->uc_mcontext.regs[30];
}
#else
#error "crash_where.c: which registers are the program counter and the stack pointer?"
#endif

static void crash_walk(crash_search *search)
{
    crash_site *out = search->site;

    _Unwind_Backtrace(crash_frame, search);
    if (!out->module)
        out->module = search->found_in;
    else if (search->found_in && strcmp(out->module, search->found_in))
        out->called = search->found_in;
}

void crash_where_here(crash_site *out)
{
    crash_search search = {.site = out};

    memset(out, 0, sizeof *out);
    crash_walk(&search);
}

void crash_where(void *context, crash_site *out)
{
    crash_search search = {.site = out};
    crash_register pc = CRASH_PC(context), sp = CRASH_SP(context);
    crash_object object;

    memset(out, 0, sizeof *out);
    out->offset = (size_t)pc;
    if (crash_object_at((uintptr_t)pc, &object)) {
        out->file = object.name;
        out->offset -= object.start;
    } else {
        crash_return(context);
    }
    search.from = (uintptr_t)CRASH_PC(context);
    crash_walk(&search);
    CRASH_PC(context) = pc;
    CRASH_SP(context) = sp;
}

static _Unwind_Reason_Code crash_first_frame(struct _Unwind_Context *context, void *baton)
{
    *(uintptr_t *)baton = _Unwind_GetIP(context);
    return _URC_END_OF_STACK;
}

void crash_where_prepare(void)
{
    uintptr_t at = 0;

    _Unwind_Backtrace(crash_first_frame, &at);
}
