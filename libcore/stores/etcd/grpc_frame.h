/* SPDX-License-Identifier: MIT */
/* grpc_frame.h -- the frames of gRPC's messages, and the texts of its status. */
#ifndef ILK__GRPC_FRAME_H
#define ILK__GRPC_FRAME_H

#include "base/buf.h"
#include "net/url_text.h"

enum {
    ILK__GRPC_HEAD = 5,
    ILK__GRPC_MOST = 8 * 1024 * 1024 /* bytes of a message, either way */
};

/* gRPC's status codes that are looked at. */
enum {
    ILK__GRPC_OK = 0,
    ILK__GRPC_CANCELLED = 1,
    ILK__GRPC_UNKNOWN = 2,
    ILK__GRPC_INVALID_ARGUMENT = 3,
    ILK__GRPC_DEADLINE_EXCEEDED = 4,
    ILK__GRPC_NOT_FOUND = 5,
    ILK__GRPC_PERMISSION_DENIED = 7,
    ILK__GRPC_RESOURCE_EXHAUSTED = 8,
    ILK__GRPC_FAILED_PRECONDITION = 9,
    ILK__GRPC_OUT_OF_RANGE = 11,
    ILK__GRPC_UNIMPLEMENTED = 12,
    ILK__GRPC_INTERNAL = 13,
    ILK__GRPC_UNAVAILABLE = 14,
    ILK__GRPC_UNAUTHENTICATED = 16
};

void ilk__grpc_frame_head(char out[ILK__GRPC_HEAD], size_t len);

/* The message at the front of `in`; the caller drops ILK__GRPC_HEAD + out->len
 * bytes when it is done with it. ILK_OK; ILK_EAGAIN: it is not complete;
 * ILK_EREPLY: it is compressed, or too long. */
ilk_status ilk__grpc_frame_first(const ilk__buf *in, ilk__span *out,
                                 ilk_error *err);

/* Decode the %xx of a grpc-message; other '%' stay. The text is cut at `room` and
 * gets a NUL. Control characters become '?'. */
void ilk__grpc_decode_message(char *out, size_t room, ilk__span text);

/* "UNAVAILABLE" */
const char *ilk__grpc_code_name(int code);

#endif
