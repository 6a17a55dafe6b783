/* SPDX-License-Identifier: MIT
 *
 * box/wire.h - the messages between the library, the helper and the container's first process.
 *
 * Fixed structs of one machine and one version over SOCK_SEQPACKET, descriptors beside them. No
 * text is parsed on the privileged side. Both ends treat what they read as hostile: kind, version,
 * size and every number are checked by the readers in spec.c and report.c, which are fuzzed.
 */
#ifndef BOX_WIRE_H
#define BOX_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tribunal/box.h"

enum {
    BOX_WIRE_VERSION = 2,
    /* Arguments and environment with their NULs. Fits a default socket buffer with room. */
    BOX_STRINGS_MAX = 128 * 1024,
    BOX_ARGS_MAX = 16384,
    BOX_NAME_MAX = 256,
    BOX_WIRE_FDS = 3
};

#define BOX_WIRE_MAGIC 0x786f6274U /* "tbox" */

enum box_kind {
    BOX_RUN = 1, /* library -> first process: box_wire_spec + strings, 3 descriptors */
    BOX_KILL,    /* library -> first process: end the run, the reason in `arg` (enum tbox_cause) */
    BOX_PUT,     /* library -> first process: box_wire_name, 1 descriptor; `arg` is the mode */
    BOX_GET,     /* library -> first process: box_wire_name; `arg` is the size ceiling */
    BOX_CLEAN,   /* library -> first process: empty the work folders now */
    BOX_REPORT,  /* first process -> library: box_wire_report */
    BOX_DONE,    /* anybody's answer to the rest: box_wire_done (+ 1 descriptor) */
    BOX_RENEW,   /* library -> helper: a new container; the answer carries its socket */
    BOX_ROW,     /* helper -> library, probing: struct tbox_probe_row */
    BOX_IDLE,    /* first process -> library while it runs: waiting since `arg` (CLOCK_MONOTONIC,
                  * microseconds), or 0: no longer */
    BOX_URGENT   /* first process -> helper: real-time priority, please */
};

struct box_wire_head {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t size; /* of the whole message */
    uint32_t zero;
    uint64_t arg;
};

struct box_wire_spec {
    struct box_wire_head head;
    int64_t cpu_us;
    int64_t wall_us;
    uint64_t memory_bytes;
    uint64_t stack_bytes;
    uint64_t output_bytes;
    uint64_t file_bytes;
    uint32_t pids;
    uint32_t open_files;
    int64_t idle_us; /* 0: not asked for */
    int32_t cpu;
    uint32_t flags;
    uint32_t argc;
    uint32_t envc;
    uint32_t strings_len;
    uint32_t zero;
    /* strings_len bytes follow: argc + envc strings, each closed by a NUL */
};

struct box_wire_name {
    struct box_wire_head head;
    char name[BOX_NAME_MAX];
};

struct box_wire_done {
    struct box_wire_head head;
    int32_t code; /* TR_E_* or 0 */
    int32_t sys;
    uint64_t value;
    uint32_t cgroup; /* of the container, in the answer to BOX_RENEW */
    uint32_t userns; /* bit 0: it has a user namespace; bit 1: the program has a uid of its own */
    char msg[TR_ERR_MSG_MAX];
};

/* What the first process saw. The library adds what it saw itself (output, disturbance). */
struct box_wire_report {
    struct box_wire_head head;
    int32_t status;    /* as wait4 gave it, of the program's first process */
    uint32_t ended_by; /* enum tbox_cause: what the watcher acted on; TBOX_EXIT: nothing */
    int64_t cpu_us;
    int64_t user_us;
    int64_t system_us;
    int64_t wall_us;
    int64_t ended_us;
    uint64_t memory_bytes;
    int64_t throttled_us;
    int64_t pressure_us;
    uint32_t oom_kills;
    uint32_t pids_peak;
    uint32_t killed;
    uint32_t files_full;   /* a file stands at its ceiling */
    uint32_t container_ok; /* 0: throw the container away */
    uint32_t zero;
    char note[160];
};

/* Receive buffer of the first process: the largest legal message. */
union box_wire_any {
    struct box_wire_head head;
    struct box_wire_name name;
    struct box_wire_spec spec;
    char bytes[sizeof(struct box_wire_spec) + BOX_STRINGS_MAX];
};

void box_wire_head(struct box_wire_head *h, enum box_kind kind, size_t size, uint64_t arg);

/* magic, version, size == len, kind. 0 or TR_E_PARSE. */
int box_wire_check(const void *msg, size_t len, enum box_kind kind, size_t least,
                   struct tr_err *err);

/* One message with up to BOX_WIRE_FDS descriptors. TR_E_LOST when the peer is gone, TR_E_LIMIT when
 * it does not fit a message. */
int box_wire_send(int sock, const void *msg, size_t len, const int *fds, size_t nfds,
                  struct tr_err *err);

/* One message. Descriptors are CLOEXEC and belong to the caller; those that did not arrive are -1.
 * Returns the length; TR_E_LOST at end of file; TR_E_PARSE for a cut message or too many
 * descriptors (which are closed). With `flags` MSG_DONTWAIT: TR_E_RETRY when none is there. */
int64_t box_wire_recv(int sock, void *msg, size_t size, int fds[static BOX_WIRE_FDS], int flags,
                      struct tr_err *err);

/* Answer with a struct tr_err (code 0: success). */
int box_wire_reply(int sock, const struct tr_err *result, uint64_t value, int fd);

/* Turn an answer into an error; 0 or its code. */
int box_wire_result(const struct box_wire_done *done, size_t len, struct tr_err *err);

#endif
