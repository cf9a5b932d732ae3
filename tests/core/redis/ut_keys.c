/* SPDX-License-Identifier: MIT */
/*
 * ut_keys.c -- names and the keys that belong to them.
 *
 * The properties are checked against a slot function of our own, over all
 * short names of a small alphabet and over random ones. ILK_TEST_SEED sets
 * the seed, which is printed.
 */
#include "redis/keys.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

static const char kind[] = "lock:fence";

/* By the cluster specification: CRC-16/XMODEM of the tag or of all. */
static unsigned slot_of(const char *key, size_t len)
{
    unsigned crc = 0;
    const char *open = memchr(key, '{', len), *close = NULL;

    if (open != NULL)
        close = memchr(open, '}', len - (size_t)(open - key));
    if (close != NULL && close != open + 1) {
        len = (size_t)(close - open) - 1;
        key = open + 1;
    }
    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned)(unsigned char)key[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
        crc &= 0xffff;
    }
    return crc % 16384;
}

static void assert_key(const char *name, size_t len, const char *expected)
{
    ilk__bytes key;

    assert_int_equal(ilk__side_key(&key, kind, name, len, NULL), ILK_OK);
    assert_int_equal(key.len, strlen(expected));
    assert_memory_equal(key.data, expected, key.len + 1);
    ilk__free(key.data);
}

TEST(slots_are_those_of_the_specification)
{
    assert_int_equal(slot_of("123456789", 9), 0x31c3);
    assert_int_equal(slot_of("foo{bar}zap", 11), slot_of("bar", 3));
    assert_int_equal(slot_of("foo{{bar}}zap", 13), slot_of("{bar", 4));
    assert_int_not_equal(slot_of("{}x", 3), slot_of("x", 1));
}

TEST(a_plain_name_becomes_the_tag)
{
    assert_key("orders", 6, "ilk:lock:fence:{orders}");
    assert_key("a{b", 3, "ilk:lock:fence:{a{b}");
    assert_key("{", 1, "ilk:lock:fence:{{}");
}

TEST(a_name_with_a_tag_brings_it_along)
{
    assert_key("{a}b", 4, "ilk:lock:fence={a}b");
    assert_key("x}{t}", 5, "ilk:lock:fence=x}{t}");
}

TEST(a_name_that_can_share_no_tag_stands_alone)
{
    assert_key("x}y", 3, "ilk:lock:fence~x}y");
    assert_key("{}x", 3, "ilk:lock:fence~{}x");
    assert_key("{}{a}", 5, "ilk:lock:fence~{}{a}");
    assert_key("x}{t", 4, "ilk:lock:fence~x}{t");
}

TEST(a_key_may_hold_any_bytes)
{
    ilk__bytes key;

    assert_int_equal(ilk__side_key(&key, "k", "a\0\r\n\xff", 5, NULL), ILK_OK);
    assert_int_equal(key.len, 13);
    assert_memory_equal(key.data, "ilk:k:{a\0\r\n\xff}", 14);
    ilk__free(key.data);
}

TEST(names_that_are_not_acceptable_are_refused)
{
    char longest[ILK_NAME_MAX + 1];
    ilk_error err;

    memset(longest, 'n', sizeof longest);
    assert_int_equal(ilk__name_check(longest, ILK_NAME_MAX, "name", NULL),
                     ILK_OK);
    assert_int_equal(ilk__name_check("ilk", 3, "name", NULL), ILK_OK);
    assert_int_equal(ilk__name_check("\0", 1, "name", NULL), ILK_OK);

    assert_int_equal(ilk__name_check(longest, sizeof longest, "name", &err),
                     ILK_EINVAL);
    assert_string_equal(err.msg, "name must have 1 to 512 bytes, got 513");
    assert_int_equal(ilk__name_check("", 0, "name", &err), ILK_EINVAL);
    assert_int_equal(ilk__name_check(NULL, 3, "name", &err), ILK_EINVAL);
    assert_int_equal(ilk__name_check("ilk:x", 5, "lock name", &err),
                     ILK_EINVAL);
    assert_string_equal(
        err.msg, "lock name must not begin with \"ilk:\", got \"ilk:x\"");
}

TEST(no_memory_is_a_status)
{
    ilk__bytes key;

    ilk__alloc_fail_at(1);
    assert_int_equal(ilk__side_key(&key, kind, "a", 1, NULL), ILK_ENOMEM);
    ilk__alloc_fail_at(0);
    assert_null(key.data);
    assert_int_equal(key.len, 0);
}

