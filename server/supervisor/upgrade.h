/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_SUPERVISOR_UPGRADE_H
#define BRIGADE_SUPERVISOR_UPGRADE_H

/**
 * @file upgrade.h
 * Another program takes the place of the running one (upgrade.c has the order of steps). Threads: main.
 */
#include "httpd.h"

/** Before anything else: should this program, which is to take another one's place, not come to upgrade_begin(), then the other
 * one goes on. @param argv  as main() has it (upgrade.c) */
void upgrade_first(const char *const *argv);

/** Another program's place is taken, if it left a handover; else it is found out which program an upgrade would start.
 * Before any configuration is read, once the arguments are those of a server. (upgrade.c) */
void upgrade_begin(process_rec *process);

/** -t went well: say to the program that asked that this one could take over from it. */
void upgrade_checked(void);

/** This program took another's place, at any time. */
int upgrade_took_over(void);

/** It did, and there is no program to go back to. */
int upgrade_is_last(void);

/** From on = 1 to on = 0 a configuration is read in place while server processes serve: if that ends the program, by a crash or
 * exit(), then this program begins anew in the same process, and its server processes stay. */
void upgrade_reads(int on);

/** Between two generations: become the program that upgrade_check() found good, if that was asked for. Returns if it was not,
 * or could not be done. */
void upgrade_if_asked(process_rec *process);

#endif
