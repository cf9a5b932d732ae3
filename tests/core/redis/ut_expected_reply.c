/* SPDX-License-Identifier: MIT */
/* ut_expected_reply.c -- which replies belong to a command. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "op_case.h"
#include "redis/expected_reply.h"

#include "test.h"

AROUND_EACH(op_case_setup, op_case_teardown);

static ilk__match match(ilk__reply_kind kind, int64_t number, const char *text)
{
    const ilk__expected_reply expected = {kind, number};

    return ilk__match_reply(&expected, (ilk__reply *)op_case_reply(text));
}

TEST(the_number_proves_a_reply_and_is_removed)
{
    const ilk__expected_reply expected = {ILK__REPLIES_NUMBERED, 4294967296};
    ilk__reply *reply = (ilk__reply *)op_case_reply("274877906947 7");

    assert_int_equal(ilk__match_reply(&expected, reply), ILK__MATCH_PROVEN);
    assert_int_equal(reply->items[0]->num, 3);
    assert_int_equal(reply->items[1]->num, 7);
}

TEST(the_number_may_be_all_of_a_reply)
{
    const ilk__expected_reply expected = {ILK__REPLIES_NUMBERED, 4294967296};
    ilk__reply *reply = (ilk__reply *)op_case_reply(":274877906947\r\n");

    assert_int_equal(ilk__match_reply(&expected, reply), ILK__MATCH_PROVEN);
    assert_int_equal(reply->num, 3);
}

TEST(a_first_number_is_great)
{
    for (int i = 0; i < 1000; i++) {
        const int64_t number = ilk__first_request_number();

        assert_true(number >= INT64_C(1) << 32);
        assert_true(number < INT64_C(1) << 33);
    }
}

TEST(a_reply_with_another_number_or_none_is_foreign)
{
    static const char *const foreign[] = {"1",   /* no number */
                                          "64",  /* of request 1 */
                                          "192", /* of request 3 */
                                          "*1\r\n:-127\r\n",
                                          "*1\r\n:-9223372036854775808\r\n",
                                          "+OK\r\n",
                                          ":1\r\n",
                                          ":64\r\n",
                                          ":-127\r\n",
                                          "$-1\r\n",
                                          "*0\r\n",
                                          "*-1\r\n",
                                          "*1\r\n$3\r\n129\r\n",
                                          "*1\r\n*1\r\n:129\r\n"};

    assert_int_equal(match(ILK__REPLIES_NUMBERED, 2, "129"), ILK__MATCH_PROVEN);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_int_equal(match(ILK__REPLIES_NUMBERED, 2, foreign[i]),
                         ILK__MATCH_FOREIGN);
}

TEST(without_a_number_the_type_must_be_right)
{
    assert_int_equal(match(ILK__REPLIES_INT, 0, ":1\r\n"), ILK__MATCH_POSSIBLE);
    assert_int_equal(match(ILK__REPLIES_INT, 0, "+1\r\n"), ILK__MATCH_FOREIGN);
    assert_int_equal(match(ILK__REPLIES_INT, 0, ":274877906943\r\n"),
                     ILK__MATCH_POSSIBLE);
    assert_int_equal(match(ILK__REPLIES_INT, 0, ":274877906949\r\n"),
                     ILK__MATCH_FOREIGN); /* a script's, request 2^32 */
    assert_int_equal(match(ILK__REPLIES_STR, 0, "+PONG\r\n"),
                     ILK__MATCH_POSSIBLE);
    assert_int_equal(match(ILK__REPLIES_STR, 0, "1 2"), ILK__MATCH_FOREIGN);
    assert_int_equal(match(ILK__REPLIES_ARRAY, 0, "1 2"), ILK__MATCH_POSSIBLE);
    assert_int_equal(match(ILK__REPLIES_ARRAY, 0, "$-1\r\n"),
                     ILK__MATCH_FOREIGN);
    assert_int_equal(match(ILK__REPLIES_ANY, 0, "$-1\r\n"),
                     ILK__MATCH_POSSIBLE);
}

TEST(an_error_may_be_the_reply_to_any_command)
{
    for (int kind = ILK__REPLIES_ANY; kind <= ILK__REPLIES_ARRAY; kind++)
        assert_int_equal(match((ilk__reply_kind)kind, 5, "-ERR no\r\n"),
                         ILK__MATCH_POSSIBLE);
}
