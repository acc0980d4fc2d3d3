# SPDX-License-Identifier: Apache-2.0
"""Remarks for the table of modules: what is to be known of one that works, or why one is not run."""

NOTES = {
    "mpm_event": "not opened: the server has a process model of its own, and says so",
    "mpm_prefork": "built in: processes of one thread each",
    "mpm_worker": "not opened: the server has a process model of its own, and says so",
    "negotiation": "entity tags of negotiated answers end with their quotation mark, which Apache leaves out",
    "dialup": "HEAD and following requests are answered, too; a worker waits with the response",
    "http2": "streams run on the module's own threads; between frames the connection waits on the event loop",
    "ssl": "connections run on workers, and wait on the event loop between requests",
    "proxy_ajp": "tried without a back end", "proxy_ftp": "tried without a back end", "proxy_fdpass": "tried without a back end",
    "proxy_express": "tried with an empty map", "authnz_ldap": "tried without a directory", "socache_memcache": "tried without its server",
    "socache_redis": "tried without its server", "lbmethod_heartbeat": "loaded only", "slotmem_plain": "loaded only", "suexec": "loaded only",
    "md": "tried without an authority", "session_dbd": "loaded only", "ident": "tried against no ident server",
}
