/* SPDX-License-Identifier: MIT */
/* grpc_frame.c -- the frames of gRPC's messages, and the texts of its status. */
#include "grpc_frame.h"

void ilk__grpc_frame_head(char out[ILK__GRPC_HEAD], size_t len)
{
    out[0] = 0; /* not compressed */
    out[1] = (char)(len >> 24 & 0xff);
    out[2] = (char)(len >> 16 & 0xff);
    out[3] = (char)(len >> 8 & 0xff);
    out[4] = (char)(len & 0xff);
}

ilk_status ilk__grpc_frame_first(const ilk__buf *in, ilk__span *out,
                                 ilk_error *err)
{
    const unsigned char *head = (const unsigned char *)ilk__buf_data(in);
    size_t len, have = ilk__buf_len(in);

    if (have < ILK__GRPC_HEAD)
        return ILK_EAGAIN;
    if (head[0] != 0)
        return ilk__fail(
            err, ILK_EREPLY,
            "etcd's answer is compressed, which no request allows");
    len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8
          | head[4];
    if (len > ILK__GRPC_MOST)
        return ilk__fail(err, ILK_EREPLY,
                         "etcd's answer has %zu bytes, at most %d are read; "
                         "narrow the range",
                         len, ILK__GRPC_MOST);
    if (have < ILK__GRPC_HEAD + len)
        return ILK_EAGAIN;
    *out = (ilk__span){(const char *)head + ILK__GRPC_HEAD, len};
    return ILK_OK;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

void ilk__grpc_decode_message(char *out, size_t room, ilk__span text)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len && len + 1 < room; i++) {
        char c = text.at[i];

        if (c == '%' && i + 2 < text.len && digit(text.at[i + 1]) >= 0
            && digit(text.at[i + 2]) >= 0) {
            c = (char)(digit(text.at[i + 1]) * 16 + digit(text.at[i + 2]));
            i += 2;
        }
        if ((unsigned char)c < ' ' || c == 0x7f)
            c = '?';
        out[len++] = c;
    }
    out[len] = '\0';
}

const char *ilk__grpc_code_name(int code)
{
    static const char *const names[] = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};

    if (code < 0 || (size_t)code >= sizeof names / sizeof names[0])
        return "an unknown status";
    return names[code];
}
