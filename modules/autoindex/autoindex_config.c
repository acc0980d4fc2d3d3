/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of mod_autoindex and how sections inherit them. */
#include "autoindex_private.h"
#include "brigade/directive.h"
#include "http_core.h"
#include "apr_fnmatch.h"
#include "apr_strings.h"

#define AI_PERMS OR_INDEXES

static const char ai_by_name, ai_by_type, ai_by_encoding;

static ai_by ai_by_of(const cmd_parms *cmd)
{
    return cmd->info == &ai_by_type       ? AI_BY_TYPE
           : cmd->info == &ai_by_encoding ? AI_BY_ENCODING
                                          : AI_BY_NAME;
}

static void ai_push(apr_array_header_t *items, ai_by by, const char *what, const char *where,
                    const char *data)
{
    ai_item *item = apr_array_push(items);

    item->by = by;
    item->where = apr_pstrcat(items->pool, where ? where : "", "*", NULL);
    item->what = by == AI_BY_NAME && !ap_is_matchexp(what)
                     ? apr_pstrcat(items->pool, "*", what, NULL)
                     : what;
    item->data = data;
}

static const char *ai_cmd_alt(cmd_parms *cmd, void *mconfig, const char *alt, const char *to)
{
    ai_conf *conf = mconfig;
    ai_by by = ai_by_of(cmd);

    if (by == AI_BY_NAME && strcmp(to, "**DIRECTORY**") == 0)
        to = "^^DIRECTORY^^";
    ai_push(conf->alts, by, to, cmd->path, alt);
    return NULL;
}

/* "url" or "(alt,url)". */
static const char *ai_cmd_icon(cmd_parms *cmd, void *mconfig, const char *icon, const char *to)
{
    ai_conf *conf = mconfig;
    ai_by by = ai_by_of(cmd);
    char *text, *comma, *close;

    if (*icon == '(') {
        text = apr_pstrdup(cmd->pool, icon + 1);
        if (!strrchr(text, ')'))
            return "missing closing paren";
        comma = strchr(text, ',');
        icon = comma ? comma + 1 : "";
        if (comma) {
            *comma = '\0';
            if ((close = strrchr(comma + 1, ')')))
                *close = '\0';
        }
        ai_cmd_alt(cmd, mconfig, text, to);
    }
    if (by == AI_BY_NAME && strcmp(to, "**DIRECTORY**") == 0)
        to = "^^DIRECTORY^^";
    ai_push(conf->icons, by, to, cmd->path, icon);
    return NULL;
}

static const char *ai_cmd_desc(cmd_parms *cmd, void *mconfig, const char *text, const char *to)
{
    ai_conf *conf = mconfig;
    ai_desc *desc = apr_array_push(conf->descs);

    desc->text = text;
    desc->full_path = strchr(to, '/') != NULL;
    desc->wildcards = desc->full_path || apr_fnmatch_test(to);
    desc->pattern =
        desc->wildcards ? apr_pstrcat(cmd->pool, desc->full_path ? "*/" : "*", to, "*", NULL) : to;
    return NULL;
}

static const char *ai_cmd_ignore(cmd_parms *cmd, void *mconfig, const char *what)
{
    ai_conf *conf = mconfig;

    ai_push(conf->ignores, AI_BY_IGNORE, what, cmd->path, NULL);
    return NULL;
}

static const struct {
    const char *name;
    int bit;
} ai_keywords[] = {
    {"FancyIndexing", AI_FANCY},
    {"FoldersFirst", AI_FOLDERS_FIRST},
    {"HTMLTable", AI_TABLE},
    {"IconsAreLinks", AI_ICONS_ARE_LINKS},
    {"IgnoreCase", AI_IGNORE_CASE},
    {"IgnoreClient", AI_IGNORE_CLIENT},
    {"ScanHTMLTitles", AI_SCAN_HTML_TITLES},
    {"SuppressColumnSorting", AI_SUPPRESS_COLSORT},
    {"SuppressDescription", AI_SUPPRESS_DESC},
    {"SuppressHTMLPreamble", AI_SUPPRESS_PREAMBLE},
    {"SuppressIcon", AI_SUPPRESS_ICON},
    {"SuppressLastModified", AI_SUPPRESS_LAST_MOD},
    {"SuppressSize", AI_SUPPRESS_SIZE},
    {"SuppressRules", AI_SUPPRESS_RULES},
    {"TrackModified", AI_TRACK_MODIFIED},
    {"VersionSort", AI_VERSION_SORT},
    {"XHTML", AI_XHTML},
    {"ShowDotFiles", AI_SHOW_DOT_FILES},
    {"ShowForbidden", AI_SHOW_FORBIDDEN},
    {"AddAltClass", AI_ADD_ALT_CLASS},
    {"UseOldDateFormat", AI_OLD_DATE_FORMAT},
};

