/* SPDX-License-Identifier: MIT */
/* ct_inspect_names.c -- finding the names of locks by a pattern. */
#include "lock_case.h"

#include <string.h>

AROUND_ALL(server_setup, server_teardown);
AROUND_EACH(server_flush, NULL);

typedef struct name {
    const char *bytes;
    size_t len;
} name;

#define NAME(literal)                                                          \
    {                                                                          \
        literal, sizeof(literal) - 1                                           \
    }

static ilk_list *find(ilk_client *client, const char *pattern)
{
    ilk_list *list = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_list_open(&list, client, pattern,
                                        pattern ? strlen(pattern) : 0, &err));
    return list;
}

static void assert_found(ilk_client *client, const char *pattern,
                         const name *names, size_t count)
{
    ilk_list *list = find(client, pattern);
    size_t len = 77;

    assert_int_equal(count, ilk_list_count(list));
    for (size_t i = 0; i < count; i++) {
        const char *found = ilk_list_name(list, i, &len);

        assert_int_equal(names[i].len, len);
        assert_memory_equal(names[i].bytes, found, len + 1);
    }
    assert_null(ilk_list_name(list, count, &len));
    assert_int_equal(0, len);
    ilk_list_free(list);
}

static void hold_once(ilk_client *client, const name *n)
{
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK,
                  ilk_lock_open(&lock, client, n->bytes, n->len, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
}

TEST(names_of_any_bytes_are_found_in_byte_order)
{
    static const name odd[] = {NAME("\0"), NAME("\r\n"), NAME(" "),
                               NAME("*"),  NAME("a"),    NAME("a\0b"),
                               NAME("a}"), NAME("x}{t"), NAME("{a}b"),
                               NAME("{}"), NAME("\xff")};
    const size_t count = sizeof odd / sizeof *odd;
    ilk_client *client = open_client();

    assert_found(client, NULL, NULL, 0);
    for (size_t i = count; i-- > 0;)
        hold_once(client, &odd[i]);
    fixture_command(&fx, "SET stranger x"); /* not known to this library */
    assert_found(client, NULL, odd, count);
    ilk_client_free(client);
}

TEST(pattern_is_a_glob_over_the_name)
{
    static const name orders[] = {NAME("orders:1"), NAME("orders:2"),
                                  NAME("orders:{2}"), NAME("orders}")};
    static const name other = NAME("customers");
    ilk_client *client = open_client();

    for (size_t i = 0; i < 4; i++)
        hold_once(client, &orders[i]);
    hold_once(client, &other);
    assert_found(client, "orders*", orders, 4);
    assert_found(client, "orders:?", orders, 2);
    assert_found(client, "orders:[2-9]", orders + 1, 1);
    assert_found(client, "*2}", orders + 2, 1);
    assert_found(client, "customers", &other, 1);
    assert_found(client, "custom", NULL, 0);
    ilk_client_free(client);
}

TEST(many_names_take_many_steps)
{
    ilk_client *client = open_client();
    ilk_list *list;

    for (int i = 0; i < 3000; i++)
        fixture_command(&fx, "HSET ilk:lock:fence:{n%04d} fence 1", i);
    list = find(client, "n*");
    assert_int_equal(3000, ilk_list_count(list));
    assert_string_equal("n0000", ilk_list_name(list, 0, NULL));
    assert_string_equal("n2999", ilk_list_name(list, 2999, NULL));
    ilk_list_free(list);
    ilk_client_free(client);
}

TEST(a_walk_finds_the_names_step_by_step)
{
    ilk_client *client = open_client();
    ilk_list *list = NULL;
    ilk_status st;
    ilk_error err = {0};
    size_t steps = 0, found = 0;

    for (int i = 0; i < 3000; i++)
        fixture_command(&fx, "HSET ilk:lock:fence:{n%04d} fence 1", i);
    assert_status(ILK_OK,
                  ilk_list_walk(&list, client, ILK_KIND_LOCK, "n*", 2, &err));
    assert_int_equal(0, ilk_list_count(list));
    while ((st = ilk_list_next(list, &err)) == ILK_OK) {
        size_t count = ilk_list_count(list);

        for (size_t i = 1; i < count; i++)
            assert_true(strcmp(ilk_list_name(list, i - 1, NULL),
                               ilk_list_name(list, i, NULL))
                        < 0);
        assert_null(ilk_list_name(list, count, NULL));
        found += count;
        steps++;
    }
    assert_status(ILK_EAGAIN, st);
    assert_int_equal(3000, found);
    assert_in_range(steps, 2, 10);
    assert_int_equal(0, ilk_list_count(list));
    assert_status(ILK_EAGAIN, ilk_list_next(list, &err));
    ilk_list_free(list);
    ilk_client_free(client);
}

TEST(a_walk_checks_its_arguments)
{
    char longest[ILK_NAME_MAX + 1] = "";
    ilk_client *client = open_client();
    ilk_list *list = NULL;
    ilk_error err = {0};

    assert_status(ILK_EINVAL, ilk_list_walk(NULL, client, 0, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_list_walk(&list, NULL, 0, NULL, 0, &err));
    assert_status(ILK_EINVAL,
                  ilk_list_walk(&list, client, 1 << 30, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_list_walk(&list, client, 0, longest,
                                            sizeof longest, &err));
    assert_status(ILK_EINVAL, ilk_list_next(NULL, &err));
    list = find(client, NULL); /* no walk */
    assert_status(ILK_EINVAL, ilk_list_next(list, &err));
    ilk_list_free(list);

    /* The list keeps its client. */
    assert_status(ILK_OK, ilk_list_walk(&list, client, 0, NULL, 0, &err));
    ilk_client_free(client);
    assert_status(ILK_OK, ilk_list_next(list, &err));
    ilk_list_free(list);
}
