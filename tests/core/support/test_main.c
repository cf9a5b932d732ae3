/* SPDX-License-Identifier: MIT */
/* test_main.c -- main() of a program of tests that has none. */
#include "test.h"

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return test_run_all();
}
