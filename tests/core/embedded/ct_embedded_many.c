/* SPDX-License-Identifier: MIT */
/* ct_embedded_many.c -- the embedded server between several processes. */
#include "embedded_case.h"
#include "fork_case.h"

#include "base/clock.h"
#include "embedded/embedded_spawn.h"
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

AROUND_EACH(embedded_setup, embedded_teardown);

enum { RACERS = 24, ROUNDS = 3 };

/* Children write a byte when they are attached and leave when they read one. */
typedef struct gate {
    int ready[2], go[2];
} gate;

static void open_gate(gate *g)
{
    assert_int_equal(pipe2(g->ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(g->go, O_CLOEXEC), 0);
}

static void pass_gate(gate *g)
{
    char byte;

    close(g->go[1]);
    demand(write(g->ready[1], "", 1) == 1);
    demand(read(g->go[0], &byte, 1) == 0); /* end of file: go */
}

static void await_ready(gate *g, int count)
{
    struct pollfd pfd = {.fd = g->ready[0], .events = POLLIN};
    char byte;

    for (int i = 0; i < count; i++) {
        assert_int_equal(poll(&pfd, 1, (int)patience(3 * PATIENCE)), 1);
        assert_int_equal(read(g->ready[0], &byte, 1), 1);
    }
}

static void close_gate(gate *g)
{
    close(g->ready[0]);
    close(g->ready[1]);
    close(g->go[0]);
}

static void racer(gate *start, gate *end)
{
    ilk__embedded *embedded;
    ilk_error err = {0};

    pass_gate(start);
    if (ilk__embedded_attach(&embedded, NULL,
                             ilk__deadline(patience(2 * PATIENCE)), &err)
        != ILK_OK) {
        fprintf(stderr, "racer: %s\n", err.msg);
        _exit(1);
    }
    pass_gate(end);
    demand(strcmp(ask(embedded, "PING"), "+PONG") == 0);
    ilk__embedded_detach(embedded);
    _exit(0);
}

/* A program that notes each start and becomes the true server. */
static void count_starts(void)
{
    char program[ILK__PROGRAM_MAX], text[2 * ILK__PROGRAM_MAX];
    int fd;

    assert_int_equal(ilk__program_find(program, NULL), ILK_OK);
    snprintf(text, sizeof text,
             "#!/bin/sh\necho start >> %s/starts\nexec %s \"$@\"\n", tmp,
             program);
    fd = open(in_tmp("counting"), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    setenv("INTERLOCK_SERVER", in_tmp("counting"), 1);
}

static int starts(void)
{
    FILE *file = fopen(in_tmp("starts"), "r");
    char line[16];
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        count++;
    fclose(file);
    return count;
}

TEST(racing_processes_start_one_server_and_end_it)
{
    count_starts();
    for (int round = 1; round <= ROUNDS; round++) {
        pid_t pids[RACERS];
        gate start, end;
        int32_t server;

        open_gate(&start);
        open_gate(&end);
        for (int i = 0; i < RACERS; i++)
            if ((pids[i] = fork()) == 0) {
                close(end.go[1]);
                racer(&start, &end);
            }
        await_ready(&start, RACERS);
        close(start.go[1]);
        await_ready(&end, RACERS);
        assert_int_equal(starts(), round);
        server = look().pid;
        close(end.go[1]);
        for (int i = 0; i < RACERS; i++)
            assert_ends_well(pids[i]);
        await_end(server);
        close_gate(&start);
        close_gate(&end);
    }
}

TEST(processes_that_come_and_go_never_fail)
{
    enum { VISITORS = 4, VISITS = 15 };
    pid_t pids[VISITORS];

    for (int i = 0; i < VISITORS; i++) {
        if ((pids[i] = fork()) != 0)
            continue;
        for (int n = 0; n < VISITS; n++) {
            ilk__embedded *embedded;

            demand(ilk__embedded_attach(&embedded, NULL,
                                        ilk__deadline(patience(2 * PATIENCE)),
                                        NULL)
                   == ILK_OK);
            demand(ask(embedded, "INCR visits")[0] == ':');
            ilk__embedded_detach(embedded);
        }
        _exit(0);
    }
    for (int i = 0; i < VISITORS; i++)
        assert_ends_well(pids[i]);
    {
        ilk__embedded *embedded = attach(NULL);

        assert_string_equal(ask(embedded, "INCR visits"), ":61");
        ilk__embedded_detach(embedded);
    }
}

/* In a child: attach, and go on when the gate opens. */
static ilk__embedded *attached_child(gate *g)
{
    ilk__embedded *embedded;

    demand(ilk__embedded_attach(&embedded, NULL,
                                ilk__deadline(patience(PATIENCE)), NULL)
           == ILK_OK);
    pass_gate(g);
    return embedded;
}

TEST(the_server_outlives_who_started_it)
{
    ilk__embedded *embedded;
    gate g;
    pid_t pid;

    open_gate(&g);
    if ((pid = fork()) == 0) {
        embedded = attached_child(&g);
        ilk__embedded_detach(embedded);
        _exit(0);
    }
    await_ready(&g, 1);
    embedded = attach(NULL);
    close(g.go[1]);
    assert_ends_well(pid);
    assert_string_equal(ask(embedded, "PING"), "+PONG");
    ilk__embedded_detach(embedded);
    await_no_server();
    close_gate(&g);
}

TEST(a_killed_user_does_not_count)
{
    ilk__embedded *embedded;
    gate g;
    pid_t pid;

    open_gate(&g);
    if ((pid = fork()) == 0) {
        (void)attached_child(&g);
        _exit(0);
    }
    await_ready(&g, 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    embedded = attach(NULL); /* the watcher may have been faster */
    ilk__embedded_detach(embedded);
    await_no_server();
    close(g.go[1]);
    close_gate(&g);
}

TEST(a_frozen_starter_fails_others_at_their_deadline)
{
    int64_t before;
    pid_t pid;
    int fd;

    fd = open(in_tmp("freezing"), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(dprintf(fd, "#!/bin/sh\ntouch %s/up\nexec sleep 30\n", tmp)
                > 0);
    close(fd);
    setenv("INTERLOCK_SERVER", in_tmp("freezing"), 1);
    if ((pid = fork()) == 0) {
        ilk__embedded *embedded;

        ilk__embedded_attach(&embedded, NULL, ilk__deadline(600), NULL);
        _exit(0);
    }
    while (access(in_tmp("up"), F_OK) != 0)
        fixture_sleep_ms(1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    before = ilk__now_ms();
    assert_fails(NULL, 200, ILK_ECONN, "another process is still");
    assert_in_range(ilk__now_ms() - before, 200, 200 + patience(400));
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_ends_well(pid);
}

TEST(a_forked_child_leaves_the_server_alone)
{
    ilk__embedded *embedded = attach(NULL);
    pid_t pid;

    if ((pid = fork()) == 0) {
        ilk__embedded_detach(embedded);
        _exit(0);
    }
    assert_ends_well(pid);
    if ((pid = fork()) == 0) {
        ilk__embedded_abandon(embedded);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_string_equal(ask(embedded, "PING"), "+PONG");
    ilk__embedded_detach(embedded);
    await_no_server();
}

TEST(a_forked_child_that_does_nothing_holds_no_place)
{
    ilk__embedded *embedded = attach(NULL);
    gate g;
    pid_t pid;

    open_gate(&g);
    if ((pid = fork()) == 0) {
        pass_gate(&g);
        _exit(0);
    }
    await_ready(&g, 1);
    ilk__embedded_detach(embedded);
    await_no_server();
    close(g.go[1]);
    assert_ends_well(pid);
    close_gate(&g);
}

TEST(a_forked_child_may_attach_for_itself)
{
    ilk__embedded *embedded = attach(NULL), *own;
    gate g;
    pid_t pid;

    open_gate(&g);
    if ((pid = fork()) == 0) {
        ilk__embedded_abandon(embedded);
        demand(ilk__embedded_attach(&own, NULL,
                                    ilk__deadline(patience(PATIENCE)), NULL)
               == ILK_OK);
        pass_gate(&g);
        demand(strcmp(ask(own, "PING"), "+PONG") == 0);
        ilk__embedded_detach(own);
        _exit(0);
    }
    await_ready(&g, 1);
    ilk__embedded_detach(embedded);
    assert_int_equal(look().running, 1);
    close(g.go[1]);
    assert_ends_well(pid);
    await_no_server();
    close_gate(&g);
}

/* A host may ignore SIGCHLD, block signals and hold files open. */
TEST(the_server_inherits_nothing_of_its_host)
{
    ilk__embedded *embedded;
    char name[64], line[256];
    sigset_t all, old;
    int fds[2];
    FILE *file;

    assert_int_equal(pipe(fds), 0); /* survives exec, unless closed */
    signal(SIGCHLD, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    embedded = attach(NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGCHLD, SIG_DFL);

    snprintf(name, sizeof name, "/proc/%d/status", look().pid);
    file = fopen(name, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "SigBlk:", 7) == 0)
            assert_int_equal(strtoull(line + 7, NULL, 16), 0);
        if (strncmp(line, "SigIgn:", 7) == 0)
            assert_int_equal(
                strtoull(line + 7, NULL, 16) & 1ull << (SIGCHLD - 1), 0);
    }
    if (file != NULL)
        fclose(file);
    close(fds[1]);
    assert_int_equal(read(fds[0], line, 1), 0); /* no other writer is left */
    close(fds[0]);
    ilk__embedded_detach(embedded);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}
