/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AP_CONFIG_LAYOUT_H
#define AP_CONFIG_LAYOUT_H

/**
 * @file ap_config_layout.h
 * Where things are installed by default. EXP_ values are absolute, REL_ values relative to ServerRoot where
 * they do not start with a slash. The build may define any of them.
 */
#ifndef DEFAULT_PREFIX
#define DEFAULT_PREFIX "/usr/local"
#endif
#ifndef DEFAULT_EXP_SYSCONFDIR
#define DEFAULT_EXP_SYSCONFDIR "/etc/brigade"
#endif
#ifndef DEFAULT_REL_SYSCONFDIR
#define DEFAULT_REL_SYSCONFDIR "conf"
#endif
#ifndef DEFAULT_EXP_RUNTIMEDIR
#define DEFAULT_EXP_RUNTIMEDIR DEFAULT_EXP_SYSCONFDIR "/logs"
#endif
#ifndef DEFAULT_REL_RUNTIMEDIR
#define DEFAULT_REL_RUNTIMEDIR "logs"
#endif
#ifndef DEFAULT_EXP_LOGFILEDIR
#define DEFAULT_EXP_LOGFILEDIR DEFAULT_EXP_SYSCONFDIR "/logs"
#endif
#ifndef DEFAULT_REL_LOGFILEDIR
#define DEFAULT_REL_LOGFILEDIR "logs"
#endif
#ifndef DEFAULT_EXP_LOCALSTATEDIR
#define DEFAULT_EXP_LOCALSTATEDIR DEFAULT_EXP_SYSCONFDIR "/state"
#endif
#ifndef DEFAULT_REL_LOCALSTATEDIR
#define DEFAULT_REL_LOCALSTATEDIR "state"
#endif
#ifndef DEFAULT_EXP_LIBEXECDIR
#define DEFAULT_EXP_LIBEXECDIR DEFAULT_PREFIX "/lib/brigade/modules"
#endif
#ifndef DEFAULT_REL_LIBEXECDIR
#define DEFAULT_REL_LIBEXECDIR "modules"
#endif

/* Programs, data and development files, below the prefix. */
#define DEFAULT_EXP_EXEC_PREFIX DEFAULT_PREFIX
#define DEFAULT_REL_EXEC_PREFIX ""
#define DEFAULT_EXP_BINDIR DEFAULT_PREFIX "/bin"
#define DEFAULT_REL_BINDIR "bin"
#define DEFAULT_EXP_SBINDIR DEFAULT_PREFIX "/bin"
#define DEFAULT_REL_SBINDIR "bin"
#define DEFAULT_EXP_MANDIR DEFAULT_PREFIX "/share/man"
#define DEFAULT_REL_MANDIR "man"
#define DEFAULT_EXP_INCLUDEDIR DEFAULT_PREFIX "/include/brigade"
#define DEFAULT_REL_INCLUDEDIR "include"
#define DEFAULT_EXP_DATADIR DEFAULT_PREFIX "/share/brigade"
#define DEFAULT_REL_DATADIR ""
#define DEFAULT_EXP_INSTALLBUILDDIR DEFAULT_EXP_DATADIR "/build"
#define DEFAULT_REL_INSTALLBUILDDIR "build"
#define DEFAULT_EXP_ERRORDIR DEFAULT_EXP_DATADIR "/error"
#define DEFAULT_REL_ERRORDIR "error"
#define DEFAULT_EXP_ICONSDIR DEFAULT_EXP_DATADIR "/icons"
#define DEFAULT_REL_ICONSDIR "icons"
#define DEFAULT_EXP_HTDOCSDIR DEFAULT_EXP_DATADIR "/htdocs"
#define DEFAULT_REL_HTDOCSDIR "htdocs"
#define DEFAULT_EXP_MANUALDIR DEFAULT_EXP_DATADIR "/manual"
#define DEFAULT_REL_MANUALDIR "manual"
#define DEFAULT_EXP_CGIDIR DEFAULT_EXP_DATADIR "/cgi-bin"
#define DEFAULT_REL_CGIDIR "cgi-bin"
#define DEFAULT_EXP_PROXYCACHEDIR DEFAULT_EXP_LOCALSTATEDIR "/proxy"
#define DEFAULT_REL_PROXYCACHEDIR DEFAULT_REL_LOCALSTATEDIR "/proxy"

#endif
