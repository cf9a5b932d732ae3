/* SPDX-License-Identifier: MIT */
/* embedded_stop.h -- saves and stops the server of a directory. */
#ifndef ILK__EMBEDDED_STOP_H
#define ILK__EMBEDDED_STOP_H

#include "embedded_home.h"

/*
 * Send SHUTDOWN and wait until the server has ended. The caller holds `lock`.
 * 0, also when no server runs; ETIMEDOUT; EPERM when the server refuses: `line`
 * is its reply then. Async-signal-safe, for a process that was forked.
 */
int ilk__embedded_shutdown(const ilk__home *home, int64_t deadline, char *line,
                           size_t size);

/* The same with an error text: ILK_ETIMEOUT; ILK_ESYSTEM when the server
 * refuses, for instance because it cannot save. */
ilk_status ilk__embedded_stop(const ilk__home *home, int64_t deadline,
                              ilk_error *err);

#endif
