/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that hold for all names of a folder: names, their kinds, and whether an answer shows one (cache_names_private.h). */
#include "cache_names_private.h"
#include "apr_lib.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Letters that are the same in a target and in the name of a file. */
static int name_is_plain(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!apr_isalnum(name[i]) && !strchr("-_.", name[i]))
            return 0;
    return len && len <= NAME_MAX && name[0] != '.';
}

const char *cache_name_of(const char *uri, size_t len, size_t *name_len)
{
    const char *slash = memrchr(uri, '/', len);

    *name_len = slash ? len - (size_t)(slash + 1 - uri) : 0;
    return slash && name_is_plain(slash + 1, *name_len) ? slash + 1 : NULL;
}

size_t cache_name_key_below(char *out, const char *uri, size_t folder, const char *last,
                            size_t last_len, char kind)
{
    const char *dot = memchr(last, '.', last_len);
    const size_t extension = dot ? last_len - (size_t)(dot - last) : 0;

    if (folder + extension + 3 > CACHE_NAME_PATH_MOST)
        return 0;
    memcpy(out, uri, folder);
    out[folder] = ' ';
    out[folder + 1] = kind;
    if (dot)
        memcpy(out + folder + 2, dot, extension);
    out[folder + 2 + extension] = '\0';
    return folder + 2 + extension;
}

size_t cache_name_key(char *out, const char *uri, const char *name, size_t name_len, char kind)
{
    return cache_name_key_below(out, uri, (size_t)(name - uri), name, name_len, kind);
}

static int name_is_word(const char *text, size_t len, const char *at, size_t name_len)
{
    const char *end = at + name_len;

    return (at == text || !apr_isalnum(at[-1])) && (end == text + len || !apr_isalnum(*end));
}

int cache_name_shows(const char *text, size_t len, const char *name, size_t name_len)
{
    const char *at = text;

    while (at && (at = memmem(at, len - (size_t)(at - text), name, name_len)) != NULL) {
        if (name_is_word(text, len, at, name_len))
            return 1;
        at++;
    }
    return 0;
}

static int name_text_shows(const char *text, const char *name, size_t name_len)
{
    return text && cache_name_shows(text, strlen(text), name, name_len);
}

int cache_name_head_shows(const http_answer *a, const char *name, size_t len)
{
    for (int i = 0; i < a->n_fields; i++)
        if (name_text_shows(a->field[i].value, name, len))
            return 1;
    return name_text_shows(a->connection, name, len);
}

const char *cache_name_path_in(const struct cache_observed *o, const char *text, const char *rest,
                               size_t *len)
{
    const char *const path[] = {o->asked ? o->asked : o->filename, o->uri};
    const char *at = NULL;

    for (int i = 0; i < 2 && !at; i++)
        if (path[i] && (at = strstr(text, path[i])) != NULL) {
            *len = strlen(path[i]);
            if (!strncmp(at + *len, rest, strlen(rest)))
                *len += strlen(rest);
        }
    return at;
}

/* It may show one of them, once. */
static int name_message_shows(const struct cache_observed *o, const char *text, const char *rest,
                              const char *name, size_t len)
{
    size_t path_len;
    const char *at = cache_name_path_in(o, text, rest, &path_len);

    if (!at)
        return name_text_shows(text, name, len);
    return cache_name_shows(text, (size_t)(at - text), name, len) ||
           name_text_shows(at + path_len, name, len);
}

int cache_name_is_url(const char *variable)
{
    return !strcmp(variable, "SCRIPT_URL") || !strcmp(variable, "SCRIPT_URI");
}

/* At the end, and nowhere else. */
static int name_url_shows(const char *url, const char *name, size_t len)
{
    const size_t all = url ? strlen(url) : 0;

    return all <= len || url[all - len - 1] != '/' || memcmp(url + all - len, name, len) != 0 ||
           cache_name_shows(url, all - len, name, len);
}

int cache_name_log_shows(const struct cache_observed *o, const char *name, size_t len,
                         const char *part, size_t part_len)
{
    for (uint32_t i = 0; i < cache_observed_pairs(o); i++)
        if (i < o->env_n && cache_name_is_url(o->pair[i].name)
                ? name_url_shows(o->pair[i].value, name, len)
                : name_text_shows(o->pair[i].value, part, part_len))
            return 1;
    for (uint32_t i = 0; i < o->messages_n; i++)
        if (name_message_shows(o, o->message[i].said.text, strchrnul(name, '/'), part, part_len))
            return 1;
    return 0;
}

/* Of an error document, which modules may send by what it is for. */
static int name_is_told_by_sender(const request_rec *r, const request_rec *sender)
{
    policy_names said;

    return sender == r || (policy_names_are_told(sender->server, 1) &&
                           !policy_names_ask(sender->server, sender->per_dir_config, sender->uri,
                                             sender->filename, "", 1, &said));
}

static int name_is_file(const request_rec *r)
{
    return r->finfo.filetype != APR_NOFILE;
}

/* @param file  NULL: none was looked for */
static int name_is_told(const request_rec *r, const char *file, const char *rest)
{
    const request_dependencies *found = request_dependencies_of(r);
    policy_names said;

    return found && !found->name && !found->folders && !found->too_many && !r->prev && !r->main &&
           policy_names_are_told(r->server, !request_is_refused(r)) &&
           !policy_names_ask(r->server, r->per_dir_config, r->uri, file, rest, name_is_file(r),
                             &said) &&
           name_is_told_by_sender(r, cache_sender_of(r));
}

