/* SPDX-License-Identifier: MIT */
/* signal_case.c -- what the tests of signals share. */
#include "signal_case.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

ilk_signal *open_signal(ilk_client *client, const char *name)
{
    ilk_signal *signal = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_signal_open(&signal, client, name, strlen(name),
                                          NULL, &err));
    return signal;
}

void await_waits(const char *name, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    assert_int_equal(0, fixture_await(&fx, expected, 20000,
                                      "ZCARD ilk:signal:wait:{%s}", name));
}

static void *listen_for(void *arg)
{
    hearing *l = arg;

    l->status =
        (l->mode == LISTEN_ALL ? ilk_signal_wait_all : ilk_signal_wait_any)(
            &l->arrival, l->signals, l->count, l->timeout_ms, &l->err);
    atomic_store(&l->done, 1);
    return NULL;
}

void start_hearing(hearing *l, listen_mode mode, ilk_signal *const *signals,
                   size_t count, int64_t timeout_ms)
{
    pthread_attr_t small;

    memset(l, 0, sizeof *l);
    l->mode = mode;
    l->signals = signals;
    l->count = count;
    l->timeout_ms = timeout_ms;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    assert_int_equal(0, pthread_create(&l->thread, &small, listen_for, l));
    pthread_attr_destroy(&small);
}

void assert_heard_at(ilk_status expected, hearing *l, const char *file,
                     int line)
{
    join_soon_at(l->thread, "wait", file, line);
    assert_status_at(expected, l->status, &l->err, "wait", file, line);
    if ((expected == ILK_OK) != (l->arrival != NULL))
        _fail(file, line);
}

void interrupt_hearing(hearing *l)
{
    for (int i = 0; i < 500 && !atomic_load(&l->done); i++) {
        pthread_kill(l->thread, SIGUSR1);
        fixture_sleep_ms(10);
    }
}

void free_hearing(hearing *l)
{
    ilk_arrival_free(l->arrival);
    l->arrival = NULL;
}

const char *heard(const ilk_arrival *arrival)
{
    static char text[1024];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ilk_arrival_count(arrival); i++) {
        size_t name_len, data_len;
        const char *name = ilk_arrival_name(arrival, i, &name_len);
        const char *data = ilk_arrival_data(arrival, i, &data_len);

        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%d %.*s=%.*s;", ilk_arrival_which(arrival, i),
                                 (int)name_len, name, (int)data_len, data);
    }
    return text;
}

int64_t tell_one(ilk_signal *signal, const char *text)
{
    ilk_error err = {0};
    int64_t reached = -1;

    assert_status(ILK_OK, ilk_signal_notify_one(&reached, signal, text,
                                                strlen(text), &err));
    return reached;
}

int64_t report_all(ilk_signal *signal, const char *text)
{
    ilk_error err = {0};
    int64_t reached = -1;

    assert_status(ILK_OK, ilk_signal_notify_all(&reached, signal, text,
                                                strlen(text), &err));
    return reached;
}
