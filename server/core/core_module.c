/* SPDX-License-Identifier: Apache-2.0 */
/* The core module: its directives and hooks. The setters are in core_directives_*.c,
 * core_sections.c, core_conditional.c and core_limit.c. */
#include "response_cache.h"
#include "request_parts.h"
#include "placement.h"
#include "connection.h"
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_ssl.h"
#include "http_vhost.h"
#include "ap_expr.h"
#include "ap_regex.h"
#include "scoreboard.h"
#include "util_mutex.h"
#include <stddef.h>
#include "core_doubts_private.h"
#include "core_private.h"
#include "file_window.h"
#include "regex_limits.h"
#include "log_settings.h"
#include "brigade/client_mask.h"
#include "brigade/response_cache.h"
#include "h1_request.h"
#include "request_context.h"

static void *of_server(const cmd_parms *cmd)
{
    return core_conf(cmd);
}

static void *of_ours(const cmd_parms *cmd)
{
    return core_conf_writable(cmd->server);
}

static void *of_files(const cmd_parms *cmd)
{
    return &file_limits_now;
}

static const conf_word on_off_words[] = {{"on", 1}, {"off", 0}, {NULL, 0}},
                       trace_words[] = {{"on", AP_TRACE_ENABLE},
                                        {"off", AP_TRACE_DISABLE},
                                        {"extended", AP_TRACE_EXTENDED},
                                        {NULL, 0}},
                       path_info_words[] = {{"on", AP_REQ_ACCEPT_PATH_INFO},
                                            {"off", AP_REQ_REJECT_PATH_INFO},
                                            {"default", AP_REQ_DEFAULT_PATH_INFO},
                                            {NULL, 0}},
                       signature_words[] = {{"on", srv_sig_on},
                                            {"off", srv_sig_off},
                                            {"email", srv_sig_withmail},
                                            {NULL, 0}};

#define NOW(where) ((where) | EXEC_ON_READ)
#define FIELD(name) ((void *)(apr_uintptr_t)offsetof(core_dir_config, name))
#define OF_SERVER_REC(name) ((void *)(apr_uintptr_t)offsetof(server_rec, name))
#define SECTION(field, ...) CONF_SETTING(CONF_FIELD(core_dir_config, field), __VA_ARGS__)
#define SERVER(field, ...)                                               \
    CONF_SETTING(.of = of_server, CONF_FIELD(core_server_config, field), \
                 .where = NOT_IN_DIR_CONTEXT, __VA_ARGS__)
#define OURS(field, ...) \
    CONF_SETTING(.of = of_ours, CONF_FIELD(brg_core_conf, field), .where = GLOBAL_ONLY, __VA_ARGS__)
#define FILES(field, from, to)                                                         \
    CONF_SETTING(.of = of_files, CONF_FIELD(file_limits, field), .where = GLOBAL_ONLY, \
                 .least = from, .most = to)
#define FLAGGED(n) ((void *)(apr_uintptr_t)(n))

