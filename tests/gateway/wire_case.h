/* SPDX-License-Identifier: MIT */
/* wire_case.h -- a gateway without a client: its bytes. */
#ifndef ILK__WIRE_CASE_H
#define ILK__WIRE_CASE_H

#include "gateway/gateway.h"

typedef struct wire {
    ilk__gateway *gateway;
    ilk__url url;
    int fd; /* its first connection; reads block for 5 seconds at most */
} wire;

void wire_open(wire *self, const char *url);
void wire_connect(wire *self, int *out_fd); /* one more */
void wire_close(wire *self);

void wire_put(const wire *self, const char *text);
/* It receives exactly this. */
void wire_receives(const wire *self, const char *text);
void wire_is_closed(const wire *self);

/* Call a script of the lock "wire" with these arguments; the last one is NULL. */
void wire_call(int fd, int script, size_t key_count, const char *const *args);
void wire_answer(int fd); /* some */

#endif
