/* SPDX-License-Identifier: MIT */
/*
 * ct_inspect_start.c -- names looked at and listed by operations that are
 * started.
 */
#include "started_case.h"

#include <stdio.h>
#include <string.h>

AROUND_ALL(client_setup, client_teardown);

enum { NAMES = 20000 }; /* in twenty commands */

static ilk_error err;

static void fill(void)
{
    fixture_command(&fx, "FLUSHALL");
    for (int from = 0; from < NAMES; from += 1000) {
        char text[16];

        snprintf(text, sizeof text, "%d", from);
        fixture_call(&fx, "EVAL",
                     "for i = ARGV[1], ARGV[1] + 999 do redis.call('SET', "
                     "string.format('ilk:lock:fence:{n%05d}', i), 1) end",
                     "0", text, (char *)NULL);
    }
    fixture_command(&fx, "SET ilk:lock:fence={a}b 1");
    fixture_command(&fx, "SET ilk:lock:fence~x}y 1");
    fixture_command(&fx, "SET ilk:semaphore:fence:{n00001} 1");
}

TEST(a_list_of_many_questions_has_all_names)
{
    char pattern[] = "n*";
    const ilk_list *list;
    ilk_op *op;

    fill();
    assert_status(ILK_OK,
                  ilk_list_open_start(&op, client, 0, pattern, 2, &err));
    memset(pattern, 'x', 2); /* it is copied */
    assert_null(ilk_op_list(op));
    assert_ended(ILK_OK, client, op);
    list = ilk_op_list(op);
    assert_int_equal(NAMES + 1, ilk_list_count(list));
    assert_string_equal("n00000", ilk_list_name(list, 0, NULL));
    assert_int_equal(ILK_KIND_LOCK, ilk_list_kind(list, 1));
    assert_int_equal(ILK_KIND_SEMAPHORE, ilk_list_kind(list, 2));
    assert_string_equal("n19999", ilk_list_name(list, NAMES, NULL));
    assert_null(ilk_op_info(op)); /* of another kind */
    ilk_op_free(op);
}

TEST(all_forms_of_keys_are_found)
{
    const ilk_list *list;
    ilk_op *op;

    fill();
    assert_status(
        ILK_OK, ilk_list_open_start(&op, client, ILK_KIND_LOCK, NULL, 0, &err));
    assert_ended(ILK_OK, client, op);
    list = ilk_op_list(op);
    assert_int_equal(NAMES + 2, ilk_list_count(list));
    assert_string_equal("x}y", ilk_list_name(list, NAMES, NULL));
    assert_string_equal("{a}b", ilk_list_name(list, NAMES + 1, NULL));
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_list_open_start(&op, client, ILK_KIND_QUEUE, NULL,
                                              0, &err));
    assert_ended(ILK_OK, client, op);
    assert_int_equal(0, ilk_list_count(ilk_op_list(op)));
    ilk_op_free(op);
}

TEST(others_go_on_while_a_list_is_made)
{
    ilk_op *list, *ping;

    fill();
    assert_status(ILK_OK, ilk_list_open_start(&list, client, 0, NULL, 0, &err));
    assert_status(ILK_OK, ilk_client_ping_start(&ping, client, -1, &err));
    assert_ended(ILK_OK, client, ping);
    assert_int_equal(ILK_EAGAIN, ilk_op_status(list, NULL));
    assert_ends(ILK_OK, client, list);
    ilk_op_free(ping);
}

TEST(a_list_is_freed_or_closed_half_way)
{
    ilk_client *own = open_client();
    ilk_op *op;

    fill();
    assert_status(ILK_OK, ilk_list_open_start(&op, own, 0, NULL, 0, &err));
    (void)turn(own, 1000);
    (void)turn(own, 1000);
    assert_int_equal(ILK_EAGAIN, ilk_op_status(op, NULL));
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_list_open_start(&op, own, 0, NULL, 0, &err));
    (void)turn(own, 1000);
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_ended(ILK_ECLOSED, own, op);
    assert_null(ilk_op_list(op));
    ilk_op_free(op);
    ilk_client_free(own);
}

TEST(the_inspection_goes_on_at_a_server_that_restarts_half_way)
{
    ilk_op *op;

    fill();
    assert_status(ILK_OK, ilk_list_open_start(&op, client, 0, NULL, 0, &err));
    (void)turn(client, 1000); /* one answer; the last is not on its way yet */
    assert_int_equal(ILK_EAGAIN, ilk_op_status(op, NULL));
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    assert_ended(ILK_OK, client, op);
    assert_true(ilk_list_count(ilk_op_list(op)) < NAMES); /* it is empty */
    ilk_op_free(op);
}
