/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_CONFTREE_H
#define AP_CONFTREE_H

/** @file util_cfgtree.h  The configuration as a tree of directives. */
#include "ap_config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ap_directive_t ap_directive_t;

struct ap_directive_t {
    const char *directive;              /**< name; a section's starts with < */
    const char *args;                   /**< the rest of the line, unparsed */
    struct ap_directive_t *next;        /**< on the same level */
    struct ap_directive_t *first_child; /**< of a section */
    struct ap_directive_t *parent;      /**< the section it is in, or NULL */
    void *data;                         /**< for the module that owns the directive */
    const char *filename;
    int line_num;
    struct ap_directive_t *last; /**< shortcut to the end of a level, kept in its first node */
};

/** Root of the configuration in use. */
AP_DECLARE_DATA extern ap_directive_t *ap_conftree;

/**
 * Add @a toadd as the child (@a child != 0) or successor of @a current and return it. @a parent is the
 * current section and is updated.
 */
AP_DECLARE(ap_directive_t *)
ap_add_node(ap_directive_t **parent, ap_directive_t *current, ap_directive_t *toadd, int child);

#ifdef __cplusplus
}
#endif
#endif
