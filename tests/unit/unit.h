/* SPDX-License-Identifier: MIT
 *
 * unit.h - cmocka, with what it needs before it.
 *
 * A test's name is the promise it checks. Tables have labelled rows: print the label before the
 * check, so that a failure names its row.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define ROW(label) print_message("# %s\n", (label))

#define RUN(tests) cmocka_run_group_tests(tests, NULL, NULL)

#endif
