/* SPDX-License-Identifier: MIT
 *
 * controller/door.h - who may come in without a key, where --open-loopback allows it.
 */
#ifndef CONTROLLER_DOOR_H
#define CONTROLLER_DOOR_H

#include <stdbool.h>

struct conn;

/* Is the request that has just come in from a person on this machine? While its headers are there:
 * in the HTTP and FILTER_PROTOCOL_CONNECTION callbacks. */
bool door_open(const struct conn *c);

#endif
