/* SPDX-License-Identifier: MIT */
/*
 * http_frames.h -- counts the frames of HTTP/2 that bring no data of a call.
 *
 * nghttp2 reads the frames themselves. It limits some kinds, and lets others pass in
 * any number: unknown ones, answers to pings, windows of streams that have ended.
 */
#ifndef ILK__HTTP_FRAMES_H
#define ILK__HTTP_FRAMES_H

#include "net/url_text.h"

enum { ILK__HTTP_FRAME_HEAD = 9 };

/* All zero at the beginning of a connection. */
typedef struct ilk__http_frames {
    unsigned char head[ILK__HTTP_FRAME_HEAD];
    size_t head_len;
    size_t left; /* bytes of the frame */
} ilk__http_frames;

/* How many frames begin in the next bytes of the connection, but for DATA frames with
 * bytes enough for the head of a message. */
size_t ilk__http_frames_idle(ilk__http_frames *self, ilk__span bytes);

#endif
