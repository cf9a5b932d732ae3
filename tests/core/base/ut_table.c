/* SPDX-License-Identifier: MIT */
/*
 * ut_table.c -- a hash table against a list that is searched from end to end.
 * The seed is printed; ILK_TEST_SEED sets it.
 */
#include "base/table.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "test.h"

AROUND_ALL(dice_seed, NULL);

enum { COUNT = 500, STEPS = 200000 };

static ilk__table table;
static ilk__node nodes[COUNT];
static char keys[COUNT][12];
static size_t lens[COUNT];
static int inside[COUNT];

/* Keys that differ in their length, in a NUL, in their last byte. */
static int setup(void)
{
    memset(&table, 0, sizeof table);
    memset(inside, 0, sizeof inside);
    for (int i = 0; i < COUNT; i++) {
        memset(keys[i], 0, sizeof keys[i]);
        if (i > 0 && i % 3 == 0) { /* the key before, and a NUL more */
            memcpy(keys[i], keys[i - 1], sizeof keys[i]);
            lens[i] = lens[i - 1] + 1;
        } else {
            lens[i] = (size_t)snprintf(keys[i], sizeof keys[i], "%d", i);
        }
    }
    return 0;
}

static int teardown(void)
{
    ilk__table_free(&table);
    return 0;
}

AROUND_EACH(setup, teardown);

static void add(int i)
{
    assert_int_equal(ilk__table_add(&table, &nodes[i], keys[i], lens[i]),
                     ILK_OK);
    inside[i] = 1;
}

TEST(an_empty_table_finds_nothing)
{
    size_t cursor = 0;

    assert_null(ilk__table_find(&table, "key", 3));
    assert_null(ilk__table_bucket(&table, &cursor));
}

TEST(keys_are_found_by_all_their_bytes)
{
    for (int i = 0; i < COUNT; i++)
        add(i);

    for (int i = 0; i < COUNT; i++)
        assert_ptr_equal(ilk__table_find(&table, keys[i], lens[i]), &nodes[i]);
    assert_null(ilk__table_find(&table, keys[10], lens[10] + 1));
    assert_null(ilk__table_find(&table, "", 0));
}

TEST(a_walk_meets_each_node_once)
{
    int met[COUNT] = {0};
    size_t cursor = 0;
    ilk__node *node;

    for (int i = 0; i < COUNT; i += 2)
        add(i);
    while ((node = ilk__table_bucket(&table, &cursor)))
        for (; node; node = node->next)
            met[node - nodes]++;

    for (int i = 0; i < COUNT; i++)
        assert_int_equal(met[i], inside[i]);
}

TEST(without_any_memory_nothing_is_added)
{
    ilk__alloc_fail_at(1);
    assert_int_equal(ilk__table_add(&table, &nodes[0], keys[0], lens[0]),
                     ILK_ENOMEM);
    ilk__alloc_fail_at(0);

    assert_int_equal(table.count, 0);
    assert_null(ilk__table_find(&table, keys[0], lens[0]));
}

TEST(without_memory_to_grow_it_goes_on)
{
    add(0);
    ilk__alloc_fail_at(1);
    for (int i = 1; i < COUNT; i++)
        add(i);
    ilk__alloc_fail_at(0);

    assert_int_equal(table.bucket_count, 16);
    for (int i = 0; i < COUNT; i++)
        assert_ptr_equal(ilk__table_find(&table, keys[i], lens[i]), &nodes[i]);
}

TEST(random_use_agrees_with_a_list)
{
    size_t count = 0;

    for (int step = 0; step < STEPS; step++) {
        int i = (int)dice(COUNT);
        int wanted = dice(step / 1000 % 2 ? 4 : 2) == 0;

        if (wanted && !inside[i]) {
            add(i);
            count++;
        } else if (!wanted && inside[i]) {
            ilk__table_remove(&table, &nodes[i]);
            inside[i] = 0;
            count--;
        }
        i = (int)dice(COUNT);
        assert_ptr_equal(ilk__table_find(&table, keys[i], lens[i]),
                         inside[i] ? &nodes[i] : NULL);
        assert_int_equal(table.count, count);
    }
}