TEST(a_thing_has_a_key_for_each_kind)
{
    const char *const kinds[] = {NULL, "lock:fence"};
    ilk__bytes keys[2];

    assert_int_equal(ilk__keys_make(keys, kinds, 2, "orders", 6, NULL), ILK_OK);
    assert_int_equal(keys[0].len, 6);
    assert_string_equal(keys[0].data, "orders");
    assert_string_equal(keys[1].data, "ilk:lock:fence:{orders}");
    ilk__keys_free(keys, 2);
    assert_null(keys[0].data);

    assert_int_equal(ilk__keys_make(keys, kinds, 2, "ilk:", 4, NULL),
                     ILK_EINVAL);
    ilk__keys_free(keys, 2);

    for (long nth = 1; nth <= 2; nth++) {
        ilk__alloc_fail_at(nth);
        assert_int_equal(ilk__keys_make(keys, kinds, 2, "orders", 6, NULL),
                         ILK_ENOMEM);
        ilk__alloc_fail_at(0);
        ilk__keys_free(keys, 2);
    }
}

TEST(keys_that_are_no_side_key_of_the_kind_have_no_name)
{
    static const char *const foreign[] = {
        "",
        "ilk:",
        "orders",
        "ilk:lock:fence",
        "ilk:lock:fence:",
        "ilk:lock:fence:{",
        "ilk:lock:fence:{}",
        "ilk:lock:fence:{a",
        "ilk:lock:fence:{a}b",
        "ilk:lock:fence:{a}}",
        "ilk:lock:fence=",
        "ilk:lock:fence=plain",
        "ilk:lock:fence=x}y",
        "ilk:lock:fence~",
        "ilk:lock:fence~plain",
        "ilk:lock:fence~{a}",
        "ilk:lock:wait:{a}",
        "ilk:lock:{a}",
        "ilk:lock:fences:{a}",
        "xlk:lock:fence:{a}",
        "ilk:lock:fence:{a}1",
    };
    /* These are side keys, but not keys of parts. */
    static const char *const whole[] = {
        "ilk:lock:fence~}/b/2", "ilk:lock:fence~}/b/9999999999",
        "ilk:lock:fence~}b/1",  "ilk:lock:fence~}b/",
        "ilk:lock:fence={a}/1",
    };
    const char *name;
    size_t len;

    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        assert_false(
            ilk__part_key_name(whole[i], strlen(whole[i]), kind, &name, &len));
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        assert_false(ilk__side_key_name(foreign[i], strlen(foreign[i]), kind,
                                        &name, &len));
        assert_false(ilk__part_key_name(foreign[i], strlen(foreign[i]), kind,
                                        &name, &len));
    }
}

/* Parts of any bytes, behind each form of a name. */
static void check_part(const ilk__bytes *front, const char *name, size_t len)
{
    static const char *const parts[] = {"a",  "a/1", "}/b",    "12",
                                        "/",  "{b:", "a/12/3", "%",
                                        "{}", "%7b", "{a}/3"};
    const char *back;
    size_t back_len;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ilk__bytes key;

        assert_int_equal(
            ilk__part_key(&key, front, kind, parts[i], strlen(parts[i]), NULL),
            ILK_OK);
        assert_true(
            ilk__part_key_name(key.data, key.len, kind, &back, &back_len));
        assert_int_equal(back_len, len);
        assert_memory_equal(back, name, len);
        ilk__free(key.data);
    }
    assert_false(
        ilk__part_key_name(front->data, front->len, kind, &back, &back_len));
}

/* All that must hold for one name; the key is left in out. */
static void check_name(const char *name, size_t len, ilk__bytes *out)
{
    const char *back;
    size_t back_len;

    assert_int_equal(ilk__side_key(out, kind, name, len, NULL), ILK_OK);
    assert_true(
        ilk__side_key_name(out->data, out->len, kind, &back, &back_len));
    assert_int_equal(back_len, len);
    assert_memory_equal(back, name, len);
    assert_false(
        ilk__side_key_name(out->data, out->len, "lock:wait", &back, &back_len));
    check_part(out, name, len);
    assert_int_equal(ilk__name_check(out->data, out->len, "name", NULL),
                     ILK_EINVAL);
    if (ilk__name_has_slot(name, len))
        assert_int_equal(slot_of(out->data, out->len), slot_of(name, len));
}

static int by_bytes(const void *a, const void *b)
{
    const ilk__bytes *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->data, y->data, n);

    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* All names of 1 to 5 bytes out of these: what the forms turn on. */
