/* SPDX-License-Identifier: MIT */
/**
 * @file server.h
 * The embedded server: its status, and stopping it.
 *
 * A client opened on `embedded://` starts a private redis-server or
 * valkey-server if none runs; all processes of the user share it. When the last
 * client closes, or the last process with a client ends in whatever way, the
 * server saves its data and stops; the next start loads it.
 */
#ifndef INTERLOCK_SERVER_H
#define INTERLOCK_SERVER_H

#include "base.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** The status of an embedded server. */
typedef struct ilk_server_info {
    size_t size;       /**< set by the caller to sizeof */
    int32_t running;   /**< 1 when it runs */
    int32_t pid;       /**< its process, 0 when it does not run */
    char dir[256];     /**< its directory */
    char socket[256];  /**< its socket */
    char program[256]; /**< the program that is or would be started */
} ilk_server_info;

/**
 * Read the status of a directory's embedded server.
 *
 * @param url        `embedded://` or `embedded:///dir`; NULL for the first
 * @param[out] info  filled; set info->size to sizeof *info before the call
 * @param[out] err   may be NULL
 * @return ILK_OK, also when none runs; ILK_EINVAL, ILK_ESYSTEM
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_server_status(const char *url, ilk_server_info *info,
                                     ilk_error *err);

/**
 * Save and stop the embedded server of a directory.
 *
 * @param url         as in ilk_server_status()
 * @param timeout_ms  milliseconds to wait for its end; -1 for ever
 * @param[out] err    may be NULL
 * @return ILK_OK, also when none ran; ILK_ETIMEOUT, ILK_EINVAL, ILK_ESYSTEM
 * Threads: any thread. Blocks: at most timeout_ms. Since: 0.1
 */
ILK_API ilk_status ilk_server_stop(const char *url, int64_t timeout_ms,
                                   ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
