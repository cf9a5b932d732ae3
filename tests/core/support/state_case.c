/* SPDX-License-Identifier: MIT */
/* state_case.c -- what the tests of small states share. */
#include "state_case.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

ilk_client *other;

int state_setup(void)
{
    if (client_setup() != 0)
        return -1;
    other = open_client();
    return 0;
}

int state_teardown(void)
{
    ilk_client_free(other);
    other = NULL;
    return client_teardown();
}

ilk_event *open_event(ilk_client *of, const char *name)
{
    ilk_event *event = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_event_open(&event, of, name, strlen(name), NULL, &err));
    return event;
}

ilk_latch *open_latch(ilk_client *of, const char *name, int64_t count)
{
    ilk_latch *latch = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_latch_open(&latch, of, name, strlen(name), count,
                                         NULL, &err));
    return latch;
}

ilk_barrier *open_barrier(ilk_client *of, const char *name, int64_t parties)
{
    ilk_barrier *barrier = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_barrier_open(&barrier, of, name, strlen(name),
                                           parties, NULL, &err));
    return barrier;
}

ilk_group *open_group(ilk_client *of, const char *name)
{
    ilk_group *group = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_open(&group, of, name, strlen(name), &err));
    return group;
}

ilk_member *open_member(ilk_client *of, const char *name, const char *id,
                        int64_t ttl_ms)
{
    ilk_group *group = open_group(of, name);
    ilk_member *member = NULL;
    ilk_member_opts opts;
    ilk_error err = {0};

    ilk_member_opts_init(&opts, sizeof opts);
    opts.ttl_ms = ttl_ms;
    assert_status(ILK_OK,
                  ilk_member_open(&member, group, id, strlen(id), &opts, &err));
    ilk_group_free(group);
    return member;
}

ilk_member *join_group(ilk_client *of, const char *name, const char *id,
                       int64_t ttl_ms)
{
    ilk_member *member = open_member(of, name, id, ttl_ms);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_member_join(member, id, strlen(id), &err));
    return member;
}

ilk_register *open_register(ilk_client *of, const char *name)
{
    ilk_register *reg = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_register_open(&reg, of, name, strlen(name), &err));
    return reg;
}

void await_queue_length(const char *kind, const char *name, int n)
{
    char expected[16];

    snprintf(expected, sizeof expected, "%d", n);
    assert_int_equal(0, fixture_await(&fx, expected, 10000,
                                      "ZCARD ilk:%s:wait:{%s}", kind, name));
}

/* ---- threads ------------------------------------------------------------ */

static ilk_status wait_once(waiting *w)
{
    if (w->latch)
        return ilk_latch_wait(w->latch, w->timeout_ms, &w->err);
    if (w->barrier)
        return ilk_barrier_wait(w->barrier, w->timeout_ms, &w->index, &w->err);
    if (w->reg)
        return ilk_register_wait(w->reg, w->version, w->timeout_ms, &w->err);
    if (w->generation)
        return ilk_event_wait_change(w->event, w->generation, w->timeout_ms,
                                     &w->err);
    return ilk_event_wait(w->event, w->timeout_ms, &w->err);
}

static void *run_waiting(void *arg)
{
    waiting *w = arg;

    w->began_at = fixture_now_ms();
    do {
        w->status = wait_once(w);
        w->interrupted += w->status == ILK_EINTR;
    } while (w->status == ILK_EINTR && w->stubborn);
    w->ended_at = fixture_now_ms();
    w->done = 1;
    return NULL;
}

void start_waiting(waiting *w)
{
    assert_int_equal(0, pthread_create(&w->thread, NULL, run_waiting, w));
}

void assert_waited_at(ilk_status expected, waiting *w, const char *file,
                      int line)
{
    join_soon_at(w->thread, "wait", file, line);
    assert_status_at(expected, w->status, &w->err, "wait", file, line);
}

int64_t waited_ms(const waiting *w)
{
    return w->ended_at - w->began_at;
}

void interrupt_waiting(waiting *w)
{
    fixture_wake_on(SIGUSR1);
    for (int i = 0; i < 500 && !w->done; i++) {
        pthread_kill(w->thread, SIGUSR1);
        fixture_sleep_ms(10);
    }
}

/* ---- processes ---------------------------------------------------------- */

static void report(int fd, char what, int64_t number)
{
    char text[1 + sizeof number];

    text[0] = what;
    memcpy(text + 1, &number, sizeof number);
    if (write(fd, text, sizeof text) != (ssize_t)sizeof text)
        _exit(3);
}

static char outcome_of(ilk_status st)
{
    switch (st) {
    case ILK_OK: return 'k';
    case ILK_EBROKEN: return 'b';
    case ILK_ETIMEOUT:
    case ILK_EBUSY: return 't';
    default: return 'e';
    }
}

static void obey(waiting *w, int reports, int orders)
{
    char what;

    report(reports, 'o', 0);
    while (read(orders, &what, 1) == 1 && what != 'q') {
        run_waiting(w);
        if (outcome_of(w->status) == 'e')
            fprintf(stderr, "party: %s\n", w->err.msg);
        if (w->event)
            w->index = ilk_event_generation(w->event);
        report(reports, outcome_of(w->status), w->index);
    }
}

static party start(const char *name, int64_t parties, int64_t timeout_ms)
{
    waiting w = {.timeout_ms = timeout_ms, .stubborn = 1};
    int up[2], down[2];
    party p;

    assert_int_equal(0, pipe(up));
    assert_int_equal(0, pipe(down));
    fflush(NULL);
    p.pid = fork();
    assert_true(p.pid >= 0);
    if (p.pid == 0) {
        close(up[0]);
        close(down[1]);
        if (parties)
            w.barrier = open_barrier(open_client(), name, parties);
        else
            w.event = open_event(open_client(), name);
        obey(&w, up[1], down[0]);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    p.reports = up[0];
    p.orders = down[1];
    assert_int_equal('o', hear_party(&p, 10000, NULL));
    return p;
}

party start_party(const char *barrier, int64_t parties, int64_t timeout_ms)
{
    return start(barrier, parties, timeout_ms);
}

party start_listener(const char *event, int64_t timeout_ms)
{
    return start(event, 0, timeout_ms);
}

void tell_party(party *p, char what)
{
    assert_int_equal(1, write(p->orders, &what, 1));
}

char hear_party(party *p, int timeout_ms, int64_t *out_number)
{
    struct pollfd pfd = {.fd = p->reports, .events = POLLIN};
    char text[1 + sizeof *out_number];

    if (poll(&pfd, 1, timeout_ms) != 1
        || read(p->reports, text, sizeof text) != (ssize_t)sizeof text)
        return '?';
    if (out_number)
        memcpy(out_number, text + 1, sizeof *out_number);
    return text[0];
}

void end_party(party *p)
{
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(p->reports);
    close(p->orders);
}
