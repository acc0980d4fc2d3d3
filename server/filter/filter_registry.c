/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered filters by name. Modules look filters up by names that come from the configuration, in
 * any case and on every request, so names are folded and hashed once, at registration.
 *
 * Records live in the pool of the hooks (the configuration's): when that pool is cleared for
 * another configuration, the registries are empty again.
 */
#include "brigade/assert.h"
#include "httpd.h"
#include "http_config.h"
#include "util_filter.h"
#include "filter_registry.h"
#include "module_rows.h"
#include "brigade/response_cache.h"
#include "apr_hooks.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "brigade/directive.h"

#define FILTER_CHAINS_BITS \
    3 /* so many chains that a thread keeps, as a power of 2; each of at most */
#define FILTER_CHAIN_KEPT 12 /* filters */
#define FILTER_OWNERS_BITS 6 /* so many answers that a thread keeps, as a power of 2 */

/* A record as modules see it, with the module that registered it behind. */
typedef struct filter_record {
    ap_filter_rec_t rec; /* first */
    const char *owner;   /* module name */
    /* the owner, if it is one; with BuiltinModule NAME Off the record is nobody's */
    const module *built_in;
    int leaves_body; /* brg_filter_leaves_body() */
} filter_record;

typedef struct filter_slot {
    ap_filter_rec_t *frec; /* NULL = free */
    unsigned hash;
} filter_slot;

/* Open addressing; size is a power of two and at most half of it is in use. */
typedef struct filter_registry {
    filter_slot *slots;
    unsigned size, used;
    apr_pool_t *pool;
} filter_registry;

static filter_registry filter_inputs, filter_outputs;
static unsigned filter_generation = 1; /* changes with the registries */

static unsigned filter_hash(const char *name)
{
    unsigned hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)apr_tolower(*name)) * 16777619u;
    return hash;
}

static filter_slot *filter_slot_find(const filter_registry *reg, const char *name, unsigned hash)
{
    unsigned at = hash;

    BRG_ASSERT_DEBUG(reg->size && !(reg->size & (reg->size - 1)) && reg->used < reg->size);
    for (;; at++) {
        filter_slot *slot = &reg->slots[at & (reg->size - 1)];

        if (!slot->frec || (slot->hash == hash && !strcasecmp(slot->frec->name, name)))
            return slot;
    }
}

static ap_filter_rec_t *filter_find(const filter_registry *reg, const char *name)
{
    const module *built_in;
    ap_filter_rec_t *frec;

    frec = reg->size ? filter_slot_find(reg, name, filter_hash(name))->frec : NULL;
    if (!frec)
        return NULL;
    built_in = ((const filter_record *)frec)->built_in;
    return built_in && built_in->module_index == -1 ? NULL : frec;
}

/* The built-in module whose hooks are being registered. */
static const module *filter_registrar(void)
{
    for (module **m = ap_prelinked_modules; *m; m++)
        if ((*m)->name == apr_hook_debug_current)
            return *m;
    return NULL;
}

static apr_status_t filter_registry_forget(void *data)
{
    memset(data, 0, sizeof(filter_registry));
    filter_generation++;
    return APR_SUCCESS;
}

static void filter_registry_open(filter_registry *reg)
{
    if (apr_hook_global_pool)
        reg->pool = apr_hook_global_pool;
    else
        apr_pool_create(&reg->pool, NULL);
    apr_pool_cleanup_register(reg->pool, reg, filter_registry_forget, apr_pool_cleanup_null);
}

static void filter_registry_grow(filter_registry *reg)
{
    filter_registry old = *reg;

    reg->size = old.size ? old.size * 2 : 64;
    reg->slots = apr_pcalloc(reg->pool, reg->size * sizeof *reg->slots);
    for (unsigned i = 0; i < old.size; i++)
        if (old.slots[i].frec)
            *filter_slot_find(reg, old.slots[i].frec->name, old.slots[i].hash) = old.slots[i];
    BRG_ASSERT(reg->used * 2 < reg->size);
}

