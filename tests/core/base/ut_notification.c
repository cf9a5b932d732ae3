/* SPDX-License-Identifier: MIT */
/* ut_notification.c -- the bounded queue of news behind one descriptor. */
#include "base/notification.h"

#include "base/alloc.h"

#include <poll.h>
#include <string.h>

#include "test.h"

static ilk__notifications queue;

static int setup(void)
{
    ilk__notifications_init(&queue);
    return 0;
}

static int teardown(void)
{
    ilk__alloc_fail_at(0);
    ilk__notifications_destroy(&queue);
    return 0;
}

AROUND_EACH(setup, teardown);

static int is_raised(void)
{
    struct pollfd pfd = {.events = POLLIN};

    assert_int_equal(ilk__notifications_fd(&queue, &pfd.fd, NULL), ILK_OK);
    return poll(&pfd, 1, 0) == 1;
}

static void push(int64_t id)
{
    ilk__notifications_push(&queue, ILK_NOTIFICATION_LOCK_LOST, id, NULL,
                            ILK_ELOST, ILK_LOSS_BROKEN);
}

/* The next notification's id; 0 when there is none. */
static int64_t next(void)
{
    ilk_notification notification = {.size = sizeof notification};
    ilk_status st = ilk__notifications_next(&queue, &notification, NULL);

    if (st == ILK_EAGAIN)
        return 0;
    assert_int_equal(st, ILK_OK);
    assert_int_equal(notification.kind, ILK_NOTIFICATION_LOCK_LOST);
    assert_int_equal(notification.status, ILK_ELOST);
    return notification.id;
}

TEST(notifications_come_in_the_order_they_went)
{
    for (int64_t id = 1; id <= 100; id++)
        push(id);
    for (int64_t id = 1; id <= 100; id++)
        assert_int_equal(next(), id);
    assert_int_equal(next(), 0);
}

/* Grow while the content wraps around the ring's end, in every phase. */
TEST(order_survives_growth_and_wrapping)
{
    int64_t in = 0, out = 0;

    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 17; i++)
            push(++in);
        for (int i = 0; i < 7; i++)
            assert_int_equal(next(), ++out);
    }
    while (out < in)
        assert_int_equal(next(), ++out);
    assert_int_equal(queue.dropped, 0);
}

TEST(descriptor_is_raised_exactly_while_notifications_wait)
{
    assert_false(is_raised());
    push(1);
    push(2);
    assert_true(is_raised());
    next();
    assert_true(is_raised());
    next();
    assert_false(is_raised());
}

TEST(descriptor_opened_late_knows_of_earlier_notifications)
{
    push(1);
    assert_true(is_raised());
}

TEST(the_descriptor_stays_the_same)
{
    int first, second;

    assert_int_equal(ilk__notifications_fd(&queue, &first, NULL), ILK_OK);
    assert_int_equal(ilk__notifications_fd(&queue, &second, NULL), ILK_OK);
    assert_int_equal(first, second);
}

TEST(the_same_news_twice_is_one_notification_with_the_last_status)
{
    ilk_notification notification = {.size = sizeof notification};

    ilk__notifications_push(&queue, ILK_NOTIFICATION_LOCK_LOST, 1, NULL,
                            ILK_EUNKNOWN, ILK_LOSS_BROKEN);
    push(2);
    push(1);

    assert_int_equal(ilk__notifications_next(&queue, &notification, NULL),
                     ILK_OK);
    assert_int_equal(notification.id, 1);
    assert_int_equal(notification.status, ILK_ELOST);
    assert_int_equal(next(), 2);
    assert_int_equal(next(), 0);
}

TEST(notifications_that_find_the_queue_full_are_counted)
{
    for (int64_t id = 1; id <= ILK__NOTIFICATION_MAX + 5; id++)
        push(id);

    assert_int_equal(queue.dropped, 5);
    assert_int_equal(queue.count, ILK__NOTIFICATION_MAX);
    assert_int_equal(next(), 1);
}

TEST(notifications_that_find_no_memory_are_counted)
{
    ilk__alloc_fail_at(1);
    push(1);
    ilk__alloc_fail_at(0);
    push(2);

    assert_int_equal(queue.dropped, 1);
    assert_int_equal(next(), 2);
}

TEST(forgotten_ids_leave_and_others_keep_their_order)
{
    for (int64_t id = 1; id <= 5; id++)
        push(id);
    ilk__notifications_forget(&queue, 2);
    ilk__notifications_forget(&queue, 5);
    ilk__notifications_forget(&queue, 77);

    assert_int_equal(next(), 1);
    assert_int_equal(next(), 3);
    assert_int_equal(next(), 4);
    assert_int_equal(next(), 0);
}

TEST(forgetting_the_last_notification_clears_the_descriptor)
{
    push(1);
    assert_true(is_raised());
    ilk__notifications_forget(&queue, 1);
    assert_false(is_raised());
}

TEST(a_struct_without_size_is_refused_and_nothing_lost)
{
    ilk_notification notification = {.size = 0};
    ilk_error err;

    push(1);
    assert_int_equal(ilk__notifications_next(&queue, &notification, &err),
                     ILK_EINVAL);
    assert_int_equal(err.code, ILK_EINVAL);
    assert_int_equal(next(), 1);
}

TEST(an_empty_queue_answers_again_and_kind_none)
{
    ilk_notification notification = {
        .size = sizeof notification, .kind = 9, .id = 9};

    assert_int_equal(ilk__notifications_next(&queue, &notification, NULL),
                     ILK_EAGAIN);
    assert_int_equal(notification.kind, ILK_NOTIFICATION_NONE);
    assert_int_equal(notification.id, 0);
}

static void *push_many(void *arg)
{
    int64_t base = *(int64_t *)arg;

    for (int64_t i = 0; i < 500; i++)
        push(base + i);
    return NULL;
}

TEST(threads_push_side_by_side)
{
    int64_t bases[2] = {1000, 2000};
    pthread_t threads[2];
    int got = 0;

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, push_many, &bases[i]);
    while (got < 1000)
        got += next() != 0;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_false(is_raised());
}
