/* SPDX-License-Identifier: MIT
 *
 * probe.c - what this host gives a box: each thing tried, not guessed.
 */
#include "box/container.h"

int box_probe_main(int sock)
{
    (void)sock;
    return 3;
}
