/* SPDX-License-Identifier: MIT */
/* ut_pollable.c -- a descriptor that is raised and cleared. */
#include "base/pollable.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"

static int is_raised(const ilk__pollable *pollable)
{
    struct pollfd pfd = {.fd = ilk__pollable_fd(pollable), .events = POLLIN};

    return poll(&pfd, 1, 0) == 1;
}

TEST(raised_until_cleared)
{
    ilk__pollable pollable;

    assert_int_equal(ilk__pollable_open(&pollable, NULL), ILK_OK);
    assert_false(is_raised(&pollable));
    ilk__pollable_raise(&pollable);
    assert_true(is_raised(&pollable));
    assert_true(is_raised(&pollable));
    ilk__pollable_clear(&pollable);
    assert_false(is_raised(&pollable));
    ilk__pollable_clear(&pollable);
    assert_false(is_raised(&pollable));
    ilk__pollable_close(&pollable);
}

TEST(raising_more_often_than_a_pipe_holds_neither_blocks_nor_stays)
{
    ilk__pollable pollable;

    assert_int_equal(ilk__pollable_open(&pollable, NULL), ILK_OK);
    for (int i = 0; i < 20000; i++)
        ilk__pollable_raise(&pollable);
    assert_true(is_raised(&pollable));
    ilk__pollable_clear(&pollable);
    assert_false(is_raised(&pollable));
    ilk__pollable_close(&pollable);
}

TEST(descriptors_do_not_survive_exec)
{
    ilk__pollable pollable;

    assert_int_equal(ilk__pollable_open(&pollable, NULL), ILK_OK);
    for (int i = 0; i < 2; i++)
        assert_true(fcntl(pollable.fds[i], F_GETFD) & FD_CLOEXEC);
    ilk__pollable_close(&pollable);
}

TEST(close_closes_all_and_may_be_repeated)
{
    ilk__pollable pollable;
    int fds[2];

    assert_int_equal(ilk__pollable_open(&pollable, NULL), ILK_OK);
    memcpy(fds, pollable.fds, sizeof fds);
    ilk__pollable_close(&pollable);
    ilk__pollable_close(&pollable);

    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    assert_int_equal(fcntl(fds[1], F_GETFD), -1);
    assert_int_equal(ilk__pollable_fd(&pollable), -1);
}

TEST(a_descriptor_that_the_program_closed_is_replaced)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    ilk__pollable pollable;
    int fds[2], others;

    assert_int_equal(ilk__pollable_open(&pollable, NULL), ILK_OK);
    ilk__pollable_raise(&pollable);
    assert_true(ilk__pollable_polled(&pollable, POLLIN, &mutex));
    assert_false(is_raised(&pollable));
    memcpy(fds, pollable.fds, sizeof fds);
    for (int i = 0; i < 2; i++)
        close(fds[i]);
    others = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the same number */
    assert_int_equal(others, fds[0]);
    assert_false(ilk__pollable_polled(&pollable, POLLIN, &mutex));
    assert_int_not_equal(ilk__pollable_fd(&pollable), others);
    assert_int_equal(fcntl(others, F_GETFD), FD_CLOEXEC);
    ilk__pollable_raise(&pollable);
    assert_true(is_raised(&pollable));
    ilk__pollable_close(&pollable);
    close(others);
}

TEST(exhausted_descriptors_are_a_status)
{
    struct rlimit old, none;
    ilk__pollable pollable;
    ilk_error err;
    ilk_status st;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    st = ilk__pollable_open(&pollable, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);

    assert_int_equal(st, ILK_ESYSTEM);
    assert_int_equal(ilk__pollable_fd(&pollable), -1);
    assert_non_null(strstr(err.msg, "descriptor"));
}
