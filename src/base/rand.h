/* SPDX-License-Identifier: MIT
 *
 * base/rand.h - the only place that asks the kernel for randomness.
 */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

/* Unpredictable bytes; never fails (it would rather end the process than give weak ones). */
void tr_random_bytes(void *out, size_t len);
uint64_t tr_random_u64(void);

/* Even over 0 … below-1; `below` is not 0. For jitter. */
uint64_t tr_random_below(uint64_t below);

/* Tests make it repeatable: a splitmix64 stream from `seed`. tr_random_restore() ends that. Never
 * call it in a program. */
void tr_random_seed_for_tests(uint64_t seed);
void tr_random_restore(void);

#endif
