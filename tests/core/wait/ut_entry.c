/* SPDX-License-Identifier: MIT */
/* ut_entry.c -- the text of a waiter in a waiting list. */
#include "wait/entry.h"

#include <string.h>

#include "cmocka_all.h"

static const ilk__entry entry = {.kind = 'x',
                                 .client = "c0ffee",
                                 .waiter = 17,
                                 .secret = "5ec",
                                 .token = "t0k3n",
                                 .lease_ms = 30000,
                                 .permits = 2,
                                 .who = "host:12 two words"};

static int reads(ilk__entry_text *out, const char *text)
{
    return ilk__entry_read(out, text, strlen(text));
}

static void what_is_written_is_read(void **state)
{
    char text[ILK__ENTRY_MAX];
    ilk__entry_text found;
    size_t len = ilk__entry_write(text, &entry);

    (void)state;
    assert_string_equal(text,
                        "1 x c0ffee x17.5ec t0k3n 30000 2 host:12 two words");
    assert_int_equal(len, strlen(text));
    assert_true(ilk__entry_read(&found, text, len));
    assert_memory_equal(found.token, "t0k3n", found.token_len);
    assert_int_equal(found.token_len, 5);
    assert_int_equal(found.permits, 2);
    assert_int_equal(found.who_len, strlen(entry.who));
    assert_memory_equal(found.who, entry.who, found.who_len);
}

static void a_signal_has_a_version_of_its_own(void **state)
{
    char text[ILK__ENTRY_MAX];
    ilk__entry of = entry;

    (void)state;
    of.kind = 's';
    ilk__entry_write(text, &of);
    assert_string_equal(text,
                        "2 s c0ffee s17.5ec t0k3n 30000 2 host:12 two words");
}

static void a_label_that_is_too_long_is_cut(void **state)
{
    char text[ILK__ENTRY_MAX], label[2 * ILK__ENTRY_MAX];
    ilk__entry of = entry;
    ilk__entry_text found;

    (void)state;
    memset(label, 'l', sizeof label);
    label[sizeof label - 1] = '\0';
    of.who = label;
    assert_int_equal(ilk__entry_write(text, &of), ILK__ENTRY_MAX - 1);
    assert_int_equal(strlen(text), ILK__ENTRY_MAX - 1);
    assert_true(reads(&found, text));
}

static void other_texts_are_no_entries(void **state)
{
    static const char *const texts[] = {
        "",
        "1",
        "1 x c x1 t 1 1",
        "2 x c x1 t 1 1 h",
        "11 x c x1 t 1 1 h",
        "1 xx c x1 t 1 1 h",
        "1 x c x1 t 1 -1 h",
        "1 x c x1 t 1  h",
        "1 x c x1 t 1 1x h",
        "1 x c x1 t 1 9999999999999999999999 h",
    };
    ilk__entry_text found;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(reads(&found, texts[i]));
    assert_true(reads(&found, "1 x c x1 t 1 1 "));
    assert_int_equal(found.who_len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_signal_has_a_version_of_its_own),
        cmocka_unit_test(a_label_that_is_too_long_is_cut),
        cmocka_unit_test(other_texts_are_no_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
