/* SPDX-License-Identifier: MIT */
/* embedded_stop.h -- saving and stopping the server of a directory. */
#ifndef ILK__EMBEDDED_STOP_H
#define ILK__EMBEDDED_STOP_H

#include "embedded_home.h"

/*
 * Ask the server to save and end, and wait until it has. The caller holds
 * `lock`. ILK_OK also when none runs; ILK_ETIMEOUT; ILK_ESYSTEM when the
 * server says that it cannot save.
 */
ilk_status ilk__embedded_stop(const ilk__home *home, int64_t deadline,
                              ilk_error *err);

#endif
