/* SPDX-License-Identifier: MIT */
/* http_frames.c -- counts the frames of HTTP/2 that bring no data of a call. */
#include "http_frames.h"

enum { DATA = 0, LEAST = 5 /* the head of a message of gRPC */ };

static size_t begin(ilk__http_frames *self)
{
    self->left = (size_t)self->head[0] << 16 | (size_t)self->head[1] << 8
                 | self->head[2];
    self->head_len = 0;
    return self->head[3] != DATA || self->left < LEAST;
}

size_t ilk__http_frames_idle(ilk__http_frames *self, ilk__span bytes)
{
    size_t idle = 0, skipped;

    while (bytes.len) {
        skipped = self->left < bytes.len ? self->left : bytes.len;
        self->left -= skipped;
        bytes.at += skipped;
        bytes.len -= skipped;
        if (!bytes.len)
            break;
        self->head[self->head_len++] = (unsigned char)*bytes.at++;
        bytes.len--;
        if (self->head_len == ILK__HTTP_FRAME_HEAD)
            idle += begin(self);
    }
    return idle;
}
