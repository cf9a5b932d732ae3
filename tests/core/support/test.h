/* SPDX-License-Identifier: MIT */
/*
 * test.h -- what a test in C is written with: cmocka, and tests that register
 * themselves.
 *
 *     AROUND_ALL(server_setup, server_teardown); (once in a program)
 *     AROUND_EACH(open_lane, close_lane);        (around each TEST of it)
 *
 *     TEST(a_stopped_client_starts_no_wait)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 * A program's tests are in one file and run in its order. test_main.c has main(),
 * whose argument is a pattern of the names of those to run; a program that needs
 * another main() calls test_run_all() there. A set-up returns 0, or another number
 * if it fails. One that finds nothing to test with leaves by exit(77), and ctest
 * counts the program as skipped.
 */
#ifndef ILK__TEST_H
#define ILK__TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Functions called before tests and after them; NULL: none. */
typedef struct test_fixture {
    int (*setup)(void);
    int (*teardown)(void);
} test_fixture;

typedef struct test_entry {
    const char *name;
    void (*body)(void);
    const test_fixture *fixture;
    int line;
    struct test_entry *next;
} test_entry;

extern test_fixture test_around_all, test_around_each;

#define AROUND_ALL(setup, teardown)                                            \
    test_fixture test_around_all = {setup, teardown}
#define AROUND_EACH(setup, teardown)                                           \
    test_fixture test_around_each = {setup, teardown}

#define TEST(name) TEST_OF(&test_around_each, name)
/* With a fixture of its own instead of AROUND_EACH's. */
#define TEST_WITH(setup, teardown, name)                                       \
    TEST_OF(&((const test_fixture){setup, teardown}), name)

/* Registered before main(): no list of tests is needed that could lack one. */
#define TEST_OF(fixture, test)                                                 \
    static void test(void);                                                    \
    static test_entry test##_entry = {#test, test, fixture, __LINE__, NULL};   \
    __attribute__((constructor)) static void test##_is_a_test(void)            \
    {                                                                          \
        test_register(&test##_entry);                                          \
    }                                                                          \
    static void test(void)

void test_register(test_entry *entry);

/* Run what TEST registered; how many failed, for main() to return. */
int test_run_all(void);

/*
 * Run tests that a program makes itself, such as one for each row of a table,
 * under the title `group`; how many failed.
 */
int test_run_made(const char *group, const struct CMUnitTest *tests,
                  size_t count);

/* Leave the test out that this stands in, and say so and why. */
#define skip_because(why)                                                      \
    do {                                                                       \
        print_error("SKIPPED: %s: %s\n", __func__, why);                       \
        skip();                                                                \
    } while (0)

#endif
