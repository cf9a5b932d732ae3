/* SPDX-License-Identifier: MIT */
/**
 * @file log.h
 * The library's log: what happens to connections, leases and the embedded
 * server, one line each. No line contains a password or a token.
 *
 * Lines go to standard error as the environment's INTERLOCK_LOG allows, and
 * to a callback of the program.
 */
#ifndef INTERLOCK_LOG_H
#define INTERLOCK_LOG_H

#include "base.h"

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** How grave a line is; a smaller number is graver. */
typedef enum ilk_log_level {
    ILK_LOG_OFF = 0,   /**< no line has this level */
    ILK_LOG_ERROR = 1, /**< something cannot work */
    ILK_LOG_WARN = 2,  /**< something was lost, or will be */
    ILK_LOG_INFO = 3,  /**< connections, the embedded server */
    ILK_LOG_DEBUG = 4  /**< everything */
} ilk_log_level;

/**
 * Receives the lines of the log. It is called in the thread that writes the
 * line: the keeper of a client, or a thread that called the library. The
 * library may hold mutexes meanwhile, so the callback must not call the
 * library and must not wait for a thread that does; it should queue the
 * line and return.
 *
 * user: what was given with the callback. level: an ilk_log_level. text: one
 * line without a line break, control bytes escaped, valid during the call.
 */
typedef void (*ilk_log_callback)(void *user, int32_t level, const char *text);

/**
 * Set the process' callback for lines of this level and graver ones. It takes
 * the place of the one before; NULL removes it. A call of the former callback
 * in another thread may still be running when this function returns, so its
 * `user` must stay valid.
 *
 * @param callback  receives the lines; NULL for none
 * @param user      passed to the callback; may be NULL
 * @param level     ILK_LOG_ERROR to ILK_LOG_DEBUG
 * @param[out] err  may be NULL
 * @return ILK_OK; ILK_EINVAL for another level, ILK_ENOMEM
 * Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API ilk_status ilk_log_set_callback(ilk_log_callback callback, void *user,
                                        int32_t level, ilk_error *err);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
