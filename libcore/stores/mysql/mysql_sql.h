/* SPDX-License-Identifier: MIT */
/*
 * mysql_sql.h -- composes the statements. A statement is a text with marks:
 *
 *     {t}   the table            {k}   the condition on kind and name
 *     {now} the server's time    {b}   bytes, as x'..': an ilk__span
 *     {i}   an int64_t           {l}   the name of the queue's lock, as a text
 *     {s}   a text that is SQL already
 *     {get} gets the queue's lock, if nobody has it: 1, 0, NULL; once in a statement
 */
#ifndef ILK__MYSQL_SQL_H
#define ILK__MYSQL_SQL_H

#include "mysql_conn.h"

enum { ILK__MYSQL_QUEUE_LOCK = 24 };

/* The row of a statement. */
typedef struct ilk__mysql_subject {
    const char *table; /* quoted */
    char kind;         /* 'l': a lock, 'e': an election, 'r': a register */
    ilk__span name;
    const char *queue_lock;
} ilk__mysql_subject;

/* Marks an incomplete statement in job->no_memory. */
void ilk__mysql_compose(ilk__mysql_job *job, const ilk__mysql_subject *subject,
                        const char *format, ...);

/* The statement has failed, and will be executed again in its session. */
void ilk__mysql_job_repeats(ilk__mysql_job *job);

/* The table's name, quoted, of an identifier. NULL: no memory. */
char *ilk__mysql_quote(const char *database, const char *table);

/* The lock of the wait queue of a name: the same for all clients. */
void ilk__mysql_queue_lock_name(char out[ILK__MYSQL_QUEUE_LOCK],
                                const char *table, char kind, ilk__span name);

#endif
