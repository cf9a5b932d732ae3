/* SPDX-License-Identifier: MIT */
/* ct_guard_start.c -- guarded values by operations that are started. */
#include "client_case.h"
#include "proxy_case.h"
#include "started.h"

#include <string.h>

static ilk_error err;

static ilk_op *start_set(char *key, int64_t fence, char *value)
{
    size_t key_len = strlen(key), value_len = strlen(value);
    ilk_op *op = NULL;

    assert_status(ILK_OK, ilk_guard_set_start(&op, client, key, key_len, fence,
                                              value, value_len, &err));
    memset(key, 'x', key_len); /* both are copied */
    memset(value, 'x', value_len);
    return op;
}

static void set_copies_key_and_value(void **state)
{
    char key[] = "balance", value[] = "one hundred";
    ilk_op *op = start_set(key, 7, value);

    (void)state;
    assert_ends(ILK_OK, client, op);
    assert_string_equal("one hundred", fixture_command(&fx, "GET balance"));
    assert_string_equal("7", fixture_command(&fx, "GET ilk:guard:{balance}"));
}

static void a_smaller_fence_is_refused(void **state)
{
    char key[] = "balance", value[] = "late";
    ilk_op *op;

    (void)state;
    assert_status(ILK_OK, ilk_guard_set(client, key, 7, 7, "early", 5, &err));
    op = start_set(key, 6, value);
    assert_ends(ILK_ESTALE, client, op);
    assert_string_equal("early", fixture_command(&fx, "GET balance"));
    assert_status(ILK_OK,
                  ilk_guard_get_start(&op, client, "balance", 7, 6, &err));
    assert_ended(ILK_ESTALE, client, op);
    assert_null(ilk_op_value(op));
    ilk_op_free(op);
}

static void get_leaves_the_value_in_the_operation(void **state)
{
    ilk_op *op;
    size_t len;

    (void)state;
    assert_status(ILK_OK, ilk_guard_set(client, "read", 4, 3, "a\0b", 3, &err));
    assert_status(ILK_OK, ilk_guard_get_start(&op, client, "read", 4, 5, &err));
    assert_null(ilk_op_value(op)); /* too early */
    assert_ended(ILK_OK, client, op);
    assert_memory_equal("a\0b", ilk_value_data(ilk_op_value(op), &len), 3);
    assert_int_equal(3, len);
    assert_int_equal(5, ilk_value_fence(ilk_op_value(op)));
    assert_null(ilk_op_info(op)); /* of another kind */
    ilk_op_free(op);

    assert_status(ILK_OK, ilk_guard_get_start(&op, client, "none", 4, 0, &err));
    assert_ended(ILK_OK, client, op);
    assert_non_null(ilk_op_value(op));
    assert_null(ilk_value_data(ilk_op_value(op), NULL));
    ilk_op_free(op);
}

static void remove_takes_value_and_fence_away(void **state)
{
    ilk_op *op;

    (void)state;
    assert_status(ILK_OK, ilk_guard_set(client, "gone", 4, 3, "v", 1, &err));
    assert_status(ILK_OK, ilk_guard_remove_start(&op, client, "gone", 4, &err));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("0",
                        fixture_command(&fx, "EXISTS gone ilk:guard:{gone}"));
}

