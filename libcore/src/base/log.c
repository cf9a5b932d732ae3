/* SPDX-License-Identifier: MIT */
/* log.c -- writes lines to standard error, as INTERLOCK_LOG allows, and passes
 * them to the program's callback. */
#include "log.h"

#include "alloc.h"
#include "cancel.h"
#include "clock.h"
#include "environment.h"
#include "error.h"
#include "hash.h"
#include "hex.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 768, LINE_MAX_BYTES = 1024 };

/*
 * A callback with its argument and level. Threads read it without a mutex,
 * which might be locked for ever in a forked child. A thread may still use the
 * callback that was replaced, so none is freed; a program sets very few.
 */
typedef struct sink {
    ilk_log_callback callback;
    void *user;
    int32_t level;
    struct sink *before;
} sink;

static const char *const names[] = {
    [ILK__LOG_OFF] = "off",     [ILK__LOG_ERROR] = "error",
    [ILK__LOG_WARN] = "warn",   [ILK__LOG_INFO] = "info",
    [ILK__LOG_DEBUG] = "debug",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ilk__log_level wanted; /* written once, by read_level() */
static sink *_Atomic program; /* NULL until a callback is set */

/* Copy text up to room bytes; control bytes are escaped. */
static size_t escape(char *out, size_t room, const char *text)
{
    size_t n = 0;

    for (; *text != '\0' && n + 4 < room; text++) {
        unsigned char c = (unsigned char)*text;

        if (c >= 0x20 && c != 0x7f) {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '\\';
        out[n++] = 'x';
        (void)ilk__hex(out + n, c);
        n += 2;
    }
    out[n] = '\0';
    return n;
}

static void write_line(ilk__log_level level, const char *text)
{
    char line[LINE_MAX_BYTES];
    size_t n =
        (size_t)snprintf(line, sizeof line, "interlock: %s: ", names[level]);
    int cancelling;
    ssize_t sent;

    n += escape(line + n, sizeof line - n - 1, text);
    line[n++] = '\n';
    cancelling = ilk__cancel_disable();
    sent = write(STDERR_FILENO, line, n);
    ilk__cancel_restore(cancelling);
    (void)sent; /* a failure to log cannot be reported anywhere */
}

static void read_level(void)
{
    const char *text = ilk__environment("INTERLOCK_LOG");

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

/* ---- repeated lines ------------------------------------------------------ */

enum { REMEMBERED = 32, AGAIN_MS = 1000 };

/* A line written before; each hash has one place. */
static struct line {
    uint64_t hash;
    int64_t written_at;
    unsigned repeats; /* since then, not written */
} lines[REMEMBERED];
static pthread_mutex_t lines_mutex = PTHREAD_MUTEX_INITIALIZER;

/*
 * A server that sends the same nonsense again and again must not fill a disk:
 * an equal line is written once per second. Returns 0 when it must not be
 * written now; *out_repeats is how often it was not before. Where the mutex is
 * locked, by another thread or at a fork, the line is written.
 */
static int may_write(const char *text, unsigned *out_repeats)
{
    uint64_t hash = ilk__hash(ILK__HASH_START, text, strlen(text));
    struct line *line = &lines[hash % REMEMBERED];
    int64_t now = ilk__now_ms();
    int again;

    *out_repeats = 0;
    if (pthread_mutex_trylock(&lines_mutex) != 0)
        return 1;
    again = line->hash == hash && now - line->written_at < AGAIN_MS;
    if (again) {
        line->repeats++;
    } else {
        if (line->hash == hash)
            *out_repeats = line->repeats;
        *line = (struct line){.hash = hash, .written_at = now};
    }
    pthread_mutex_unlock(&lines_mutex);
    return !again;
}

static void append_repeats(char text[TEXT_MAX], unsigned repeats)
{
    char more[48];
    int n = snprintf(more, sizeof more, " (repeated %u times)", repeats);
    size_t len = strlen(text);

    if (len > TEXT_MAX - 1 - (size_t)n)
        len = TEXT_MAX - 1 - (size_t)n;
    memcpy(text + len, more, (size_t)n + 1);
}

static void pass_on(const sink *to, ilk__log_level level, const char *text)
{
    char line[LINE_MAX_BYTES];

    escape(line, sizeof line, text);
    to->callback(to->user, (int32_t)level, line);
}

void ilk__log(ilk__log_level level, const char *format, ...)
{
    const sink *to = program;
    int saved = errno, written, passed;
    char text[TEXT_MAX];
    unsigned repeats;
    va_list args;

    pthread_once(&once, read_level);
    written = level <= wanted;
    passed = to && to->callback && (int32_t)level <= to->level;
    if (level <= ILK__LOG_OFF || !(written || passed))
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) >= 0
        && may_write(text, &repeats)) {
        if (repeats > 0)
            append_repeats(text, repeats);
        if (written)
            write_line(level, text);
        if (passed)
            pass_on(to, level, text);
    }
    va_end(args);
    errno = saved;
}

ilk_status ilk_log_set_callback(ilk_log_callback callback, void *user,
                                int32_t level, ilk_error *err)
{
    sink *made;

    ilk__error_clear(err);
    if (level < ILK_LOG_ERROR || level > ILK_LOG_DEBUG)
        return ilk__fail(err, ILK_EINVAL,
                         "level must be ILK_LOG_ERROR to ILK_LOG_DEBUG, got %d",
                         (int)level);
    if (!callback && !program)
        return ILK_OK;
    if (!(made = ilk__malloc(sizeof *made)))
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    *made = (sink){.callback = callback, .user = user, .level = level};
    made->before = program;
    while (!atomic_compare_exchange_weak(&program, &made->before, made))
        ;
    return ILK_OK;
}
