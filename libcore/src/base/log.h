/* SPDX-License-Identifier: MIT */
/*
 * log.h -- writes one line to standard error if the level in INTERLOCK_LOG
 * (off, error, warn, info, debug) allows it, and passes it to the program's
 * callback (ilk_log_set_callback). The default is off. No line may contain a
 * password or a token.
 */
#ifndef ILK__LOG_H
#define ILK__LOG_H

#include <interlock/log.h>

typedef enum ilk__log_level {
    ILK__LOG_OFF = ILK_LOG_OFF,
    ILK__LOG_ERROR = ILK_LOG_ERROR,
    ILK__LOG_WARN = ILK_LOG_WARN,
    ILK__LOG_INFO = ILK_LOG_INFO,
    ILK__LOG_DEBUG = ILK_LOG_DEBUG
} ilk__log_level;

void ilk__log(ilk__log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
