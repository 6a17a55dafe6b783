/* SPDX-License-Identifier: MIT
 *
 * notify.c - one datagram; no library is needed for that.
 */
#include "controller/notify.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"

void notify_say(const char *state)
{
    const char *path = secure_getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    if (!path || strlen(path) >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
        return;
    tr_autoclose int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(to.sun_path, path, strlen(path));
    if (*path == '@')
        to.sun_path[0] = '\0';
    if (fd >= 0)
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

void notify_alive(void)
{
    static int64_t every_us = -1, last_us;

    if (every_us < 0) {
        const char *text = secure_getenv("WATCHDOG_USEC");

        every_us = 0;
        if (text && tr_parse_i64(text, 1, INT64_MAX, &every_us, NULL) == 0)
            every_us /= 2;
    }
    int64_t now = tr_clock_mono_us();
    if (every_us > 0 && now - last_us >= every_us) {
        last_us = now;
        notify_say("WATCHDOG=1");
    }
}