static int ai_keyword_bit(const char *word)
{
    for (apr_size_t i = 0; i < sizeof(ai_keywords) / sizeof(ai_keywords[0]); i++)
        if (strcasecmp(word, ai_keywords[i].name) == 0)
            return ai_keywords[i].bit;
    return 0;
}

static const char *ai_unknown(const cmd_parms *cmd, const char *word)
{
    static const char *const valued[] = {"IconWidth",        "IconHeight", "NameWidth",
                                         "DescriptionWidth", "Type",       "Charset"};
    brg_nearest nearest = {word, NULL, 0};

    for (apr_size_t i = 0; i < sizeof(ai_keywords) / sizeof(ai_keywords[0]); i++)
        brg_nearest_offer(&nearest, ai_keywords[i].name);
    for (apr_size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++)
        brg_nearest_offer(&nearest, valued[i]);
    return apr_pstrcat(cmd->pool, "Invalid directory indexing option",
                       brg_nearest_question(cmd->temp_pool, &nearest), NULL);
}

/* The text after the equals sign if @a word is "name=...", "" if it is just "name", else NULL. */
static const char *ai_value_of(const char *word, const char *name, int *has_value)
{
    apr_size_t len = strlen(name);

    if (strncasecmp(word, name, len) != 0 || (word[len] && word[len] != '='))
        return NULL;
    *has_value = word[len] == '=';
    return word + len + *has_value;
}

static const char *ai_set_pixels(cmd_parms *cmd, int *pixels, const char *name, char action,
                                 const char *value, int has_value, int standard)
{
    if (!has_value) {
        *pixels = action == '-' ? 0 : standard;
        return NULL;
    }
    if (action == '-')
        return apr_psprintf(cmd->pool, "Cannot combine '-' with %s=n", name);
    *pixels = atoi(value);
    return NULL;
}

static const char *ai_set_width(cmd_parms *cmd, const ai_conf *conf, int *width, ai_adjust *adjust,
                                const char *name, char action, const char *value, int has_value,
                                int standard, int least)
{
    if (!has_value) {
        if (action != '-')
            return apr_psprintf(cmd->pool, "%s with no value may only appear as '-%s'", name, name);
        *width = standard;
        *adjust = AI_ADJUST_FIXED;
        return NULL;
    }
    if (action == '-')
        return apr_psprintf(cmd->pool, "Cannot combine '-' with %s=n", name);
    if (*value == '*') {
        *adjust = AI_ADJUST_FIT;
        return NULL;
    }
    /* 0 and words pass for descriptions, as they do in Apache: no limit. */
    if (atoi(value) < least && (atoi(value) || width == &conf->name_width))
        return apr_psprintf(cmd->pool, "%s value must be greater than %d", name, least);
    *width = atoi(value);
    *adjust = AI_ADJUST_FIXED;
    return NULL;
}

/* Options that take a value. */
static const char *ai_set_valued(cmd_parms *cmd, ai_conf *conf, char action, const char *word)
{
    const char *value;
    int has_value = 0;

    if ((value = ai_value_of(word, "IconWidth", &has_value))) {
        return ai_set_pixels(cmd, &conf->icon_width, "IconWidth", action, value, has_value,
                             AI_ICON_WIDTH);
    }
    if ((value = ai_value_of(word, "IconHeight", &has_value))) {
        return ai_set_pixels(cmd, &conf->icon_height, "IconHeight", action, value, has_value,
                             AI_ICON_HEIGHT);
    }
    if ((value = ai_value_of(word, "NameWidth", &has_value))) {
        return ai_set_width(cmd, conf, &conf->name_width, &conf->name_adjust, "NameWidth", action,
                            value, has_value, AI_NAME_WIDTH, 5);
    }
    if ((value = ai_value_of(word, "DescriptionWidth", &has_value))) {
        return ai_set_width(cmd, conf, &conf->desc_width, &conf->desc_adjust, "DescriptionWidth",
                            action, value, has_value, AI_DESC_WIDTH, 12);
    }
    if ((value = ai_value_of(word, "Type", &has_value)) && has_value) {
        conf->type = apr_pstrdup(cmd->pool, value);
        return NULL;
    }
    if ((value = ai_value_of(word, "Charset", &has_value)) && has_value) {
        conf->charset = apr_pstrdup(cmd->pool, value);
        return NULL;
    }
    return ai_unknown(cmd, word);
}

