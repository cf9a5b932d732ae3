/* SPDX-License-Identifier: MIT */
/* ut_change_history.c -- entries of a history, and what is no history. */
#include "gateway/change_history.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 5, SIZE = (MOST + 1) * ILK__CHANGE_ENTRY };

static char text[SIZE + 1];

static ilk__span whole(void)
{
    return (ilk__span){text, strlen(text)};
}

static void id_of(char out[ILK__CHANGE_ID + 1], int number)
{
    char token[16];

    snprintf(token, sizeof token, "token %d", number);
    ilk__change_id(out, (ilk__span){token, strlen(token)});
}

/* Put one more in front of the text. */
static void add_change(int number, size_t most)
{
    char id[ILK__CHANGE_ID + 1];
    ilk__buf out = {0};

    id_of(id, number);
    assert_int_equal(ILK_OK, ilk__changes_add(&out, id, number, whole(), most));
    assert_true(ilk__buf_len(&out) <= SIZE);
    memcpy(text, ilk__buf_data(&out), ilk__buf_len(&out));
    text[ilk__buf_len(&out)] = '\0';
    ilk__buf_free(&out);
}

/* The changes from `count` down to 1; each has its number as its version. */
static void write_changes(int count)
{
    text[0] = '\0';
    for (int i = 1; i <= count; i++) {
        add_change(i, MOST + 1);
        assert_int_equal(i * ILK__CHANGE_ENTRY, strlen(text));
    }
}

TEST(each_change_is_found)
{
    char id[ILK__CHANGE_ID + 1];

    write_changes(MOST);
    assert_true(ilk__changes_are_valid(whole(), MOST));
    for (int i = 1; i <= MOST; i++) {
        id_of(id, i);
        assert_int_equal(i, ilk__changes_find(whole(), id));
    }
    id_of(id, MOST + 1);
    assert_int_equal(0, ilk__changes_find(whole(), id));
    assert_int_equal(0, ilk__changes_find((ilk__span){"", 0}, id));
}

TEST(only_a_full_history_has_forgotten)
{
    write_changes(MOST - 1);
    assert_int_equal(0, ilk__changes_oldest(whole(), MOST));
    assert_int_equal(0, ilk__changes_oldest((ilk__span){"", 0}, MOST));
    write_changes(MOST);
    assert_int_equal(1, ilk__changes_oldest(whole(), MOST));
}

TEST(a_full_history_loses_its_oldest_change)
{
    char id[ILK__CHANGE_ID + 1];

    write_changes(MOST);
    add_change(MOST + 1, MOST);
    assert_true(ilk__changes_are_valid(whole(), MOST));
    assert_int_equal(2, ilk__changes_oldest(whole(), MOST));
    id_of(id, 1);
    assert_int_equal(0, ilk__changes_find(whole(), id));
}

TEST(other_texts_are_no_history)
{
    assert_true(ilk__changes_are_valid((ilk__span){"", 0}, MOST));
    write_changes(MOST + 1);
    assert_false(ilk__changes_are_valid(whole(), MOST));
    write_changes(2);
    text[strlen(text) - 1] = 'x';
    assert_false(ilk__changes_are_valid(whole(), MOST));
    text[strlen(text) - 1] = '\0';
    assert_false(ilk__changes_are_valid(whole(), MOST));
}
