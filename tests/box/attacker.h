/* SPDX-License-Identifier: MIT
 *
 * attacker.h - what the files of the attacker share.
 *
 * The attacker is one static program with many hostile faces; the first argument chooses one. It
 * tells on stdout what it managed: a line that begins with ESCAPED is a hole, REACHED is a call
 * that the filter let through to the kernel (it failed there), HELD is a refusal, DIRTY is what an
 * honest program should never have met. The rows of rows.py read these lines.
 *
 * Every attack that grows has a ceiling of its own, so that a box without limits fails the test
 * and not the machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* args is what follows the marker on the command line, NULL-terminated. The result is the exit
 * code. */
typedef int attack_fn(char **args);

struct attack {
    const char *name;
    attack_fn *run;
    const char *tries;
};

/* Tables end with a row without a name. */
extern const struct attack attacks_honest[];
extern const struct attack attacks_process[];
extern const struct attack attacks_signal[];
extern const struct attack attacks_time[];
extern const struct attack attacks_memory[];
extern const struct attack attacks_kmem[];
extern const struct attack attacks_output[];
extern const struct attack attacks_files[];
extern const struct attack attacks_state[];
extern const struct attack attacks_reach[];
extern const struct attack attacks_syscall[];
extern const struct attack attacks_odd[];

/* Where a runaway attack gives up by itself and says that nothing stopped it. */
enum {
    MANY_PROCESSES = 600,
    MANY_FILES = 300000,
    MANY_MIB = 1024,
};

/* One line on stdout by one write(2): nothing is buffered, so forked children repeat nothing. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void escaped(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void held(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Judge the result of a call that must be refused: success is ESCAPED, EPERM, ENOSYS, EACCES and
 * EAFNOSUPPORT are HELD, any other errno is REACHED. Uses errno. Returns true when it succeeded. */
bool must_fail(const char *what, long result);

/* Same, for calls which may reach the kernel as long as they fail there. */
bool must_not_work(const char *what, long result);

/* Run fn in a forked child so that a filter that kills does not hide the attempts after it.
 * Returns the wait status, or -1 when there was no child. */
int in_child(attack_fn *fn, char **args);

/* Burn CPU of the calling thread. */
void spin_us(int64_t us);
int64_t cpu_now_us(void);
int64_t wall_now_us(void);
void sleep_ms(int64_t ms);
__attribute__((noreturn)) void spin_forever(void);
__attribute__((noreturn)) void sleep_forever(void);

/* Strict number of args[i], or fallback when there are fewer. */
int64_t number_arg(char **args, int i, int64_t fallback);

/* Text of a small file into buf (always terminated); length, or -1 with errno. */
ssize_t slurp(const char *path, char *buf, size_t size);
