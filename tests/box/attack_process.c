/* SPDX-License-Identifier: MIT
 *
 * attack_process.c - more processes than allowed, processes that outlive their parent, processes
 * that hide what they use.
 */
#include "attacker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Counts processes across fork; the ceiling keeps a box without limits from taking the machine. */
static atomic_int *shared_counter(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void count_or_give_up(atomic_int *count)
{
    if (atomic_fetch_add(count, 1) < MANY_PROCESSES)
        return;
    escaped("%d processes and nothing stopped them", (int)MANY_PROCESSES);
    kill(0, SIGKILL);
    _exit(1);
}

static int fork_bomb(char **args)
{
    (void)args;
    atomic_int *count = shared_counter();
    for (;;)
        if (fork() == 0)
            count_or_give_up(count);
    return 0;
}

/* Uses no CPU once the limit is reached: only a wall clock can end it. */
static int fork_bomb_quiet(char **args)
{
    (void)args;
    atomic_int *count = shared_counter();
    for (;;) {
        pid_t pid = fork();
        if (pid < 0)
            sleep_forever();
        if (pid == 0)
            count_or_give_up(count);
    }
}

static void become_daemon(void)
{
    if (fork() != 0)
        _exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int s = 1; s < 32; s++)
        signal(s, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0);
    sleep_forever();
}

static void start_daemons(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0)
            become_daemon();
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
}

static int daemons_and_sleep(char **args)
{
    start_daemons((int)number_arg(args, 0, 10));
    sleep_forever();
}

static int daemons_and_exit(char **args)
{
    start_daemons((int)number_arg(args, 0, 10));
    say("42");
    return 0;
}

static int answer_leave_children(char **args)
{
    int n = (int)number_arg(args, 0, 100), made = 0;
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0)
            sleep_forever();
        made += pid > 0;
    }
    say("42 children %d", made);
    return 0;
}

static int child_holds_stdout(char **args)
{
    (void)args;
    if (fork() == 0) {
        setsid();
        sleep_forever();
    }
    say("42");
    return 0;
}

/* The child goes on writing when its parent is judged. */
static int child_writes_on(char **args)
{
    (void)args;
    if (fork() == 0) {
        setsid();
        for (;;)
            say("late");
    }
    say("42");
    return 0;
}

static int child_burns(char **args)
{
    (void)args;
    pid_t pid = fork();
    if (pid == 0)
        spin_forever();
    waitpid(pid, NULL, 0);
    return 0;
}

/* Orphaned at once and never waited for by its parent: wait4() of the parent shows nothing. */
static int orphan_burns(char **args)
{
    (void)args;
    signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        if (fork() == 0) {
            setsid();
            spin_forever();
        }
        _exit(0);
    }
    sleep_forever();
}

/* All the work is done in children of one millisecond: a poll of /proc never sees the same one. */
static int short_children_burn(char **args)
{
    (void)args;
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            spin_us(1000);
            _exit(0);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
}

static int vfork_child_burns(char **args)
{
    (void)args;
    long pid = syscall(SYS_vfork);
    if (pid == 0)
        spin_forever();
    return 0;
}

static int vfork_child_stops(char **args)
{
    (void)args;
    long pid = syscall(SYS_vfork);
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(0);
    }
    return 0;
}

/* A comet: each process forks its successor and dies, so that whoever kills always comes late. */
static int comets(char **args)
{
    int n = (int)number_arg(args, 0, 4);
    for (int i = 0; i < n; i++) {
        if (fork() != 0)
            continue;
        setsid();
        for (;;) {
            pid_t pid = fork();
            if (pid > 0)
                _exit(0);
        }
    }
    if (args[0] && args[1])
        sleep_forever();
    say("42");
    return 0;
}

static void *rest(void *arg)
{
    (void)arg;
    sleep_forever();
}

static void *burn(void *arg)
{
    (void)arg;
    spin_forever();
}

static int thread_bomb(char **args)
{
    (void)args;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (int i = 0;; i++) {
        pthread_t t;
        if (i > MANY_PROCESSES) {
            escaped("%d threads and nothing stopped them", i);
            return 1;
        }
        if (pthread_create(&t, &attr, rest, NULL) != 0) {
            say("stopped at %d threads", i);
            abort();
        }
    }
}

static int eight_threads(char **args)
{
    (void)args;
    for (int i = 0; i < 8; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, burn, NULL) != 0)
            return 3;
    }
    sleep_forever();
}

/* The first thread is gone, a zombie to all who look at the pid; another one goes on. */
static int leader_gone(char **args)
{
    pthread_t t;
    if (pthread_create(&t, NULL, args[0] ? rest : burn, NULL) != 0)
        return 3;
    pthread_exit(NULL);
}

static void *exec_noop(void *arg)
{
    (void)arg;
    execl("./a", "a", "raise_signal", "from-thread", "10", (char *)NULL);
    _exit(4);
}

