/* SPDX-License-Identifier: MIT */
/*
 * ct_state_start.c -- waits of events, latches and barriers that are started
 * in an event loop: what each of them must do alike.
 */
#include "started.h"
#include "state_case.h"

#include <string.h>

typedef struct primitive {
    const char *kind;
    void *(*open)(ilk_client *of, const char *name);
    ilk_status (*start)(ilk_op **out, void *handle, int64_t timeout_ms,
                        ilk_error *err);
    ilk_status (*cancel)(void *handle, ilk_error *err);
    void (*let_go)(const char *name); /* by the other client */
    void (*free)(void *handle);
} primitive;

/* ---- three primitives --------------------------------------------------- */

static void *open_flag(ilk_client *of, const char *name)
{
    return open_event(of, name);
}

static ilk_status start_flag(ilk_op **out, void *handle, int64_t timeout_ms,
                             ilk_error *err)
{
    return ilk_event_wait_start(out, handle, timeout_ms, err);
}

static ilk_status cancel_flag(void *handle, ilk_error *err)
{
    return ilk_event_cancel(handle, err);
}

static void set_flag(const char *name)
{
    ilk_event *event = open_event(other, name);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_event_set(event, "x", 1, &err));
    ilk_event_free(event);
}

static void free_flag(void *handle)
{
    ilk_event_free(handle);
}

static void *open_count(ilk_client *of, const char *name)
{
    return open_latch(of, name, 1);
}

static ilk_status start_count(ilk_op **out, void *handle, int64_t timeout_ms,
                              ilk_error *err)
{
    return ilk_latch_wait_start(out, handle, timeout_ms, err);
}

static ilk_status cancel_count(void *handle, ilk_error *err)
{
    return ilk_latch_cancel(handle, err);
}

static void count_down(const char *name)
{
    ilk_latch *latch = open_latch(other, name, 1);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_latch_count_down(latch, 1, NULL, &err));
    ilk_latch_free(latch);
}

static void free_count(void *handle)
{
    ilk_latch_free(handle);
}

static void *open_round(ilk_client *of, const char *name)
{
    return open_barrier(of, name, 2);
}

static ilk_status start_round(ilk_op **out, void *handle, int64_t timeout_ms,
                              ilk_error *err)
{
    return ilk_barrier_wait_start(out, handle, timeout_ms, err);
}

static ilk_status cancel_round(void *handle, ilk_error *err)
{
    return ilk_barrier_cancel(handle, err);
}

static void arrive_last(const char *name)
{
    ilk_barrier *barrier = open_barrier(other, name, 2);
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_barrier_wait(barrier, 0, NULL, &err));
    ilk_barrier_free(barrier);
}

static void free_round(void *handle)
{
    ilk_barrier_free(handle);
}

static const primitive primitives[] = {
    {"event", open_flag, start_flag, cancel_flag, set_flag, free_flag},
    {"latch", open_count, start_count, cancel_count, count_down, free_count},
    {"barrier", open_round, start_round, cancel_round, arrive_last, free_round},
};
#define EACH(c)                                                                \
    const primitive *c = primitives;                                           \
    c < primitives + sizeof primitives / sizeof *primitives;                   \
    c++

/* A wait that is in the wait queue before this returns. */
static ilk_op *start_queued(const primitive *c, void *handle, ilk_client *of,
                            const char *name)
{
    ilk_error err = {0};
    ilk_op *op = NULL;

    assert_status(ILK_OK, c->start(&op, handle, -1, &err));
    turn_until(of, "1", "ZCARD ilk:%s:wait:{%s}", c->kind, name);
    return op;
}

static void assert_no_queue(const primitive *c, ilk_client *of,
                            const char *name)
{
    turn_until(of, "0", "ZCARD ilk:%s:wait:{%s}", c->kind, name);
}

/* ---- to the end --------------------------------------------------------- */

static void a_wait_gets_what_it_waits_for(void **state)
{
    (void)state;
    for (EACH(c)) {
        void *handle = c->open(client, "got");
        ilk_op *op = start_queued(c, handle, client, "got");

        assert_under_way(client, op);
        c->let_go("got");

        assert_ends(ILK_OK, client, op);
        assert_no_queue(c, client, "got");
        c->free(handle);
    }
}

static void a_wait_has_its_time(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (EACH(c)) {
        void *handle = c->open(client, "time");
        int64_t began = fixture_now_ms();
        ilk_op *op = NULL;

        assert_status(ILK_OK, c->start(&op, handle, 150, &err));
        assert_ends(ILK_ETIMEOUT, client, op);
        assert_in_range(fixture_now_ms() - began, 150, 150 + patience(300));
        assert_no_queue(c, client, "time");
        assert_status(ILK_OK, c->start(&op, handle, 0, &err));
        assert_ends(ILK_EBUSY, client, op);
        c->free(handle);
    }
}

static void a_handle_does_one_thing_at_a_time(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (EACH(c)) {
        void *handle = c->open(client, "one");
        ilk_op *op = start_queued(c, handle, client, "one"),
               *second = (ilk_op *)&err;

        assert_status(ILK_EHELD, c->start(&second, handle, -1, &err));
        assert_null(second);
        assert_status(ILK_OK, c->cancel(handle, &err));
        assert_ends(ILK_ECANCELLED, client, op);
        assert_no_queue(c, client, "one");
        c->free(handle);
    }
}

