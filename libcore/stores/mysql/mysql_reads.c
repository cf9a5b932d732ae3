/* SPDX-License-Identifier: MIT */
/* mysql_reads.c -- lets what the client library reads pass through a check. */
#include "mysql_reads.h"

#include "base/clock.h"

#include <string.h>
#include <sys/socket.h>

enum {
    IS_WRITE = 1,
    /* No length of a field that fits a frame begins with it, and no number of a frame
     * of a result that fits our limits. */
    UNREADABLE = 0xfe
};

/* It is exported, and in a header that programs cannot include. */
typedef void ilk__mysql_noted(int mode, MYSQL *mysql,
                              const unsigned char *bytes, size_t len);
extern int ma_pvio_register_callback(my_bool begins, ilk__mysql_noted *noted);

static _Thread_local struct {
    MYSQL *mysql;
    ilk__mysql_frames *frames;
    int64_t until;
} checked;

/* The bytes that the socket has received are gone, too; after shutdown() they would be
 * there. */
static void disconnect(MYSQL *mysql)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    const my_socket fd = mysql_get_socket(mysql);

    if (connect(fd, &none, sizeof none) != 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* The bytes are in memory of the library, which hands them out as constant. */
static void make_unreadable(const unsigned char *bytes, size_t len)
{
    memset((unsigned char *)(uintptr_t)bytes, UNREADABLE, len);
}

static void noted(int mode, MYSQL *mysql, const unsigned char *bytes,
                  size_t len)
{
    ilk__mysql_frames *frames = checked.frames;
    size_t good;

    if (!frames || checked.mysql != mysql || len > SIZE_MAX / 2)
        return; /* of another program, or an error */
    if (mode == IS_WRITE) {
        ilk__mysql_frames_sent(frames, bytes, len);
        return;
    }
    good = ilk__mysql_frames_received(frames, bytes, len);
    if (good < len || ilk__now_ms() >= checked.until) {
        make_unreadable(bytes + good, len - good);
        disconnect(mysql);
    }
}

int ilk__mysql_reads_begin(void)
{
    return ma_pvio_register_callback(1, noted) == 0;
}

void ilk__mysql_reads_check(MYSQL *mysql, ilk__mysql_frames *frames,
                            int64_t until)
{
    checked.mysql = mysql;
    checked.frames = frames;
    checked.until = until;
}

void ilk__mysql_reads_left(void)
{
    checked.frames = NULL;
}
