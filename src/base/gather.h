/* SPDX-License-Identifier: MIT
 *
 * base/gather.h - operations of one kind, brought together.
 */
#ifndef BASE_GATHER_H
#define BASE_GATHER_H

#include <stddef.h>

/* A function that does several operations at once stands for their kind; NULL: goes alone. */
typedef void (*tr_kind)(void);

/* Of ops[0…n), move those that are of the first one's kind to the front; how many that are. The
 * order is kept otherwise, and none passes an operation that goes alone. */
size_t tr_gather(void **ops, size_t n, tr_kind (*kind)(const void *op));

#endif