static void a_wait_outlives_the_server(void **state)
{
    (void)state;
    for (EACH(c)) {
        ilk_client *own = open_client();
        void *handle = c->open(own, "again");
        ilk_op *op = start_queued(c, handle, own, "again");

        assert_int_equal(0, fixture_kill(&fx));
        assert_under_way(own, op);
        assert_int_equal(0, fixture_restart(&fx));

        turn_until(own, "1", "ZCARD ilk:%s:wait:{again}", c->kind);
        c->let_go("again");
        assert_ends(ILK_OK, own, op);
        assert_no_queue(c, own, "again");
        c->free(handle);
        ilk_client_free(own);
    }
}

/* ---- ended early -------------------------------------------------------- */

static void a_cancelled_wait_leaves_nothing_behind(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (EACH(c)) {
        void *handle = c->open(client, "cancel");
        ilk_op *op = start_queued(c, handle, client, "cancel");

        assert_status(ILK_OK, ilk_op_cancel(op, &err));
        assert_ends(ILK_ECANCELLED, client, op);
        assert_no_queue(c, client, "cancel");

        op = start_queued(c, handle, client, "cancel");
        c->let_go("cancel");
        assert_ends(ILK_OK, client, op);
        c->free(handle);
    }
}

/* Its question is unanswered, or it is not even connected. */
static void a_wait_is_cancelled_before_it_is_queued(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (EACH(c)) {
        ilk_client *own = open_client();
        void *handle = c->open(own, "early");
        ilk_op *op = NULL;

        for (int turns = 0; turns < 8; turns++) {
            assert_status(ILK_OK, c->start(&op, handle, -1, &err));
            for (int i = 0; i < turns; i++)
                (void)turn(own, 1);
            assert_status(ILK_OK, ilk_op_cancel(op, &err));
            assert_ends(ILK_ECANCELLED, own, op);
            assert_no_queue(c, own, "early");
        }
        c->free(handle);
        ilk_client_free(own);
    }
}

static void a_freed_operation_leaves_nothing_behind(void **state)
{
    (void)state;
    for (EACH(c)) {
        void *handle = c->open(client, "freed");

        ilk_op_free(start_queued(c, handle, client, "freed"));
        assert_no_queue(c, client, "freed");

        c->free(handle);
    }
}

static void a_freed_handle_ends_its_wait(void **state)
{
    (void)state;
    for (EACH(c)) {
        void *handle = c->open(client, "handle");
        ilk_op *op = start_queued(c, handle, client, "handle");

        c->free(handle);

        assert_ends(ILK_ECANCELLED, client, op);
        assert_no_queue(c, client, "handle");
    }
}

static void a_closed_client_ends_its_waits(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (EACH(c)) {
        ilk_client *own = open_client();
        void *handle = c->open(own, "closed");
        ilk_op *op = start_queued(c, handle, own, "closed"), *late = NULL;

        assert_status(ILK_OK, ilk_client_close(own, &err));

        assert_ends(ILK_ECLOSED, own, op);
        assert_status(ILK_ECLOSED, c->start(&late, handle, -1, &err));
        assert_null(late);
        c->free(handle);
        ilk_client_free(own);
        fixture_command(&fx, "FLUSHALL");
    }
}

/* In each order: what is freed first, the client, the handle, the operation. */
static void all_may_go_in_any_order(void **state)
{
    (void)state;
    for (EACH(c))
        for (int first = 0; first < 3; first++) {
            ilk_client *own = open_client();
            void *handle = c->open(own, "order");
            ilk_op *op = start_queued(c, handle, own, "order");

            for (int i = 0; i < 3; i++)
                switch ((first + i) % 3) {
                case 0: ilk_client_free(own); break;
                case 1: c->free(handle); break;
                default: ilk_op_free(op);
                }
            fixture_command(&fx, "FLUSHALL");
        }
}

static void no_handle_is_refused_at_once(void **state)
{
    ilk_error err = {0};

    (void)state;
    for (EACH(c)) {
        ilk_op *op = (ilk_op *)&err;

        assert_status(ILK_EINVAL, c->start(&op, NULL, -1, &err));
        assert_null(op);
        assert_non_null(strstr(err.msg, "must not be NULL"));
        assert_non_null(strstr(err.msg, c->kind));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_wait_gets_what_it_waits_for, server_flush),
        cmocka_unit_test_setup(a_wait_has_its_time, server_flush),
        cmocka_unit_test_setup(a_handle_does_one_thing_at_a_time, server_flush),
        cmocka_unit_test_setup(a_cancelled_wait_leaves_nothing_behind,
                               server_flush),
        cmocka_unit_test_setup(a_wait_is_cancelled_before_it_is_queued,
                               server_flush),
        cmocka_unit_test_setup(a_freed_operation_leaves_nothing_behind,
                               server_flush),
        cmocka_unit_test_setup(a_freed_handle_ends_its_wait, server_flush),
        cmocka_unit_test_setup(a_closed_client_ends_its_waits, server_flush),
        cmocka_unit_test_setup(all_may_go_in_any_order, server_flush),
        cmocka_unit_test(no_handle_is_refused_at_once),
        cmocka_unit_test_setup(a_wait_outlives_the_server, server_flush),
    };

    return cmocka_run_group_tests(tests, state_setup, state_teardown);
}