static const command_rec core_commands[] = {
    /* sections */
    AP_INIT_RAW_ARGS("<Directory", core_section_directory, NULL, RSRC_CONF,
                     "directives for a directory and what is below it"),
    AP_INIT_RAW_ARGS("<DirectoryMatch", core_section_directory, FLAGGED(1), RSRC_CONF,
                     "directives for directories that match a regular expression"),
    AP_INIT_RAW_ARGS("<Location", core_section_location, NULL, RSRC_CONF,
                     "directives for a URL path and what is below it"),
    AP_INIT_RAW_ARGS("<LocationMatch", core_section_location, FLAGGED(1), RSRC_CONF,
                     "directives for URL paths that match a regular expression"),
    AP_INIT_RAW_ARGS("<Files", core_section_files, NULL, OR_ALL, "directives for file names"),
    AP_INIT_RAW_ARGS("<FilesMatch", core_section_files, FLAGGED(1), OR_ALL,
                     "directives for file names that match a regular expression"),
    AP_INIT_RAW_ARGS("<If", core_section_if, FLAGGED(AP_CONDITION_IF), OR_ALL,
                     "directives for requests that meet a condition"),
    AP_INIT_RAW_ARGS("<ElseIf", core_section_if, FLAGGED(AP_CONDITION_ELSEIF), OR_ALL,
                     "directives for requests that meet a condition and none before it"),
    AP_INIT_RAW_ARGS("<Else", core_section_if, FLAGGED(AP_CONDITION_ELSE), OR_ALL,
                     "directives for requests that meet no condition before it"),
    AP_INIT_RAW_ARGS("<VirtualHost", core_section_virtualhost, NULL, RSRC_CONF,
                     "a server of its own on one or more addresses"),
    AP_INIT_RAW_ARGS("<Limit", ap_limit_section, NULL, OR_LIMIT | OR_AUTHCFG,
                     "access control for the named methods"),
    AP_INIT_RAW_ARGS("<LimitExcept", ap_limit_section, FLAGGED(1), OR_LIMIT | OR_AUTHCFG,
                     "access control for all methods but the named ones"),

    /* while the file is read */
    AP_INIT_RAW_ARGS("<IfModule", core_if_module, NULL, NOW(OR_ALL), "read if a module is active"),
    AP_INIT_RAW_ARGS("<IfDefine", core_if_define, NULL, NOW(OR_ALL),
                     "read if a name was defined by -D or Define"),
    AP_INIT_RAW_ARGS("<IfFile", core_if_file, NULL, NOW(OR_ALL), "read if a file exists"),
    AP_INIT_RAW_ARGS("<IfDirective", core_if_directive, NULL, NOW(OR_ALL),
                     "read if a directive is offered"),
    AP_INIT_RAW_ARGS("<IfSection", core_if_section, NULL, NOW(OR_ALL),
                     "read if a section is offered"),
    AP_INIT_TAKE1("Include", core_include, NULL, NOW(RSRC_CONF | ACCESS_CONF),
                  "a file, directory or pattern to read in this place"),
    AP_INIT_TAKE1("IncludeOptional", core_include, FLAGGED(1), NOW(RSRC_CONF | ACCESS_CONF),
                  "as Include; the files need not exist"),
    AP_INIT_TAKE12("Define", core_define, NULL, NOW(RSRC_CONF | ACCESS_CONF),
                   "a name, and its value"),
    AP_INIT_TAKE1("UnDefine", core_undefine, NULL, NOW(RSRC_CONF | ACCESS_CONF),
                  "a name to forget"),
    AP_INIT_TAKE1("ServerRoot", core_set_server_root, NULL, NOW(RSRC_CONF),
                  "the directory below which relative names are"),
    AP_INIT_TAKE1("DefaultRuntimeDir", core_set_runtime_dir, NULL, NOW(RSRC_CONF),
                  "the directory of files that exist while the server runs"),
    AP_INIT_TAKE1("DefaultStateDir", core_set_state_dir, NULL, NOW(RSRC_CONF),
                  "the directory of files that outlive the server"),
    AP_INIT_TAKE2("BuiltinModule", core_builtin_module, NULL, NOW(RSRC_CONF),
                  "a built-in module, On or Off"),
    AP_INIT_TAKE1("BuiltinModules", core_builtin_modules, NULL, NOW(RSRC_CONF),
                  "loaded: built-in modules that Apache has as shared ones are there where "
                  "LoadModule names them; all: always"),
    AP_INIT_RAW_ARGS("Error", core_error, NULL, OR_ALL, "a message with which to refuse to start"),
    AP_INIT_RAW_ARGS("Warning", core_warning, NULL, OR_ALL, "a message to log"),

    /* per directory */
    AP_INIT_TAKE1("AddDefaultCharset", core_set_default_charset, NULL, OR_FILEINFO,
                  "a charset for text without one, or Off"),
    AP_INIT_TAKE1("AcceptPathInfo", conf_set_word,
                  SECTION(accept_path_info, .words = path_info_words,
                          .refusal = "AcceptPathInfo must be set to on, off or default"),
                  OR_FILEINFO, "On, Off or Default: whether a path may go on behind a file's name"),
    AP_INIT_TAKE2("ErrorDocument", core_set_error_document, NULL, OR_FILEINFO,
                  "a status code and a text, path or URL"),
    AP_INIT_TAKE1("BuiltinPages", core_set_builtin_pages, NULL, OR_FILEINFO | OR_INDEXES,
                  "how error pages and listings look: apache, modern or negotiated"),
    AP_INIT_RAW_ARGS("AllowOverride", core_set_allow_override, NULL, ACCESS_CONF,
                     "groups of directives that .htaccess files may use"),
    AP_INIT_TAKE_ARGV("AllowOverrideList", core_set_allow_override_list, NULL, ACCESS_CONF,
                      "directives that .htaccess files may use"),
    AP_INIT_RAW_ARGS("Options", core_set_options, NULL, OR_OPTIONS, "what is allowed here"),
    AP_INIT_TAKE1("DefaultType", core_set_default_type, NULL, OR_FILEINFO, "None"),
    AP_INIT_RAW_ARGS("FileETag", core_set_file_etag, NULL, OR_FILEINFO,
                     "properties of a file that its ETag is made of"),
    AP_INIT_TAKE1("EnableMMAP", core_set_on_off, FLAGGED(CORE_ENABLE_MMAP), OR_FILEINFO,
                  "On: much of a file is mapped, and written by the kernel from there"),
    AP_INIT_TAKE1("EnableSendfile", core_set_on_off, FLAGGED(CORE_ENABLE_SENDFILE), OR_FILEINFO,
                  "On or Off"),
    AP_INIT_TAKE1("ReadBufferSize", conf_set_number, SECTION(read_buf_size, .most = APR_UINT32_MAX),
                  RSRC_CONF | ACCESS_CONF, "bytes to read at a time"),
    AP_INIT_TAKE1("ForceType", ap_set_string_slot_lower, FIELD(mime_type), OR_FILEINFO,
                  "the media type of all files here, or None"),
    AP_INIT_TAKE1("SetHandler", core_set_handler, NULL, OR_FILEINFO,
                  "the handler of all files here, or None, or expr=..."),
    AP_INIT_TAKE1("SetOutputFilter", ap_set_string_slot, FIELD(output_filters), OR_FILEINFO,
                  "filters for responses, separated by ';'"),
    AP_INIT_TAKE1("SetInputFilter", ap_set_string_slot, FIELD(input_filters), OR_FILEINFO,
                  "filters for request bodies, separated by ';'"),
    AP_INIT_TAKE1("AllowEncodedSlashes", core_set_encoded_slashes_arg, NULL, RSRC_CONF,
                  "On, Off or NoDecode"),
    AP_INIT_TAKE1("HostnameLookups", core_set_hostname_lookups, NULL, ACCESS_CONF | RSRC_CONF,
                  "On, Off or Double"),
    AP_INIT_TAKE1("ServerSignature", conf_set_word,
                  SECTION(server_signature, .words = signature_words,
                          .refusal = "ServerSignature: use one of: off | on | email"),
                  OR_ALL, "On, Off or EMail"),
    AP_INIT_FLAG("ContentDigest", core_set_flag, FLAGGED(CORE_CONTENT_MD5), OR_OPTIONS,
                 "On or Off"),
    AP_INIT_TAKE1("UseCanonicalName", core_set_canonical_name, NULL, RSRC_CONF | ACCESS_CONF,
                  "On, Off or DNS"),
    AP_INIT_TAKE1("UseCanonicalPhysicalPort", core_set_on_off, FLAGGED(CORE_CANONICAL_PHYS_PORT),
                  RSRC_CONF | ACCESS_CONF, "On or Off"),
    AP_INIT_FLAG("CGIPassAuth", core_set_flag, FLAGGED(CORE_CGI_PASS_AUTH), OR_AUTHCFG,
                 "On or Off"),
    AP_INIT_TAKE2("CGIVar", core_set_cgi_var, NULL, OR_FILEINFO, "a variable and a rule for it"),
    AP_INIT_FLAG("QualifyRedirectURL", core_set_flag, FLAGGED(CORE_QUALIFY_REDIRECT), OR_FILEINFO,
                 "On or Off"),
    AP_INIT_TAKE1("LimitRequestBody", conf_set_number,
                  SECTION(limit_req_body, .most = APR_INT64_MAX,
                          .refusal = "LimitRequestBody requires a non-negative integer."),
                  OR_ALL, "bytes of a request body, 0 = no limit"),
    AP_INIT_TAKE1("LimitXMLRequestBody", conf_set_number_begin,
                  SECTION(limit_xml_body, .most = APR_INT64_MAX - 1,
                          .refusal = "LimitXMLRequestBody requires a non-negative integer."),
                  OR_ALL, "bytes of an XML request body, 0 = no limit"),
    AP_INIT_TAKE1("MaxRanges", core_set_range_limit, FIELD(max_ranges), RSRC_CONF | ACCESS_CONF,
                  "ranges in a request before the whole is sent"),
    AP_INIT_TAKE1("MaxRangeOverlaps", core_set_range_limit, FIELD(max_overlaps),
                  RSRC_CONF | ACCESS_CONF, "overlapping ranges before the whole is sent"),
    AP_INIT_TAKE1("MaxRangeReversals", core_set_range_limit, FIELD(max_reversals),
                  RSRC_CONF | ACCESS_CONF, "ranges out of order before the whole is sent"),
    AP_INIT_TAKE12("RLimitCPU", core_set_rlimit, FLAGGED(RLIMIT_CPU), OR_ALL,
                   "seconds of a program, soft and hard"),
    AP_INIT_TAKE12("RLimitMEM", core_set_rlimit, FLAGGED(RLIMIT_AS), OR_ALL,
                   "bytes of memory of a program, soft and hard"),
    AP_INIT_TAKE12("RLimitNPROC", core_set_rlimit, FLAGGED(RLIMIT_NPROC), OR_ALL,
                   "processes that a program may have, soft and hard"),
    AP_INIT_ITERATE("LogLevel", core_set_log_level, NULL, RSRC_CONF | ACCESS_CONF,
                    "a level, or module:level"),

    /* per server */
    AP_INIT_TAKE1("DocumentRoot", core_set_document_root, NULL, RSRC_CONF,
                  "the directory of the documents"),
    AP_INIT_RAW_ARGS("AccessFileName", core_set_access_name, NULL, RSRC_CONF,
                     "names of files with directives for their directory"),
    AP_INIT_TAKE1("ServerName", core_set_server_name, NULL, RSRC_CONF, "name and port"),
    AP_INIT_TAKE1("ServerAdmin", core_set_server_admin, NULL, RSRC_CONF,
                  "where the administrator is reached"),
    AP_INIT_RAW_ARGS("ServerAlias", core_set_server_alias, NULL, RSRC_CONF, "other names"),
    AP_INIT_TAKE1("ServerPath", core_set_server_path, NULL, RSRC_CONF, "a path that is its own"),
    AP_INIT_TAKE1("Timeout", core_set_timeout, NULL, RSRC_CONF, "seconds to wait for the network"),
    AP_INIT_TAKE12("ErrorLog", core_set_error_log, NULL, RSRC_CONF,
                   "a file, a program behind '|', or syslog"),
    AP_INIT_TAKE12("ErrorLogFormat", log_set_error_format, NULL, RSRC_CONF,
                   "the form of lines in the error log"),
    AP_INIT_TAKE12("LogMaskClient", core_set_log_mask, NULL, RSRC_CONF,
                   "bits of IPv4 and of IPv6 that logs show of clients' addresses; or Off"),
    AP_INIT_TAKE1("NameVirtualHost", ap_set_name_virtual_host, NULL, RSRC_CONF, "no longer needed"),
    AP_INIT_TAKE1("LimitRequestLine", core_set_head_limit, OF_SERVER_REC(limit_req_line), RSRC_CONF,
                  "bytes of a request line"),
    AP_INIT_TAKE1("LimitRequestFieldsize", core_set_head_limit, OF_SERVER_REC(limit_req_fieldsize),
                  RSRC_CONF, "bytes of a header field"),
    AP_INIT_TAKE1("LimitRequestFields", core_set_head_limit, OF_SERVER_REC(limit_req_fields),
                  RSRC_CONF, "header fields of a request, 0 = no limit"),
    AP_INIT_TAKE12("LimitInternalRecursion", core_set_recursion_limit, NULL, RSRC_CONF,
                   "internal redirects, and subrequests"),
    AP_INIT_TAKE1("Protocol", core_set_protocol, NULL, RSRC_CONF, "the protocol of a port"),
    AP_INIT_ITERATE("Protocols", core_set_protocols, NULL, RSRC_CONF, "protocols in use"),
    AP_INIT_TAKE1("ProtocolsHonorOrder", conf_set_word,
                  SERVER(protocols_honor_order, .words = on_off_words,
                         .refusal = "ProtocolsHonorOrder must be 'on' or 'off'"),
                  RSRC_CONF, "On or Off"),
    AP_INIT_ITERATE("HttpProtocolOptions", core_set_protocol_options, NULL, RSRC_CONF,
                    "how strictly requests are read"),
    AP_INIT_TAKE1("TraceEnable", conf_set_word,
                  SERVER(trace_enable, .words = trace_words,
                         .refusal = "TraceEnable must be one of 'on', 'off', or 'extended'"),
                  RSRC_CONF, "On, Off or Extended"),
    AP_INIT_FLAG("MergeTrailers", conf_set_flag,
                 SERVER(merge_trailers, .least = AP_MERGE_TRAILERS_DISABLE,
                        .most = AP_MERGE_TRAILERS_ENABLE),
                 RSRC_CONF, "On or Off"),
    AP_INIT_FLAG("MergeSlashes", conf_set_flag,
                 SERVER(merge_slashes, .least = AP_CORE_CONFIG_OFF, .most = AP_CORE_CONFIG_ON),
                 RSRC_CONF, "On or Off"),
    AP_INIT_FLAG("StrictHostCheck", conf_set_flag,
                 SERVER(strict_host_check, .least = AP_CORE_CONFIG_OFF, .most = AP_CORE_CONFIG_ON),
                 RSRC_CONF, "On or Off"),
    AP_INIT_TAKE1("FlushMaxThreshold", core_set_flush_threshold, NULL, RSRC_CONF,
                  "bytes that may wait before output is flushed"),
    AP_INIT_TAKE1("FlushMaxPipelined", core_set_flush_pipelined, NULL, RSRC_CONF,
                  "pipelined responses before output is flushed, -1 = no limit"),

    /* the whole process */
    AP_INIT_TAKE2("AcceptFilter", core_set_accept_filter, NULL, RSRC_CONF,
                  "a protocol and the kernel's filter for it"),
    AP_INIT_TAKE1("ServerSoftware", core_set_software, NULL, RSRC_CONF,
                  "what applications see in SERVER_SOFTWARE: apache, brigade, or a text"),
    AP_INIT_TAKE1("ServerTokens", core_set_tokens, NULL, RSRC_CONF,
                  "how much of its name and version the server sends"),
    AP_INIT_RAW_ARGS("Mutex", ap_set_mutex, NULL, RSRC_CONF, "a mechanism, and names of mutexes"),
    AP_INIT_RAW_ARGS("RegexDefaultOptions", core_set_regex_options, NULL, RSRC_CONF,
                     "flags of regular expressions, each with + or -"),
    AP_INIT_TAKE1("RegexMatchLimit", core_set_regex_limit, NULL, RSRC_CONF,
                  "steps after which the match of a regular expression is given up"),
    AP_INIT_ITERATE("RegisterHttpMethod", core_register_method, NULL, RSRC_CONF,
                    "names of further methods"),
    AP_INIT_FLAG("ExtendedStatus", ap_set_extended_status, NULL, RSRC_CONF, "On or Off"),
    AP_INIT_FLAG("SeeRequestTail", ap_set_reqtail, NULL, RSRC_CONF, "On or Off"),
    AP_INIT_TAKE1("FileCacheValidate", core_set_cache_validate, NULL, RSRC_CONF,
                  "inotify, stat, or seconds for which a file is trusted"),
    AP_INIT_TAKE1("FileCacheSize", conf_set_bytes, OURS(file_cache_bytes, .most = APR_INT64_MAX),
                  RSRC_CONF, "bytes of files that a loop keeps in memory"),
    AP_INIT_TAKE1("FileCacheMaxFile", conf_set_bytes,
                  OURS(file_cache_max_file_bytes, .most = APR_INT64_MAX), RSRC_CONF,
                  "bytes of the largest file kept in memory"),
    AP_INIT_TAKE1("FileWindowLeast", conf_set_bytes, FILES(window_least, 1, APR_INT32_MAX),
                  RSRC_CONF, "bytes of a file from which on it is sent from a mapping"),
    AP_INIT_TAKE1("FileWindowSize", conf_set_bytes, FILES(window_bytes, 65536, 1 << 30), RSRC_CONF,
                  "bytes of a file that are mapped at once"),
    AP_INIT_TAKE1("FileSendfileLeast", conf_set_bytes, FILES(sendfile_least, 1, APR_INT32_MAX),
                  RSRC_CONF, "bytes of a file from which on EnableSendfile counts"),
    AP_INIT_TAKE1("FileCacheEntries", conf_set_number, OURS(file_cache_entries_n, .most = 1 << 24),
                  RSRC_CONF, "most responses that a loop stores"),
    {.name = NULL}};