/* exec from a second thread changes which task owns the pid. */
static int thread_exec(char **args)
{
    (void)args;
    pthread_t t;
    if (pthread_create(&t, NULL, exec_noop, NULL) != 0)
        return 3;
    sleep_forever();
}

static int zombies(char **args)
{
    (void)args;
    int made = 0, refused = 0;
    for (int i = 0; i < 3000; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        made += pid > 0;
        if (pid < 0 && ++refused > 5)
            break;
    }
    signal(SIGCHLD, SIG_IGN);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    for (int i = 0; i < 300; i++)
        if (fork() == 0)
            _exit(0);
    say("42 zombies %d", made);
    return 0;
}

static int exec_storm(char **args)
{
    (void)args;
    for (;;) {
        pid_t pid = vfork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            execl("./a", "a", "noop", "storm", (char *)NULL);
            _exit(127);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
}

/* The process itself never ends and is never the same program for long. */
static int exec_self_forever(char **args)
{
    (void)args;
    execl("./a", "a", "exec_self_forever", "again", (char *)NULL);
    return 5;
}

/* CLONE_PARENT makes the child a child of our parent: whoever waits for "a child" there may take
 * its exit for ours. args[0] is the exit code of the impostor, args[1] ours. */
static int clone_parent(char **args)
{
    int theirs = (int)number_arg(args, 0, 0), ours = (int)number_arg(args, 1, 7);
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(theirs);
    say("impostor %s", pid > 0 ? "started" : strerror(errno));
    sleep_ms(30);
    return ours;
}

/* The same with an unusual or no exit signal, and untraced. */
static int clone_quiet(char **args)
{
    (void)args;
    static const long flags[] = {CLONE_PARENT, CLONE_PARENT | SIGUSR1, CLONE_UNTRACED,
                                 CLONE_PARENT | CLONE_UNTRACED | SIGKILL, 0};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (syscall(SYS_clone, flags[i], 0, 0, 0, 0) == 0)
            sleep_forever();
    say("42");
    return 0;
}

/* Names and states that break a careless reader of /proc/PID/stat. */
static int evil_name(char **args)
{
    (void)args;
    for (int i = 0; i < 5; i++)
        if (fork() == 0) {
            prctl(PR_SET_NAME, "x) Z 0 0 0 (\n");
            setsid();
            sleep_forever();
        }
    prctl(PR_SET_NAME, "a) R 1\n1 1");
    say("42");
    return 0;
}

/* Another box with the same uid must not use up this one's processes. */
static int can_fork(char **args)
{
    int want = (int)number_arg(args, 0, 20), made = 0;
    for (int i = 0; i < want; i++) {
        pid_t pid = fork();
        if (pid == 0)
            sleep_forever();
        made += pid > 0;
        sleep_ms(5);
    }
    say("forked %d", made);
    return made == want ? 0 : 1;
}

const struct attack attacks_process[] = {
    {"fork_bomb", fork_bomb, "forks for ever, every process burning CPU"},
    {"fork_bomb_quiet", fork_bomb_quiet, "forks up to the limit, then sleeps"},
    {"daemons_and_sleep", daemons_and_sleep, "double-forked daemons that ignore signals"},
    {"daemons_and_exit", daemons_and_exit, "the same, and the parent is done"},
    {"answer_leave_children", answer_leave_children, "right answer, a hundred sleeping children"},
    {"child_holds_stdout", child_holds_stdout, "a child keeps stdout open"},
    {"child_writes_on", child_writes_on, "a child writes after the verdict"},
    {"child_burns", child_burns, "CPU in a child while the parent waits"},
    {"orphan_burns", orphan_burns, "CPU in an orphan nobody waits for"},
    {"short_children_burn", short_children_burn, "CPU in children of one millisecond"},
    {"vfork_child_burns", vfork_child_burns, "CPU below a parent blocked in vfork"},
    {"vfork_child_stops", vfork_child_stops, "a stopped child below a parent blocked in vfork"},
    {"comets", comets, "processes that fork and die faster than a kill"},
    {"thread_bomb", thread_bomb, "threads until it fails"},
    {"eight_threads", eight_threads, "eight threads share one CPU limit"},
    {"leader_gone", leader_gone, "the first thread exits, another goes on"},
    {"thread_exec", thread_exec, "a second thread calls exec"},
    {"zombies", zombies, "thousands of children nobody waits for"},
    {"exec_storm", exec_storm, "vfork and exec for ever"},
    {"exec_self_forever", exec_self_forever, "execs itself for ever"},
    {"clone_parent", clone_parent, "an impostor child of the supervisor"},
    {"clone_quiet", clone_quiet, "children without an exit signal"},
    {"evil_name", evil_name, "process names that break parsers"},
    {"can_fork", can_fork, "whether its own share of processes is there"},
    {NULL, NULL, NULL},
};