int cache_name_is_told_below(const request_rec *r, const char *rest)
{
    return name_is_told(r, cache_walked(r), rest);
}

int cache_name_is_told_prefix(const request_rec *r)
{
    const request_dependencies *found = request_dependencies_of(r);

    return found && !found->first && name_is_told(r, NULL, "");
}

int cache_name_is_told_moved(const request_rec *r, const char *name)
{
    const request_dependencies *found = request_dependencies_of(r);

    return found && !found->first && cache_sender_of(r) == r && name_is_told(r, NULL, name);
}

int cache_name_is_told(const request_rec *r)
{
    return cache_name_is_told_below(r, "");
}

int cache_name_is_last(const request_rec *r, const char *name)
{
    const char *slash = r->uri ? strrchr(r->uri, '/') : NULL;

    return slash && !strcmp(slash + 1, name) &&
           (size_t)(slash - r->uri) + NAME_MAX + 2 < CACHE_NAME_PATH_MOST;
}

/* A hook ended it before the walk. */
static int name_was_not_walked(const request_rec *r)
{
    const request_files *files = request_files_of(r);
    const request_dependencies *found = request_dependencies_of(r);

    return request_is_refused(r) && !r->proxyreq && files && !files->walked && found &&
           !found->first && r->per_dir_config == r->server->lookup_defaults;
}

/* @param folder  taken over */
static cache_names *names_new(const request_rec *r, const char *name, folder_held *folder)
{
    const size_t path = (size_t)(name - r->uri);
    cache_names *names = malloc(sizeof *names + path + 1);

    if (!names) {
        folder_held_end(folder);
        return NULL;
    }
    memcpy(names->path, r->uri, path);
    names->path[path] = '\0';
    names->path_len = path;
    names->name_len = strlen(name);
    names->location_at = -1;
    names->body_at = 0;
    names->tail_len = names->page_len = names->name_len;
    names->step_len = strcspn(name, "/");
    names->below = names->moved = 0;
    names->then = NULL;
    names->folder = folder;
    return names;
}

static cache_names *names_ask(const request_rec *r, cache_names *names, const char *rest)
{
    if (!policy_names_ask(r->server, r->per_dir_config, r->uri,
                          names->folder ? cache_walked(r) : NULL, rest, name_is_file(r),
                          &names->said))
        return names;
    cache_names_end(names);
    return NULL;
}

cache_names *cache_names_make(const request_rec *r)
{
    folder_held *folder = folder_held_of(r);
    cache_names *names =
        folder || name_was_not_walked(r) ? names_new(r, strrchr(r->uri, '/') + 1, folder) : NULL;

    return names ? names_ask(r, names, "") : NULL;
}

cache_names *cache_names_make_below(const request_rec *r, const char *name, const char *rest)
{
    folder_held *folder = folder_held_above(r);
    cache_names *names = folder ? names_new(r, name, folder) : NULL;

    if (!names)
        return NULL;
    names->below = 1;
    return names_ask(r, names, rest);
}

cache_names *cache_names_make_prefix(const request_rec *r, const char *name)
{
    cache_names *names = names_new(r, name, NULL);

    if (!names)
        return NULL;
    names->below = 1;
    return names_ask(r, names, "");
}

cache_names *cache_names_make_moved(const request_rec *r, const char *name)
{
    cache_names *names = name_was_not_walked(r) ? names_new(r, name, NULL) : NULL;

    if (!names)
        return NULL;
    names->below = names->moved = 1;
    return names_ask(r, names, name);
}

void cache_names_end(cache_names *names)
{
    if (names->then)
        cache_names_end(names->then);
    folder_held_end(names->folder);
    free(names);
}

int cache_names_lack(const cache_names *names, const char *name, size_t len)
{
    return !names->folder || folder_held_lacks(names->folder, name, len);
}

/* 0: it is too long. */
static int name_path(char *path, const char *folder, size_t folder_len, const char *name,
                     size_t len)
{
    if (folder_len + len >= CACHE_NAME_PATH_MOST)
        return 0;
    memcpy(path, folder, folder_len);
    memcpy(path + folder_len, name, len);
    path[folder_len + len] = '\0';
    return 1;
}

int cache_names_decide_alike(const cache_names *names, const server_rec *s, const char *name,
                             size_t len, int is_file)
{
    char path[CACHE_NAME_PATH_MOST], file[CACHE_NAME_PATH_MOST];
    const char *folder = names->folder ? folder_held_path(names->folder) : NULL;
    const char *rest = names->moved ? path + names->path_len : "";

    return name_path(path, names->path, names->path_len, name, len) &&
           (!folder || name_path(file, folder, strlen(folder), name, len)) &&
           policy_names_hold(s, folder ? folder_held_conf(names->folder) : s->lookup_defaults, path,
                             folder ? file : NULL, rest, is_file, &names->said);
}

int cache_names_below_alike(const cache_names *names, const server_rec *s, const char *name,
                            size_t len, size_t rest_len)
{
    char path[CACHE_NAME_PATH_MOST], file[CACHE_NAME_PATH_MOST];
    const char *folder = folder_held_path(names->folder);

    return name_path(path, names->path, names->path_len, name, len + rest_len) &&
           name_path(file, folder, strlen(folder), name, len) &&
           policy_names_hold(s, folder_held_conf(names->folder), path, file,
                             path + names->path_len + len, 0, &names->said);
}
