/* SPDX-License-Identifier: MIT */
/*
 * started_rows.h -- what the two tables of started operations share (waits and
 * requests, in tests/core/client), and the tests that play all their rows.
 *
 * A test of this kind has an array of rows under way, and sets row_name to the
 * row whose turn it is, so that each failure names its row.
 */
#ifndef ILK__STARTED_ROWS_H
#define ILK__STARTED_ROWS_H

#include "started.h"
#include "state_case.h"

/* ---- for the tables ----------------------------------------------------- */

/* Defines start_<row>(), which calls the function, and function_<row>, its name.
 * A table defines START_PARAMETERS, those of its rows' functions. */
#define START(row, function, ...)                                              \
    static const char function_##row[] = #function;                            \
    static ilk_status start_##row(START_PARAMETERS)                            \
    {                                                                          \
        return function(__VA_ARGS__);                                          \
    }
#define STARTS(row) .function = function_##row, .start = start_##row

/* Defines start_wrong_<row>(), a call that must be refused. */
#define START_WRONG(row, function, ...)                                        \
    static ilk_status start_wrong_##row(ilk_op **out, void *handle,            \
                                        ilk_error *err)                        \
    {                                                                          \
        return function(__VA_ARGS__);                                          \
    }
#define REFUSES(row) .start_wrong = start_wrong_##row

/* Defines free_<noun>(). */
#define ROW_FREE(noun)                                                         \
    static void free_##noun(void *handle)                                      \
    {                                                                          \
        ilk_##noun##_free(handle);                                             \
    }

/* Of two names: "first." and the name, then the name. */
void *open_two_locks(ilk_client *of, const char *name);

/* ---- for the tests ------------------------------------------------------ */

/* Around each test: a server without keys, `client` and `other`. */
int rows_setup(void);
int rows_teardown(void);

/* A command of a table, with the name put in for each @. */
const char *filled(const char *pattern, const char *name);

/* The loop has a connection, and the server has answered all that was sent. */
void ping_loop(ilk_client *of);
/* The loop has noticed that the server is away, so that nothing is written to
 * the old connection. */
void await_loss(ilk_client *of);
/* The status with which it ended; ILK_EAGAIN when it goes on after 10 s. */
ilk_status await_op_end(ilk_client *of, ilk_op *op);

/* The error of a start with a NULL handle of this noun, or with no `out`. */
void assert_handle_refused(const ilk_error *err, const char *noun);
void assert_out_refused(const ilk_error *err);

/* In a child: an operation of the parent. */
void demand_op_forked(ilk_op *op);

#endif
