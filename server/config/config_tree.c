/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of directives. */
#include "http_config.h"
#include "configuration.h"

AP_DECLARE_DATA ap_directive_t *ap_conftree = NULL;

/*
 * Append toadd behind current, or as the first node below *parent when current is NULL. With child
 * set, the next node goes below toadd: *parent moves down and the new current node is NULL.
 */
ap_directive_t *ap_add_node(ap_directive_t **parent, ap_directive_t *current, ap_directive_t *toadd,
                            int child)
{
    if (current) {
        current->next = toadd;
        toadd->parent = current->parent;
    } else if (*parent) {
        (*parent)->first_child = toadd;
        toadd->parent = *parent;
    }
    if (!child)
        return toadd;
    *parent = toadd;
    return NULL;
}
