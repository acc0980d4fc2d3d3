/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FILTER_FILTER_REGISTRY_H
#define BRIGADE_FILTER_FILTER_REGISTRY_H

/**
 * @file filter_registry.h
 * Registered filters by name. There is one registry per direction; names are compared without
 * regard to case.
 */
#include "declarations.h"
#include "util_filter.h"

/**
 * Call @a visit for every registered filter, output filters first, in no particular order.
 * Threads: any, once the configuration was read.
 */
void filter_registry_each(void (*visit)(void *baton, const ap_filter_rec_t *frec, int is_input),
                          void *baton);

/** Name (module->name) of the module that registered a filter; NULL if it was not registered, or
 * not from a module. */
const char *filter_owner(const ap_filter_rec_t *frec);

/** That module's declaration; NULL: nothing declared, or no such module. Threads: any, once the
 * configuration was read. */
const declaration *filter_declaration(const ap_filter_rec_t *frec);

/** 1 if each filter on the chain has such a declaration, or runs others in its stead. Threads: any, likewise. */
int filter_chain_is_declared(const ap_filter_t *f);

/** 1 if an output filter leaves bodies as they are, as its declared module says by brg_filter_leaves_body() or by its row
 * in hooks/module_rows.def. Threads: any, once the configuration was read. */
int filter_leaves_body(const ap_filter_rec_t *frec);

/**
 * The output filters of the protocol, of a new request whose chains lead to those of its connection: as n calls of
 * ap_add_output_filter_handle() in this order.
 * @param recs  of n filters of AP_FTYPE_PROTOCOL
 * Threads: the request's. Blocking: no.
 */
void filter_chain_begin(request_rec *r, ap_filter_rec_t *const *recs, int n);

/** Declarations of modules changed: they are looked up again. Threads: main. */
void filter_declarations_changed(void);

#endif