/* A filter that is registered again keeps its record: chains and modules hold pointers to it. */
static ap_filter_rec_t *filter_register(filter_registry *reg, const char *name, ap_filter_func func,
                                        ap_init_filter_func init, ap_filter_type ftype)
{
    unsigned hash = filter_hash(name);
    filter_slot *slot;

    if (!reg->pool)
        filter_registry_open(reg);
    if (reg->used * 2 >= reg->size)
        filter_registry_grow(reg);
    slot = filter_slot_find(reg, name, hash);
    if (!slot->frec) {
        char *folded = apr_pstrdup(reg->pool, name);

        ap_str_tolower(folded);
        slot->frec = apr_pcalloc(reg->pool, sizeof(filter_record));
        slot->frec->name = folded;
        slot->hash = hash;
        reg->used++;
    }
    ((filter_record *)slot->frec)->owner = apr_hook_debug_current;
    ((filter_record *)slot->frec)->built_in = filter_registrar();
    ((filter_record *)slot->frec)->leaves_body = 0;
    filter_generation++;
    slot->frec->filter_func = func;
    slot->frec->filter_init_func = init;
    slot->frec->ftype = ftype;
    return slot->frec;
}

/* Modules may put records of their own making on a chain: only records of the registry have an
 * owner behind them. */
static const char *filter_owner_find(const ap_filter_rec_t *frec)
{
    if (frec != filter_find(&filter_outputs, frec->name) &&
        frec != filter_find(&filter_inputs, frec->name))
        return NULL;
    return ((const filter_record *)frec)->owner;
}

typedef struct filter_found {
    const ap_filter_rec_t *frec;
    const char *owner;
    const declaration *declared;
    int leaves_body;
    unsigned generation;
} filter_found;

/* Of one of the registry's. */
static int filter_says_plain(const filter_record *f)
{
    const module_row *row = module_row_named(f->owner);

    return f->leaves_body ||
           (row && module_list_has(row->plain_filters, f->rec.name, strlen(f->rec.name)));
}

static __attribute__((noinline)) void filter_look_up(filter_found *f, const ap_filter_rec_t *frec)
{
    BRG_ASSERT(frec && frec->name);
    f->owner = filter_owner_find(frec);
    f->declared = declaration_of(f->owner);
    f->leaves_body = f->declared && filter_says_plain((const filter_record *)frec);
    f->frec = frec;
    f->generation = filter_generation;
}

/* Asked for each filter of each request, of a few that are always the same. The result stays true
 * while a generation serves, in which no filter is registered any more. */
static const filter_found *filter_find_owner(const ap_filter_rec_t *frec)
{
    static _Thread_local filter_found found[1 << FILTER_OWNERS_BITS];
    const uint64_t spread = (uintptr_t)frec * UINT64_C(0x9e3779b97f4a7c15);
    filter_found *f = &found[spread >> (64 - FILTER_OWNERS_BITS) & ~UINT64_C(1)];

    /* Two for each place: of filters of every request that share one, none drives the other out. */
    for (int i = 0; i < 2; i++)
        if (f[i].frec == frec && f[i].generation == filter_generation)
            return &f[i];
    f += f->frec && f->generation == filter_generation;
    filter_look_up(f, frec);
    return f;
}

const char *filter_owner(const ap_filter_rec_t *frec)
{
    return filter_find_owner(frec)->owner;
}

const declaration *filter_declaration(const ap_filter_rec_t *frec)
{
    return filter_find_owner(frec)->declared;
}

/* A chain all of whose filters are declared: nearly all requests have one of a few. */
typedef struct filter_chain {
    unsigned generation;
    int n;
    const ap_filter_rec_t *frec[FILTER_CHAIN_KEPT];
} filter_chain;

static int filter_chain_is(const filter_chain *chain, const ap_filter_t *f)
{
    int i = 0;

    if (chain->generation != filter_generation)
        return 0;
    for (; f && i < chain->n && f->frec == chain->frec[i]; f = f->next)
        i++;
    return !f && i == chain->n;
}

