/* SPDX-License-Identifier: MIT */
/* log.c -- writes lines to standard error, as INTERLOCK_LOG allows. */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 768, LINE_MAX_BYTES = 1024 };

static const char *const names[] = {
    [ILK__LOG_OFF] = "off",     [ILK__LOG_ERROR] = "error",
    [ILK__LOG_WARN] = "warn",   [ILK__LOG_INFO] = "info",
    [ILK__LOG_DEBUG] = "debug",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ilk__log_level wanted; /* written once, by read_level() */

static void write_line(ilk__log_level level, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    char line[LINE_MAX_BYTES];
    size_t n =
        (size_t)snprintf(line, sizeof line, "interlock: %s: ", names[level]);
    ssize_t sent;

    for (; *text != '\0' && n < sizeof line - 5; text++) {
        unsigned char c = (unsigned char)*text;

        if (c >= 0x20 && c != 0x7f) {
            line[n++] = (char)c;
            continue;
        }
        line[n++] = '\\';
        line[n++] = 'x';
        line[n++] = hex[c >> 4];
        line[n++] = hex[c & 15];
    }
    line[n++] = '\n';
    sent = write(STDERR_FILENO, line, n);
    (void)sent; /* a failure to log cannot be reported anywhere */
}

static void read_level(void)
{
    const char *text = getenv("INTERLOCK_LOG");

    wanted = ILK__LOG_OFF;
    if (text == NULL || *text == '\0')
        return;
    for (int i = ILK__LOG_OFF; i <= ILK__LOG_DEBUG; i++) {
        if (strcmp(text, names[i]) == 0) {
            wanted = (ilk__log_level)i;
            return;
        }
    }
    wanted = ILK__LOG_WARN;
    write_line(ILK__LOG_WARN,
               "INTERLOCK_LOG is none of off, error, warn, info, debug; "
               "taken as warn");
}

void ilk__log(ilk__log_level level, const char *format, ...)
{
    char text[TEXT_MAX];
    int saved = errno;
    va_list args;

    pthread_once(&once, read_level);
    if (level <= ILK__LOG_OFF || level > wanted)
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) >= 0)
        write_line(level, text);
    va_end(args);
    errno = saved;
}
