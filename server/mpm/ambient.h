/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_MPM_AMBIENT_H
#define BRIGADE_MPM_AMBIENT_H

/**
 * @file ambient.h
 * Capabilities that a service manager gave a server that is not root
 * (AmbientCapabilities=CAP_NET_BIND_SERVICE): its supervisor keeps them. Server processes give them
 * up, and started programs do not get them, except the program that replaces this one. Threads:
 * main. Source: capabilities(7).
 */

/** At the start: from now on programs get none. */
void ambient_begin(void);

/**
 * Give them up for good, in a process that answers requests, and close its memory to other processes of the user.
 * @param dumps 1: core files are wanted, so the memory stays open. @return 0, or -1 with errno: the process still has them.
 */
int ambient_leave(int dumps);

/** The next program gets them (@a on = 1), or does not (0). */
void ambient_pass_on(int on);

#endif
