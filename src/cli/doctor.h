/* SPDX-License-Identifier: MIT
 *
 * cli/doctor.h - rows of `tribunal doctor` that come from other parts than the box.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "tribunal/box.h"

/* A row for each language: its version as seen from inside the box, or what to install. */
int doctor_langs(struct tbox_probe_row *rows, size_t max, struct tr_err *err);

#endif
