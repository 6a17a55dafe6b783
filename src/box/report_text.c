/* SPDX-License-Identifier: MIT
 *
 * report_text.c - the words of a report, and its JSON.
 *
 * The note is ours but may quote a path of the spec one day: it is escaped like any foreign text.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tribunal/box.h"

const char *tbox_cause_name(enum tbox_cause cause)
{
    static const char *const names[] = {
        [TBOX_EXIT] = "exit",     [TBOX_SIGNAL] = "signal", [TBOX_SYSCALL] = "syscall",
        [TBOX_FILES] = "files",   [TBOX_WALL] = "wall",     [TBOX_CPU] = "cpu",
        [TBOX_OUTPUT] = "output", [TBOX_MEMORY] = "memory", [TBOX_CANCEL] = "cancel"};

    return (size_t)cause < TR_ARRAY_LEN(names) ? names[cause] : "unknown";
}

const char *tbox_cgroup_name(enum tbox_cgroup mode)
{
    static const char *const names[] = {[TBOX_CGROUP_AUTO] = "auto",
                                        [TBOX_CGROUP_V2] = "v2",
                                        [TBOX_CGROUP_V1] = "v1",
                                        [TBOX_CGROUP_HYBRID] = "hybrid",
                                        [TBOX_CGROUP_NONE] = "none"};

    return (size_t)mode < TR_ARRAY_LEN(names) ? names[mode] : "unknown";
}

const char *tbox_signal_name(int signal)
{
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",       [SIGQUIT] = "SIGQUIT",
        [SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP",     [SIGABRT] = "SIGABRT",
        [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",       [SIGKILL] = "SIGKILL",
        [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV",     [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM",     [SIGTERM] = "SIGTERM",
        [SIGCHLD] = "SIGCHLD", [SIGXCPU] = "SIGXCPU",     [SIGXFSZ] = "SIGXFSZ",
        [SIGPROF] = "SIGPROF", [SIGVTALRM] = "SIGVTALRM", [SIGSYS] = "SIGSYS"};

    if (signal == 0)
        return "";
    if (signal > 0 && (size_t)signal < TR_ARRAY_LEN(names) && names[signal])
        return names[signal];
    return "other";
}

/* JSON text of `s` without its quotes; what does not fit is cut between characters. */
static void escape(const char *s, char *out, size_t size)
{
    size_t at = 0;

    for (; *s && at + 7 < size; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\') {
            out[at++] = '\\';
            out[at++] = (char)c;
        } else if (c < 0x20 || c >= 0x7f) {
            at += (size_t)snprintf(out + at, size - at, "\\u%04x", c);
        } else {
            out[at++] = (char)c;
        }
    }
    out[at] = 0;
}

size_t tbox_report_json(const struct tbox_report *r, char *out, size_t size)
{
    char note[sizeof(r->note) * 2];

    escape(r->note, note, sizeof(note));
    int n =
        snprintf(out, size,
                 "{\"cause\":\"%s\",\"exit\":%d,\"signal\":%d,\"signal_name\":\"%s\","
                 "\"cpu_us\":%" PRId64 ",\"user_us\":%" PRId64 ",\"system_us\":%" PRId64
                 ",\"wall_us\":%" PRId64 ",\"idle_us\":%" PRId64 ",\"memory_kib\":%" PRIu64
                 ",\"pids_peak\":%" PRIu32 ",\"written_bytes\":%" PRIu64 ",\"killed\":%" PRIu32
                 ",\"renewed\":%s,\"cgroup\":\"%s\",\"userns\":%s,"
                 "\"disturbance\":{\"steal_us\":%" PRId64 ",\"throttled_us\":%" PRId64
                 ",\"pressure_us\":%" PRId64 "},\"note\":\"%s\"}",
                 tbox_cause_name(r->cause), r->exit_code, r->signal, tbox_signal_name(r->signal),
                 r->cpu_us, r->user_us, r->system_us, r->wall_us, r->idle_us,
                 (r->memory_bytes + 1023) / 1024, r->pids_peak, r->written_bytes, r->killed,
                 r->renewed ? "true" : "false", tbox_cgroup_name(r->cgroup),
                 r->userns ? "true" : "false", r->steal_us, r->throttled_us, r->pressure_us, note);
    return n < 0 ? 0 : (size_t)n;
}