static const char *ai_cmd_options(cmd_parms *cmd, void *mconfig, const char *line)
{
    ai_conf *conf = mconfig;
    const char *word, *err;

    while (*(word = ap_getword_conf(cmd->temp_pool, &line))) {
        char action = *word == '+' || *word == '-' ? *word++ : '\0';
        int bit = ai_keyword_bit(word);

        if (strcasecmp(word, "None") == 0) {
            if (action)
                return "Cannot combine '+' or '-' with 'None' keyword";
            conf->opts = AI_NONE;
            conf->plus = conf->minus = 0;
        } else if (!bit) {
            if ((err = ai_set_valued(cmd, conf, action, word)))
                return err;
            if (!action)
                conf->plus = conf->minus = 0;
        } else if (action == '+') {
            conf->plus |= bit;
            conf->minus &= ~bit;
        } else if (action == '-') {
            conf->minus |= bit;
            conf->plus &= ~bit;
        } else {
            conf->opts |= bit;
            conf->plus = conf->minus = 0;
        }
    }
    if ((conf->opts & AI_NONE) && (conf->opts & ~AI_NONE))
        return "Cannot combine other IndexOptions keywords with 'None'";
    return NULL;
}

static const char *ai_cmd_order(cmd_parms *cmd, void *mconfig, const char *direction,
                                const char *key)
{
    ai_conf *conf = mconfig;

    if (strcasecmp(direction, "Ascending") == 0)
        conf->default_direction = 'A';
    else if (strcasecmp(direction, "Descending") == 0)
        conf->default_direction = 'D';
    else
        return "First keyword must be 'Ascending' or 'Descending'";
    if (strcasecmp(key, "Name") == 0)
        conf->default_key = 'N';
    else if (strcasecmp(key, "Date") == 0)
        conf->default_key = 'M';
    else if (strcasecmp(key, "Size") == 0)
        conf->default_key = 'S';
    else if (strcasecmp(key, "Description") == 0)
        conf->default_key = 'D';
    else
        return "Second keyword must be 'Name', 'Date', 'Size', or 'Description'";
    return NULL;
}

static const char *ai_cmd_fancy(cmd_parms *cmd, void *mconfig, const char *args)
{
    return "The FancyIndexing directive is no longer supported. Use IndexOptions FancyIndexing.";
}

#define AI_SLOT(field) (void *)APR_OFFSETOF(ai_conf, field)

