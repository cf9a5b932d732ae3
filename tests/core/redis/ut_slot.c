/* SPDX-License-Identifier: MIT */
/* ut_slot.c -- slots are those of the cluster's specification. */
#include "redis/slot.h"

#include "base/alloc.h"
#include "redis/keys.h"

#include <string.h>

#include "test.h"

static int slot_of(const char *key)
{
    return ilk__slot_of((ilk__span){key, strlen(key)});
}

TEST(the_vectors_of_the_specification)
{
    assert_int_equal(slot_of("123456789"), 0x31c3);
    assert_int_equal(slot_of(""), 0);
    assert_int_equal(slot_of("foo"), 12182);
    assert_int_equal(slot_of("hello"), 866);
    assert_int_equal(ilk__slot_of((ilk__span){"\xff\x80\0z", 4}),
                     ilk__slot_of((ilk__span){"x{\xff\x80\0z}y", 8}));
}

TEST(the_hash_tags_of_the_specification)
{
    assert_int_equal(slot_of("{user1000}.following"), slot_of("user1000"));
    assert_int_equal(slot_of("foo{bar}{zap}"), slot_of("bar"));
    assert_int_equal(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    assert_int_not_equal(slot_of("foo{}{bar}"), slot_of("bar"));
    assert_int_not_equal(slot_of("foo{bar"), slot_of("bar"));
    assert_int_not_equal(slot_of("}foo{"), slot_of("foo"));
    assert_int_equal(ilk__slot_tag((ilk__span){"foo{}{bar}", 10}).len, 10);
    assert_int_equal(ilk__slot_tag((ilk__span){"a{b}", 4}).len, 1);
    assert_int_equal(ilk__slot_tag((ilk__span){"a{", 2}).len, 2);
    assert_int_equal(ilk__slot_tag((ilk__span){"a{}", 3}).len, 3);
}

/* A cluster refuses the others. */
TEST(side_keys_are_in_the_slot_of_their_name)
{
    static const char *const names[] = {"orders", "{a}b", "a{b}c", "a{b",
                                        "{{a}b",  "x}y",  "{}x",   "a}{b}"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t len = strlen(names[i]);
        ilk__bytes key;

        assert_int_equal(ilk__side_key(&key, "lock:fence", names[i], len, NULL),
                         ILK_OK);
        assert_int_equal(ilk__slot_of((ilk__span){key.data, key.len})
                             == slot_of(names[i]),
                         ilk__name_has_slot(names[i], len));
        ilk__free(key.data);
    }
}
