/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIGADE_PROCESS_AMBIENT_H
#define BRIGADE_PROCESS_AMBIENT_H

/**
 * @file ambient.h
 * Capabilities that a service manager gave a server that is not root (AmbientCapabilities=CAP_NET_BIND_SERVICE): it keeps them
 * for itself. Programs that it starts do not get them, but for the one that takes its place. Threads: main. Source:
 * capabilities(7).
 */

/** At the start: from now on programs get none. */
void ambient_begin(void);

/** The next program gets them (@a on = 1), or does not (0). */
void ambient_pass_on(int on);

#endif
