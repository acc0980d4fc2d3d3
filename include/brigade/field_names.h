/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_FIELD_NAMES_H
#define BRIGADE_FIELD_NAMES_H

/**
 * @file brigade/field_names.h
 * Answers that depend on whether a request has fields of certain names, or a query of a certain form.
 */

/** In place of a field's name, with an expression behind it, for brg_cache_vary() (brigade/response_cache.h) without a kind:
 * the outcome depends on whether a field has a name that the expression matches, in any case. This request had none; those
 * that have one are processed in full, and of them the module says BRG_CACHE_VOLATILE. */
#define BRG_CACHE_VARY_NAMES ":names "

/** The same for an expression on the query of the target as it was sent, "" if there is none: that of this request does not match it. "i " and the
 * expression follow where case does not count, "- " and the expression where it does. Those whose query matches are processed in full;
 * of them the module says brg_cache_depends_on_query(). */
#define BRG_CACHE_VARY_QUERY ":query "

#endif