static __attribute__((noinline)) int filter_chain_ask(filter_chain *chain, const ap_filter_t *f)
{
    int n = 0;

    for (; f; f = f->next, n++) {
        if (!f->frec->providers && !filter_find_owner(f->frec)->declared)
            return 0;
        if (n < FILTER_CHAIN_KEPT)
            chain->frec[n] = f->frec;
    }
    chain->n = n;
    chain->generation = n <= FILTER_CHAIN_KEPT ? filter_generation : 0;
    return 1;
}

int filter_chain_is_declared(const ap_filter_t *f)
{
    static _Thread_local filter_chain chains[1 << FILTER_CHAINS_BITS];
    const uint64_t spread = (uintptr_t)(f ? f->frec : NULL) * UINT64_C(0x9e3779b97f4a7c15);
    filter_chain *chain = &chains[spread >> (64 - FILTER_CHAINS_BITS)];

    return filter_chain_is(chain, f) || filter_chain_ask(chain, f);
}

int filter_leaves_body(const ap_filter_rec_t *frec)
{
    return filter_find_owner(frec)->leaves_body;
}

BRG_DECLARE(void) brg_filter_leaves_body(ap_filter_rec_t *frec)
{
    if (frec != filter_find(&filter_outputs, frec->name))
        return; /* not of the registry: nothing is kept of it */
    ((filter_record *)frec)->leaves_body = 1;
    filter_generation++;
}

void filter_declarations_changed(void)
{
    filter_generation++;
}

AP_DECLARE(ap_filter_rec_t *)
ap_register_input_filter(const char *name, ap_in_filter_func filter_func,
                         ap_init_filter_func filter_init, ap_filter_type ftype)
{
    ap_filter_func func = {.in_func = filter_func};

    return filter_register(&filter_inputs, name, func, filter_init, ftype);
}

AP_DECLARE(ap_filter_rec_t *)
ap_register_output_filter(const char *name, ap_out_filter_func filter_func,
                          ap_init_filter_func filter_init, ap_filter_type ftype)
{
    return ap_register_output_filter_protocol(name, filter_func, filter_init, ftype, 0);
}

AP_DECLARE(ap_filter_rec_t *)
ap_register_output_filter_protocol(const char *name, ap_out_filter_func filter_func,
                                   ap_init_filter_func filter_init, ap_filter_type ftype,
                                   unsigned int proto_flags)
{
    ap_filter_func func = {.out_func = filter_func};
    ap_filter_rec_t *frec = filter_register(&filter_outputs, name, func, filter_init, ftype);

    frec->proto_flags = proto_flags;
    return frec;
}

AP_DECLARE(ap_filter_rec_t *) ap_get_input_filter_handle(const char *name)
{
    return filter_find(&filter_inputs, name);
}

AP_DECLARE(ap_filter_rec_t *) ap_get_output_filter_handle(const char *name)
{
    return filter_find(&filter_outputs, name);
}

static void filter_registry_visit(const filter_registry *reg, int is_input,
                                  void (*visit)(void *, const ap_filter_rec_t *, int), void *baton)
{
    for (unsigned i = 0; i < reg->size; i++)
        if (reg->slots[i].frec)
            visit(baton, reg->slots[i].frec, is_input);
}

void filter_registry_each(void (*visit)(void *baton, const ap_filter_rec_t *frec, int is_input),
                          void *baton)
{
    filter_registry_visit(&filter_outputs, 0, visit, baton);
    filter_registry_visit(&filter_inputs, 1, visit, baton);
}

BRG_DECLARE(void) brg_nearest_offer_filters(brg_nearest *nearest, int input)
{
    const filter_registry *reg = input ? &filter_inputs : &filter_outputs;

    for (unsigned i = 0; i < reg->size; i++)
        if (reg->slots[i].frec)
            brg_nearest_offer(nearest, reg->slots[i].frec->name);
}
