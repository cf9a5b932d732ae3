/* SPDX-License-Identifier: MIT */
/* resp.h -- writes replies and messages as RESP. */
#ifndef ILK__RESP_H
#define ILK__RESP_H

#include "base/buf.h"
#include "net/url_text.h"
#include "redis/reply.h"

#include <stdarg.h>

/* Append formatted text, of 255 bytes at most. ILK_ENOMEM. */
ilk_status ilk__resp_add(ilk__buf *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
ilk_status ilk__resp_add_args(ilk__buf *out, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Append a string. ILK_ENOMEM. */
ilk_status ilk__resp_add_bytes(ilk__buf *out, ilk__span bytes);
/* Append a reply as it was received. ILK_ENOMEM. */
ilk_status ilk__resp_add_reply(ilk__buf *out, const ilk__reply *reply);

#endif