TEST(short_names_have_keys_of_their_own_in_their_slot)
{
    static const char alphabet[] = {'{', '}', 'a', '=', '~', ':'};
    enum { LETTERS = sizeof alphabet, LONGEST = 5, MOST = 10000 };
    static ilk__bytes keys[MOST];
    size_t count = 0, names = 1;

    for (size_t len = 1; len <= LONGEST; len++) {
        names *= LETTERS;
        for (size_t n = 0; n < names; n++) {
            char name[LONGEST];
            size_t digits = n;

            for (size_t i = 0; i < len; i++, digits /= LETTERS)
                name[i] = alphabet[digits % LETTERS];
            check_name(name, len, &keys[count++]);
        }
    }
    qsort(keys, count, sizeof keys[0], by_bytes);
    for (size_t i = 1; i < count; i++)
        assert_int_not_equal(by_bytes(&keys[i - 1], &keys[i]), 0);
    for (size_t i = 0; i < count; i++)
        ilk__free(keys[i].data);
}

/* The `n`-th text of this length. */
static void write_text(char *out, size_t len, size_t n, const char *alphabet)
{
    for (size_t i = 0; i < len; i++, n /= strlen(alphabet))
        out[i] = alphabet[n % strlen(alphabet)];
}

/* Rights on keys are given by patterns such as ilk:*{b:*. */
TEST(no_part_begins_a_tag)
{
    ilk__bytes front, key;

    assert_int_equal(ilk__side_key(&front, "kv", "a:x", 3, NULL), ILK_OK);
    assert_int_equal(
        ilk__part_key(&key, &front, "kv", "{b:stock}100%", 13, NULL), ILK_OK);
    assert_string_equal(key.data, "ilk:kv:{a:x}/%7bb:stock}100%25");
    assert_int_equal(key.len, strlen(key.data));
    ilk__free(key.data);
    ilk__free(front.data);
}

/* All names of 1 to 3 bytes with all parts of 1 or 2. */
TEST(parts_have_keys_of_their_own)
{
    static const char alphabet[] = "{}/1%";
    enum { LETTERS = sizeof alphabet - 1, MOST = 10000 };
    static ilk__bytes keys[MOST];
    size_t count = 0, names = 1;

    for (size_t len = 1; len <= 3; len++) {
        names *= LETTERS;
        for (size_t n = 0; n < names; n++) {
            ilk__bytes front;
            char name[3], part[2];

            write_text(name, len, n, alphabet);
            check_name(name, len, &front);
            for (size_t p = 0; p < LETTERS + LETTERS * LETTERS; p++) {
                const size_t part_len = p < LETTERS ? 1 : 2;

                write_text(part, part_len, p < LETTERS ? p : p - LETTERS,
                           alphabet);
                assert_int_equal(ILK_OK,
                                 ilk__part_key(&keys[count], &front, kind, part,
                                               part_len, NULL));
                if (ilk__name_has_slot(name, len))
                    assert_int_equal(slot_of(keys[count].data, keys[count].len),
                                     slot_of(name, len));
                count++;
            }
            ilk__free(front.data);
        }
    }
    qsort(keys, count, sizeof keys[0], by_bytes);
    for (size_t i = 1; i < count; i++)
        assert_int_not_equal(by_bytes(&keys[i - 1], &keys[i]), 0);
    for (size_t i = 0; i < count; i++)
        ilk__free(keys[i].data);
}

/* A random pair of names, often nearly equal. */
static void make_pair(char *a, size_t *a_len, char *b, size_t *b_len)
{
    static const char bytes[] = "{}{}:=~ilk\0\r\n\xff"
                                "ab";

    *a_len = 1 + (size_t)rand() % 20;
    for (size_t i = 0; i < *a_len; i++)
        a[i] = bytes[(size_t)rand() % (sizeof bytes - 1)];
    memcpy(b, a, *a_len);
    *b_len = *a_len;
    switch (rand() % 4) {
    case 0: b[rand() % (int)*b_len] = '{'; break;
    case 1: b[rand() % (int)*b_len] = '}'; break;
    case 2: b[(*b_len)++] = '}'; break;
    default: break;
    }
}

TEST(random_names_are_equal_exactly_when_their_keys_are)
{
    const char *given = getenv("ILK_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10)
                                  : (unsigned)time(NULL);

    print_message("ILK_TEST_SEED=%u\n", seed);
    srand(seed);
    for (int round = 0; round < 50000; round++) {
        char a[32], b[32];
        size_t a_len, b_len;
        ilk__bytes x, y;

        make_pair(a, &a_len, b, &b_len);
        check_name(a, a_len, &x);
        check_name(b, b_len, &y);
        assert_int_equal(a_len == b_len && memcmp(a, b, a_len) == 0,
                         by_bytes(&x, &y) == 0);
        ilk__free(x.data);
        ilk__free(y.data);
    }
}
