/* SPDX-License-Identifier: MIT */
/*
 * log_queue.c -- the core's log on its way to Python's `logging`.
 *
 * The core calls log_queue_push() in any thread, with mutexes held, so that
 * function neither takes the GIL nor runs Python: it copies the line into a
 * bounded ring. A Python thread fetches the lines with log_queue_next(), in
 * which the GIL is released.
 *
 *   keeper, callers -> ring -> the thread of _core_log.py -> logging
 *
 * Part of the generated module; gen_core.py includes it.
 */
#include <pthread.h>
#include <string.h>

enum { LOG_QUEUE_LINES = 256, LOG_QUEUE_TEXT = 1024 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t added;
    struct {
        int32_t level;
        char text[LOG_QUEUE_TEXT];
    } lines[LOG_QUEUE_LINES];
    size_t first, count;
    int64_t dropped; /* lines that found the ring full */
    int closed;
} log_queue = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .added = PTHREAD_COND_INITIALIZER,
};

static void log_queue_push(void *user, int32_t level, const char *text)
{
    size_t at;

    (void)user;
    pthread_mutex_lock(&log_queue.mutex);
    if (log_queue.count == LOG_QUEUE_LINES) {
        log_queue.dropped++;
    } else {
        at = (log_queue.first + log_queue.count++) % LOG_QUEUE_LINES;
        log_queue.lines[at].level = level;
        strncpy(log_queue.lines[at].text, text, LOG_QUEUE_TEXT - 1);
        pthread_cond_signal(&log_queue.added);
    }
    pthread_mutex_unlock(&log_queue.mutex);
}

/*
 * Fetch the next line into text, which has 1024 bytes; returns its level, or 0
 * when there is none. With `wait` it waits for one until the queue is closed.
 */
static int32_t log_queue_next(int32_t wait, char *text)
{
    int32_t level = 0;

    pthread_mutex_lock(&log_queue.mutex);
    while (wait && log_queue.count == 0 && !log_queue.closed)
        pthread_cond_wait(&log_queue.added, &log_queue.mutex);
    if (log_queue.count > 0) {
        level = log_queue.lines[log_queue.first].level;
        memcpy(text, log_queue.lines[log_queue.first].text, LOG_QUEUE_TEXT);
        log_queue.first = (log_queue.first + 1) % LOG_QUEUE_LINES;
        log_queue.count--;
    }
    pthread_mutex_unlock(&log_queue.mutex);
    return level;
}

/* How many lines were dropped since the last call. */
static int64_t log_queue_dropped(void)
{
    int64_t dropped;

    pthread_mutex_lock(&log_queue.mutex);
    dropped = log_queue.dropped;
    log_queue.dropped = 0;
    pthread_mutex_unlock(&log_queue.mutex);
    return dropped;
}

/* End the waits. */
static void log_queue_close(void)
{
    pthread_mutex_lock(&log_queue.mutex);
    log_queue.closed = 1;
    pthread_cond_broadcast(&log_queue.added);
    pthread_mutex_unlock(&log_queue.mutex);
}

/* In a forked child: another thread of the parent may have held the mutex, and
 * the parent logs its own lines. */
static void log_queue_reset(void)
{
    pthread_mutex_init(&log_queue.mutex, NULL);
    pthread_cond_init(&log_queue.added, NULL);
    log_queue.first = log_queue.count = 0;
    log_queue.dropped = 0;
}
