/* SPDX-License-Identifier: MIT */
/* buf.h -- a byte buffer that grows at the end and is consumed at the front. */
#ifndef ILK__BUF_H
#define ILK__BUF_H

#include "error.h"

typedef struct ilk__buf {
    char *data;
    size_t start, end, room; /* data[start..end) is the content */
} ilk__buf;

ilk_status ilk__buf_add(ilk__buf *buf, const void *data, size_t len);
/* Room for len bytes at the end, or NULL. The caller writes into it and passes
 * the number of bytes written to ilk__buf_grew(). */
char *ilk__buf_reserve(ilk__buf *buf, size_t len);
void ilk__buf_grew(ilk__buf *buf, size_t len);
void ilk__buf_drop(ilk__buf *buf, size_t len); /* drop from the front */
size_t ilk__buf_len(const ilk__buf *buf);
const char *ilk__buf_data(const ilk__buf *buf);
void ilk__buf_free(ilk__buf *buf);

#endif
