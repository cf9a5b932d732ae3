/* SPDX-License-Identifier: MIT */
/* test.c -- the tests of a program, as cmocka runs them. */
#include "test.h"

#include <stdlib.h>

/* A program that has none needs not say so. */
/* Not const: clang would take these values for those of every program. */
__attribute__((weak)) test_fixture test_around_all = {NULL, NULL};
__attribute__((weak)) test_fixture test_around_each = {NULL, NULL};

static test_entry *first;

/* Constructors of one file may be called in any order. */
void test_register(test_entry *entry)
{
    test_entry **at = &first;

    while (*at != NULL && (*at)->line < entry->line)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
}

static int call(int (*step)(void))
{
    return step ? step() : 0;
}

static int begin_group(void **state)
{
    (void)state;
    return call(test_around_all.setup);
}

static int end_group(void **state)
{
    (void)state;
    return call(test_around_all.teardown);
}

int test_run_made(const char *group, const struct CMUnitTest *tests,
                  size_t count)
{
    return _cmocka_run_group_tests(group, tests, count, begin_group, end_group);
}

static void run_body(void **state)
{
    const test_entry *entry = *state;

    entry->body();
}

static int begin_test(void **state)
{
    const test_entry *entry = *state;

    return call(entry->fixture->setup);
}

static int end_test(void **state)
{
    const test_entry *entry = *state;

    return call(entry->fixture->teardown);
}

int test_run_all(void)
{
    struct CMUnitTest *tests;
    size_t count = 0;
    int failed;

    for (const test_entry *entry = first; entry != NULL; entry = entry->next)
        count++;
    if (count == 0)
        return 1; /* what tests nothing has not passed */
    tests = calloc(count, sizeof *tests);
    if (tests == NULL)
        return 1;
    count = 0;
    for (test_entry *entry = first; entry != NULL; entry = entry->next)
        tests[count++] = (struct CMUnitTest){
            .name = entry->name,
            .test_func = run_body,
            .setup_func = begin_test,
            .teardown_func = end_test,
            .initial_state = entry,
        };
    failed = test_run_made("tests", tests, count);
    free(tests);
    return failed;
}
