/* SPDX-License-Identifier: MIT */
/* ut_entry.c -- the text of a waiter in a waiting list. */
#include "wait/entry.h"

#include <string.h>

#include "test.h"

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

TEST(what_is_written_is_read)
{
    char text[ILK__ENTRY_MAX];
    ilk__entry_text found;
    size_t len = ilk__entry_write(text, &entry);

    assert_string_equal(text,
                        "1 x c0ffee x17.5ec t0k3n 30000 2 host:12 two words");
    assert_int_equal(len, strlen(text));
    assert_true(ilk__entry_read(&found, text, len));
    assert_memory_equal(found.token, "t0k3n", found.token_len);
    assert_int_equal(found.token_len, 5);
    assert_int_equal(found.permits, 2);
    assert_int_equal(found.who.label_len, strlen(entry.who));
    assert_memory_equal(found.who.label, entry.who, found.who.label_len);
    assert_int_equal(found.who.client_len, strlen(entry.client));
    assert_memory_equal(found.who.client, entry.client, found.who.client_len);
}

TEST(a_signal_has_a_version_of_its_own)
{
    char text[ILK__ENTRY_MAX];
    ilk__entry of = entry;

    of.kind = 's';
    ilk__entry_write(text, &of);
    assert_string_equal(text,
                        "2 s c0ffee s17.5ec t0k3n 30000 2 host:12 two words");
    assert_true(ilk__entry_read(&(ilk__entry_text){0}, text, strlen(text)));
}

static void is_who(const char *text, const char *client, const char *label)
{
    const ilk__who found = ilk__who_read(text, strlen(text));

    assert_int_equal(found.client_len, strlen(client));
    assert_memory_equal(found.client, client, found.client_len);
    assert_int_equal(found.label_len, strlen(label));
    assert_memory_equal(found.label, label, found.label_len);
}

TEST(a_record_has_client_and_label)
{
    is_who("0123456789abcdef host:12", "0123456789abcdef", "host:12");
    is_who("0123456789abcdef ", "0123456789abcdef", "");
}

TEST(a_record_of_an_earlier_version_has_the_label_alone)
{
    static const char *const labels[] = {
        "",
        "host:12",
        "0123456789abcdef",
        "0123456789abcde host",
        "0123456789abcdef0 host",
        "0123456789abcdeF host",
    };

    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        is_who(labels[i], "", labels[i]);
}

TEST(stores_without_entries_show_the_client_in_who)
{
    ilk__entry_text found;

    assert_true(reads(&found, "1 x - x0.- t 0 1 0123456789abcdef host:12"));
    assert_int_equal(found.who.client_len, 16);
    assert_int_equal(found.who.label_len, 7);
    assert_true(reads(&found, "1 x - x0.- t 0 1 host:12"));
    assert_int_equal(found.who.client_len, 0);
}

TEST(a_label_that_is_too_long_is_cut)
{
    char text[ILK__ENTRY_MAX], label[2 * ILK__ENTRY_MAX];
    ilk__entry of = entry;
    ilk__entry_text found;

    memset(label, 'l', sizeof label);
    label[sizeof label - 1] = '\0';
    of.who = label;
    assert_int_equal(ilk__entry_write(text, &of), ILK__ENTRY_MAX - 1);
    assert_int_equal(strlen(text), ILK__ENTRY_MAX - 1);
    assert_true(reads(&found, text));
}

TEST(other_texts_are_no_entries)
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

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(reads(&found, texts[i]));
    assert_true(reads(&found, "1 x c x1 t 1 1 "));
    assert_int_equal(found.who.label_len, 0);
}
