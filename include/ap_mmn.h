/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APACHE_AP_MMN_H
#define APACHE_AP_MMN_H

/**
 * @file ap_mmn.h
 * Version of the module interface: the one of Apache HTTP Server 2.4.71. A module binary loads if its major
 * number is equal; a greater minor number adds without breaking.
 */
/** Marks a module of this interface. */
#define MODULE_MAGIC_COOKIE 0x41503234UL

#ifndef MODULE_MAGIC_NUMBER_MAJOR
/** Changes where old modules cannot be loaded any more. */
#define MODULE_MAGIC_NUMBER_MAJOR 20120211
#endif
/** Grows where something was added. */
#define MODULE_MAGIC_NUMBER_MINOR 142

/** For #if: is the interface at least this version? */
#define AP_MODULE_MAGIC_AT_LEAST(major, minor) \
    ((major) < MODULE_MAGIC_NUMBER_MAJOR \
     || ((major) == MODULE_MAGIC_NUMBER_MAJOR && (minor) <= MODULE_MAGIC_NUMBER_MINOR))

/* Old spellings; the second was never right and does not compile. */
#define MODULE_MAGIC_NUMBER MODULE_MAGIC_NUMBER_MAJOR
#define MODULE_MAGIC_AT_LEAST old_broken_macro_we_hope_you_are_not_using

#endif
