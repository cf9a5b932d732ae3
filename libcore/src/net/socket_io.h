/* SPDX-License-Identifier: MIT */
/* socket_io.h -- one system call to send or receive on a non-blocking socket. A
 * signal does not end it, and the thread is not cancelled in it. */
#ifndef ILK__SOCKET_IO_H
#define ILK__SOCKET_IO_H

#include <stddef.h>

/* 1: *out_sent bytes are sent, 0 when the socket accepts nothing now. 0: the
 * connection broke, and errno says why. */
int ilk__socket_send(int fd, const void *data, size_t len, size_t *out_sent);

typedef enum ilk__socket_end {
    ILK__SOCKET_BYTES,
    ILK__SOCKET_NOTHING, /* has come yet */
    ILK__SOCKET_CLOSED,  /* by the other side */
    ILK__SOCKET_BROKE    /* errno says why */
} ilk__socket_end;

ilk__socket_end ilk__socket_receive(int fd, void *out, size_t room,
                                    size_t *out_len);

#endif
