/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MODULES_EARLY_HINTS_PRIVATE_H
#define BRIGADE_MODULES_EARLY_HINTS_PRIVATE_H

/** @file early_hints_private.h  Between mod_early_hints.c and early_hints_links.c: targets of a
 *   page that browsers should fetch early. */
#include "httpd.h"

#define HINTS_LINKS 8    /**< of a page */
#define HINTS_TEXT 112   /**< bytes of a target, NUL included */
#define HINTS_SCAN 16384 /**< so much of a page is read */

/** Values of as=. */
typedef enum hint_as { HINT_STYLE, HINT_SCRIPT, HINT_FONT, HINT_MODULE } hint_as;

/** A target of this origin. */
typedef struct hint_link {
    char target[HINTS_TEXT]; /**< a path, perhaps with a query */
    uint8_t as;              /**< hint_as */
    uint8_t cors;            /**< it is fetched with crossorigin */
} hint_link;

typedef struct hint_links {
    hint_link link[HINTS_LINKS];
    int n;
} hint_links;

/**
 * Style sheets, scripts and fonts of a page: <link> and <script> elements. Targets of other origins are left out, and such as could split
 * a field.
 * @param base    of relative targets: the path of the page
 * @param origin  "https://www.example.org", whose targets are of this origin, too
 */
void hints_of_html(hint_links *to, const char *html, size_t len, const char *base,
                   const char *origin);

/** Those of a Link field with rel=preload or modulepreload. */
void hints_of_field(hint_links *to, const char *value, const char *base, const char *origin);

#endif
