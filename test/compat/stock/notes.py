# SPDX-License-Identifier: Apache-2.0
"""Remarks for the table of modules: what is to be known of one that works, or why one is not run."""

NOTES = {
    "mpm_event": "not opened: the server has a process model of its own, and says so",
    "mpm_prefork": "built in: processes of one thread each",
    "mpm_worker": "not opened: the server has a process model of its own, and says so",
    "negotiation": "entity tags of negotiated answers end with their quotation mark, which Apache leaves out",
    "dialup": "HEAD and following requests are answered, too; a worker waits with the response",
    "http2": "streams run on the module's own threads; between frames the connection waits on the event loop",
    "ssl": "after `BuiltinModule ssl_module Off`: connections run on workers, and wait on the event loop between requests; else the built-in one is taken",
    "proxy_ajp": "tried without a back end", "proxy_ftp": "tried without a back end", "proxy_fdpass": "tried without a back end",
    "proxy_express": "tried with an empty map", "authnz_ldap": "tried without a directory", "socache_memcache": "tried without its server",
    "socache_redis": "tried without its server", "lbmethod_heartbeat": "loaded only", "slotmem_plain": "loaded only", "suexec": "loaded only",
    "md": "with the built-in ssl module: tried with pebble; the built-in one gets no OCSP responses (guide 03)", "session_dbd": "loaded only", "ident": "tried against no ident server",
}

# The same of modules of other projects, by the names of their .load files.
PACKAGED = {
    "apparmor": "tried without profiles", "auth_gssapi": "tried without a realm", "auth_mellon": "loaded only", "auth_openidc": "tried without a provider",
    "auth_cas": "tried without its server", "authn_sasl": "tried without users", "authnz_pam": "tried with a service that refuses", "dnssd": "loaded only",
    "geoip": "tried without data", "intercept_form_submit": "tried with a service that refuses", "jk": "tried without a back end",
    "ldap_userdir": "loaded only", "lisp": "tried without a back end", "lookup_identity": "loaded only", "mapcache": "loaded only",
    "mod_mono": "loaded only", "mod_mono_auto": "loaded only", "neko": "loaded only", "netcgi_apache": "its .load file names a structure that its module has not, on Apache as well: "
    "loaded as netcgi_module, and no more", "musicindex": "loaded only: its index crashed on Apache as well", "oauth2": "tried without a provider", "passenger": "with a WSGI application", "shib": "tried without its daemon",
    "tile": "loaded only", "uwsgi": "tried without a back end", "vhost_ldap": "loaded only", "watchcat": "loaded only",
    "qos": "needs `LoadFile libpcre.so.3` before it, on Apache as well", "log_sql": "with a driver; without one its own cleanup crashes as a process ends",
    "log_sql_mysql": "tried without a database", "log_sql_ssl": "after log_sql", "log_sql_dbi": "not tried", "authn_yubikey": "not tried: it crashes on Apache",
    "php": "with mpm_prefork, as on Apache; 46 requests: forms, uploads, sessions, streams, `php_value`, errors", "wsgi": "embedded and as daemons, and with mpm_prefork",
    "perl": "handlers, filters, registry scripts, <Perl> sections", "dav_svn": "check out, commit, copy, properties, log, export", "authz_svn": "with dav_svn",
    "rivet": "with mpm_prefork", "parser3": "with mpm_prefork", "evasive": "with mpm_prefork",
}
