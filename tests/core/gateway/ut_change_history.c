/* SPDX-License-Identifier: MIT */
/* ut_change_history.c -- entries of a history, and what is no history. */
#include "cmocka_all.h"
#include "gateway/change_history.h"

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

/* The changes from `count` down to 1; each has its number as its version. */
static void write_changes(int count)
{
    char id[ILK__CHANGE_ID + 1], entry[ILK__CHANGE_ENTRY + 1];

    text[0] = '\0';
    for (int i = count; i >= 1; i--) {
        id_of(id, i);
        ilk__change_entry(entry, id, i);
        assert_int_equal(ILK__CHANGE_ENTRY, strlen(entry));
        strcat(text, entry);
    }
}

static void each_change_is_found(void **state)
{
    char id[ILK__CHANGE_ID + 1];

    (void)state;
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

static void only_a_full_history_has_forgotten(void **state)
{
    (void)state;
    write_changes(MOST - 1);
    assert_int_equal(0, ilk__changes_oldest(whole(), MOST));
    assert_int_equal(0, ilk__changes_oldest((ilk__span){"", 0}, MOST));
    write_changes(MOST);
    assert_int_equal(1, ilk__changes_oldest(whole(), MOST));
}

static void other_texts_are_no_history(void **state)
{
    (void)state;
    assert_true(ilk__changes_are_valid((ilk__span){"", 0}, MOST));
    write_changes(MOST + 1);
    assert_false(ilk__changes_are_valid(whole(), MOST));
    write_changes(2);
    text[strlen(text) - 1] = 'x';
    assert_false(ilk__changes_are_valid(whole(), MOST));
    text[strlen(text) - 1] = '\0';
    assert_false(ilk__changes_are_valid(whole(), MOST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_found),
        cmocka_unit_test(only_a_full_history_has_forgotten),
        cmocka_unit_test(other_texts_are_no_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