const command_rec ai_directives[] = {
    AP_INIT_ITERATE2("AddIcon", ai_cmd_icon, (void *)&ai_by_name, AI_PERMS,
                     "an icon URL followed by one or more filenames"),
    AP_INIT_ITERATE2("AddIconByType", ai_cmd_icon, (void *)&ai_by_type, AI_PERMS,
                     "an icon URL followed by one or more MIME types"),
    AP_INIT_ITERATE2("AddIconByEncoding", ai_cmd_icon, (void *)&ai_by_encoding, AI_PERMS,
                     "an icon URL followed by one or more content encodings"),
    AP_INIT_ITERATE2("AddAlt", ai_cmd_alt, (void *)&ai_by_name, AI_PERMS,
                     "alternate descriptive text followed by one or more filenames"),
    AP_INIT_ITERATE2("AddAltByType", ai_cmd_alt, (void *)&ai_by_type, AI_PERMS,
                     "alternate descriptive text followed by one or more MIME types"),
    AP_INIT_ITERATE2("AddAltByEncoding", ai_cmd_alt, (void *)&ai_by_encoding, AI_PERMS,
                     "alternate descriptive text followed by one or more content encodings"),
    AP_INIT_RAW_ARGS("IndexOptions", ai_cmd_options, NULL, AI_PERMS,
                     "one or more index options [+|-][]"),
    AP_INIT_TAKE2("IndexOrderDefault", ai_cmd_order, NULL, AI_PERMS,
                  "{Ascending,Descending} {Name,Size,Description,Date}"),
    AP_INIT_ITERATE("IndexIgnore", ai_cmd_ignore, NULL, AI_PERMS, "one or more file extensions"),
    AP_INIT_FLAG("IndexIgnoreReset", ap_set_flag_slot, AI_SLOT(ignore_reset), AI_PERMS,
                 "Reset the inherited list of IndexIgnore filenames"),
    AP_INIT_ITERATE2("AddDescription", ai_cmd_desc, NULL, AI_PERMS,
                     "Descriptive text followed by one or more filenames"),
    AP_INIT_TAKE1("HeaderName", ap_set_string_slot, AI_SLOT(header), AI_PERMS, "a filename"),
    AP_INIT_TAKE1("ReadmeName", ap_set_string_slot, AI_SLOT(readme), AI_PERMS, "a filename"),
    AP_INIT_RAW_ARGS("FancyIndexing", ai_cmd_fancy, NULL, AI_PERMS,
                     "The FancyIndexing directive is no longer supported. "
                     "Use IndexOptions FancyIndexing."),
    AP_INIT_TAKE1("DefaultIcon", ap_set_string_slot, AI_SLOT(default_icon), AI_PERMS,
                  "an icon URL"),
    AP_INIT_TAKE1("IndexStyleSheet", ap_set_string_slot, AI_SLOT(style_sheet), AI_PERMS,
                  "URL to style sheet"),
    AP_INIT_TAKE1("IndexHeadInsert", ap_set_string_slot, AI_SLOT(head_insert), AI_PERMS,
                  "String to insert in HTML HEAD section"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};

void *ai_create(apr_pool_t *p, char *dir)
{
    ai_conf *conf = apr_pcalloc(p, sizeof(*conf));

    conf->name_width = AI_NAME_WIDTH;
    conf->desc_width = AI_DESC_WIDTH;
    conf->icons = apr_array_make(p, 4, sizeof(ai_item));
    conf->alts = apr_array_make(p, 4, sizeof(ai_item));
    conf->ignores = apr_array_make(p, 4, sizeof(ai_item));
    conf->descs = apr_array_make(p, 4, sizeof(ai_desc));
    return conf;
}

static void ai_merge_options(ai_conf *conf, const ai_conf *base, const ai_conf *add)
{
    if (add->opts & AI_NONE) {
        conf->opts = AI_NONE;
        conf->plus = conf->minus = 0;
    } else if (add->opts) {
        /* Increments beside absolute options count from the next section on, as in Apache. */
        conf->opts = add->opts;
        conf->plus = add->plus;
        conf->minus = add->minus;
    } else {
        conf->plus = (base->plus | add->plus) & ~add->minus;
        conf->minus = (base->minus | add->minus) & ~add->plus;
        conf->opts = ((base->opts & ~AI_NONE) | conf->plus) & ~conf->minus;
    }
}

#define AI_INHERIT(field) (add->field ? add->field : base->field)

void *ai_merge(apr_pool_t *p, void *basev, void *addv)
{
    const ai_conf *base = basev, *add = addv;
    ai_conf *conf = apr_pcalloc(p, sizeof(*conf));

    ai_merge_options(conf, base, add);
    conf->icon_width = AI_INHERIT(icon_width);
    conf->icon_height = AI_INHERIT(icon_height);
    conf->name_width = add->name_adjust ? add->name_width : base->name_width;
    conf->name_adjust = AI_INHERIT(name_adjust);
    conf->desc_width = add->desc_adjust ? add->desc_width : base->desc_width;
    conf->desc_adjust = AI_INHERIT(desc_adjust);
    conf->default_key = AI_INHERIT(default_key);
    conf->default_direction = AI_INHERIT(default_direction);
    conf->header = AI_INHERIT(header);
    conf->readme = AI_INHERIT(readme);
    conf->style_sheet = AI_INHERIT(style_sheet);
    conf->head_insert = AI_INHERIT(head_insert);
    conf->default_icon = AI_INHERIT(default_icon);
    conf->type = AI_INHERIT(type);
    conf->charset = AI_INHERIT(charset);
    conf->ignore_reset = add->ignore_reset;
    conf->icons = apr_array_append(p, add->icons, base->icons);
    conf->alts = apr_array_append(p, add->alts, base->alts);
    conf->descs = apr_array_append(p, add->descs, base->descs);
    conf->ignores =
        add->ignore_reset ? add->ignores : apr_array_append(p, add->ignores, base->ignores);
    return conf;
}
