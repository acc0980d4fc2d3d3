/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTOINDEX_PRIVATE_H
#define AUTOINDEX_PRIVATE_H

/**
 * @file autoindex_private.h
 * Parts of mod_autoindex: directives (autoindex_config.c), icons,
 * alternative texts and descriptions (autoindex_match.c), the entries and their order
 * (autoindex_entries.c), the list itself (autoindex_list.c; as BuiltinPages modern has it:
 * autoindex_modern.c), the frame around it (autoindex_frame.c), the handler (mod_autoindex.c).
 */
#include "httpd.h"
#include "http_config.h"

/** IndexOptions that are on or off. */
#define AI_ICONS_ARE_LINKS 0x00001
#define AI_SCAN_HTML_TITLES 0x00002
#define AI_SUPPRESS_ICON 0x00004
#define AI_SUPPRESS_LAST_MOD 0x00008
#define AI_SUPPRESS_SIZE 0x00010
#define AI_SUPPRESS_DESC 0x00020
#define AI_SUPPRESS_PREAMBLE 0x00040
#define AI_SUPPRESS_COLSORT 0x00080
#define AI_SUPPRESS_RULES 0x00100
#define AI_FOLDERS_FIRST 0x00200
#define AI_VERSION_SORT 0x00400
#define AI_TRACK_MODIFIED 0x00800
#define AI_FANCY 0x01000
#define AI_TABLE 0x02000
#define AI_IGNORE_CLIENT 0x04000
#define AI_IGNORE_CASE 0x08000
#define AI_XHTML 0x10000
#define AI_SHOW_FORBIDDEN 0x20000
#define AI_ADD_ALT_CLASS 0x40000
#define AI_OLD_DATE_FORMAT 0x80000
#define AI_NONE 0x100000
#define AI_SHOW_DOT_FILES 0x200000

#define AI_NAME_WIDTH 23
#define AI_DESC_WIDTH 23
#define AI_ICON_WIDTH 20
#define AI_ICON_HEIGHT 22

/** How the width of a column is found. */
typedef enum ai_adjust {
    AI_ADJUST_UNSET, /**< the default width */
    AI_ADJUST_FIT,   /**< as wide as the widest entry */
    AI_ADJUST_FIXED, /**< the width given */
} ai_adjust;

/** The property that an AddIcon... or AddAlt... line looks at. */
typedef enum ai_by { AI_BY_NAME, AI_BY_TYPE, AI_BY_ENCODING, AI_BY_IGNORE } ai_by;

/** One file, type or encoding of such a line, or of IndexIgnore. */
typedef struct ai_item {
    ai_by by;
    const char *where; /**< pattern for the path of the file: the section that the line stands in */
    const char *what;  /**< pattern for its name, type or encoding */
    const char *data;
} ai_item;

typedef struct ai_desc {
    const char *pattern, *text;
    int full_path; /**< pattern is for the path, not for the name alone */
    int wildcards; /**< else the pattern may stand anywhere in the name */
} ai_desc;

typedef struct ai_conf {
    int opts, plus, minus;       /**< AI_...: set outright, added, removed */
    int icon_width, icon_height; /**< pixels; 0: not given */
    int name_width, desc_width;  /**< characters */
    ai_adjust name_adjust, desc_adjust;
    char default_key, default_direction; /**< '\0': not given */
    int ignore_reset;
    apr_array_header_t *icons, *alts, *ignores; /**< of ai_item */
    apr_array_header_t *descs;                  /**< of ai_desc */
    const char *header, *readme, *style_sheet, *head_insert, *default_icon, *type, *charset;
} ai_conf;

/** A line of the list. */
typedef struct ai_entry {
    const char *name; /**< directories end in a slash */
    const char *icon, *alt, *desc;
    const char *kind; /**< of content, as the style sheet names it; for fancy lists */
    apr_off_t size;   /**< -1: not shown */
    apr_time_t time;  /**< microseconds; -1: not shown */
    int is_dir;       /**< a folder that stands before files */
    int is_folder, is_parent;
} ai_entry;

/** One request's view: the configuration with the client's wishes applied. */
typedef struct ai_view {
    const ai_conf *conf;
    int opts;
    int by_default_utf8;   /**< by BuiltinPages, whatever format the client asks for */
    int modern;            /**< the look of this server, not Apache's */
    char key, direction;   /**< "NMSD", "AD" */
    const char *pattern;   /**< only names that match; NULL: all */
    const char *link_args; /**< wishes carried on by the sort links, ready for HTML */
} ai_view;

extern module autoindex_module;
extern const command_rec ai_directives[];

void *ai_create(apr_pool_t *p, char *dir);
void *ai_merge(apr_pool_t *p, void *base, void *add);

/** Icon or alternative text for a file; by_name_only for directories. NULL: none was configured. */
const char *ai_find(const apr_array_header_t *items, request_rec *r, int by_name_only);
/** The same for a name that is no file, such as "^^DIRECTORY^^". */
const char *ai_find_name(const apr_array_header_t *items, const char *name);
const char *ai_find_desc(const ai_conf *conf, const char *path);
/** Which kind of content a file has, as the style sheet of the modern look names it. */
const char *ai_kind(const request_rec *r);
/** 1 if IndexIgnore hides the file. */
int ai_is_ignored(const ai_conf *conf, const char *path);

/** All lines of the list in order; turns a mere HTMLTable into a fancy one. @return array of
 * ai_entry *, or NULL: the directory cannot be read, or, if *rv is APR_EAGAIN, a worker has to make the listing */
apr_array_header_t *ai_entries(request_rec *r, ai_view *view, apr_status_t *rv);

/** The order of two names for people, without regard to locale, case and marks; numbers count as such. 0: they are the same so.
 * (autoindex_collate.c) */
int ai_collate(const char *a, const char *b);

/** The path of the folder that is listed, without the slash at its end; "/" for the top. In r->pool. */
const char *ai_folder_uri(request_rec *r);
/** The page is in UTF-8. */
int ai_is_utf8(const ai_view *view);

/** @name The modern look: options, its style sheet and script as responses, and the parts of the page
 * @{ */
int ai_modern_opts(const ai_conf *conf);
int ai_modern_is_part(const request_rec *r);
int ai_modern_part(request_rec *r);
void ai_modern_preamble(request_rec *r, const ai_view *view);
void ai_modern_path(request_rec *r, const ai_view *view);
void ai_modern_h1(request_rec *r, const ai_view *view);
void ai_modern_list(request_rec *r, const ai_view *view, const apr_array_header_t *entries);
/** @} */

void ai_list(request_rec *r, const ai_view *view, const apr_array_header_t *entries);

/** All before the list, from the doctype on; and all after it. */
void ai_head(request_rec *r, const ai_view *view);
void ai_tail(request_rec *r, const ai_view *view);

/** Is it HTML that r would answer? */
int ai_is_html(const request_rec *r);

#endif
