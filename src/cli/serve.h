/* SPDX-License-Identifier: MIT
 *
 * cli/serve.h - the parts of `tribunal serve`.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

/* --demo: submit right and wrong solutions of the example problems for ever. Never returns; runs in
 * a process of its own. */
_Noreturn void serve_demo(const char *server, const char *key, const char *examples);

#endif