/* Settings of the whole process go back to their defaults before a configuration is walked. */
static int core_pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    ap_mutex_init(pconf);
    brg_client_mask_set(NULL);
    ap_regcomp_set_default_cflags(AP_REG_DEFAULT);
    regex_limit_set(REGEX_LIMIT_DEFAULT);
    file_limits_reset();
    ap_mod_status_reqtail = 0;
    return OK;
}

/* First, so that other modules find the functions when they look for them. */
static void core_ssl_functions(void)
{
    ap_setup_ssl_optional_fns(apr_hook_global_pool);
}

static void core_register_hooks(apr_pool_t *p)
{
    ap_expr_init(p);
    ap_hook_optional_fn_retrieve(core_ssl_functions, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_pre_config(core_pre_config, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_register_config_hooks(p);
    log_register_hooks(p);
    connection_register_hooks(p);
    request_register_hooks(p);
    policy_register_hooks(p);
    cache_register_hooks(p);
    h1_register_hooks(p);
    core_client_salt_register();
    core_doubts_register();
    brg_cache_declare(&core_module, request_depends);
    brg_cache_name_declare(&core_module, walk_sections_of_name);
}

AP_DECLARE_DATA module core_module = {
    .version = MODULE_MAGIC_NUMBER_MAJOR,
    .minor_version = MODULE_MAGIC_NUMBER_MINOR,
    .module_index = -1,
    .name = "core.c",
    .magic = MODULE_MAGIC_COOKIE,
    .create_dir_config = core_create_dir_config,
    .merge_dir_config = core_merge_dir_configs,
    .create_server_config = core_create_server_config,
    .merge_server_config = core_merge_server_configs,
    .cmds = core_commands,
    .register_hooks = core_register_hooks,
};