static void many_are_under_way_at_once(void **state)
{
    enum { MANY = 500 };
    ilk_op *ops[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_status(ILK_OK,
                      ilk_guard_set_start(&ops[i], client, "raced", 5, i + 1,
                                          &"0123456789"[i % 10], 1, &err));
    for (int i = 0; i < MANY; i++)
        assert_ends(ILK_OK, client, ops[i]);
    assert_string_equal("9", fixture_command(&fx, "GET raced"));
}

static void wrong_arguments_start_nothing(void **state)
{
    ilk_op *op = (ilk_op *)client;

    (void)state;
    assert_status(ILK_EINVAL,
                  ilk_guard_set_start(&op, client, "k", 1, -1, "v", 1, &err));
    assert_null(op);
    assert_status(ILK_EINVAL,
                  ilk_guard_set_start(&op, client, "k", 1, 0, NULL, 1, &err));
    assert_status(ILK_EINVAL, ilk_guard_get_start(&op, client, "", 0, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_guard_get_start(NULL, client, "k", 1, 0, &err));
    assert_status(ILK_EINVAL, ilk_guard_remove_start(&op, NULL, "k", 1, &err));
    assert_null(op);
}

/* What was sent is done, whether anybody wants to know or not. */
static void freed_while_under_way_it_is_done_all_the_same(void **state)
{
    ilk_op *op;

    (void)state;
    assert_status(ILK_OK, ilk_client_ping_start(&op, client, -1, &err));
    assert_ends(ILK_OK, client, op); /* connected */
    assert_status(
        ILK_OK, ilk_guard_set_start(&op, client, "freed", 5, 1, "v", 1, &err));
    ilk_op_free(op);
    turn_until(client, "v", "GET freed");
}

static void a_cancel_does_not_stop_what_only_asks(void **state)
{
    ilk_op *op;

    (void)state;
    assert_status(
        ILK_OK, ilk_guard_set_start(&op, client, "asked", 5, 1, "v", 1, &err));
    assert_status(ILK_OK, ilk_op_cancel(op, &err));
    assert_ends(ILK_OK, client, op);
}

/* The first copy was carried out: the second finds its own fence. */
static void a_lost_answer_is_asked_for_again(void **state)
{
    ilk_client *own = open_client_at(between.url);
    ilk_op *op;

    (void)state;
    proxy_cut(&between, "lost", 0);
    assert_status(ILK_OK,
                  ilk_guard_set_start(&op, own, "lost", 4, 9, "v", 1, &err));
    assert_ends(ILK_OK, own, op);
    assert_int_equal(1, proxy_struck(&between));
    assert_string_equal("v", fixture_command(&fx, "GET lost"));
    ilk_client_free(own);
}

static void a_client_that_is_closed_ends_it(void **state)
{
    ilk_client *own = open_client();
    ilk_op *set, *get;

    (void)state;
    assert_status(ILK_OK,
                  ilk_guard_set_start(&set, own, "late", 4, 1, "v", 1, &err));
    assert_status(ILK_OK, ilk_guard_get_start(&get, own, "late", 4, 1, &err));
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_ends(ILK_ECLOSED, own, set);
    assert_ended(ILK_ECLOSED, own, get);
    assert_null(ilk_op_value(get));
    ilk_op_free(get);
    ilk_client_free(own);
}

/* It asks again when the server is back. */
static void a_server_that_restarts_is_asked_again(void **state)
{
    ilk_op *op;

    (void)state;
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    assert_status(
        ILK_OK, ilk_guard_set_start(&op, client, "again", 5, 1, "v", 1, &err));
    assert_ends(ILK_OK, client, op);
    assert_string_equal("v", fixture_command(&fx, "GET again"));
}

static int setup(void **state)
{
    if (client_setup(state) != 0)
        return -1;
    return proxy_before_server(&between);
}

static int teardown(void **state)
{
    proxy_close(&between);
    return client_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_copies_key_and_value),
        cmocka_unit_test(a_smaller_fence_is_refused),
        cmocka_unit_test(get_leaves_the_value_in_the_operation),
        cmocka_unit_test(remove_takes_value_and_fence_away),
        cmocka_unit_test(many_are_under_way_at_once),
        cmocka_unit_test(wrong_arguments_start_nothing),
        cmocka_unit_test(freed_while_under_way_it_is_done_all_the_same),
        cmocka_unit_test(a_cancel_does_not_stop_what_only_asks),
        cmocka_unit_test(a_lost_answer_is_asked_for_again),
        cmocka_unit_test(a_client_that_is_closed_ends_it),
        cmocka_unit_test(a_server_that_restarts_is_asked_again),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
