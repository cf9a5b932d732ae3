/* SPDX-License-Identifier: MIT */
/* mysql_sql.c -- composes the statements, with all bytes of users as hexadecimal. */
#include "mysql_sql.h"

#include "base/alloc.h"
#include "base/hex.h"
#include "base/siphash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Microseconds since 1970 in UTC, as of the beginning of the statement. A session's
 * time zone has no part in it. */
#define NOW "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"

static void add(ilk__mysql_job *job, const char *text, size_t len)
{
    if (len && ilk__buf_add(&job->sql, text, len) != ILK_OK)
        job->no_memory = 1;
}

static void add_text(ilk__mysql_job *job, const char *text)
{
    add(job, text, strlen(text));
}

static int is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
           || (c >= 'A' && c <= 'Z') || (c && strchr(" .:_@-", c));
}

static void add_bytes(ilk__mysql_job *job, ilk__span bytes)
{
    char *room = ilk__buf_reserve(&job->sql, 2 * bytes.len + 3), *at = room;

    if (!room) {
        job->no_memory = 1;
        return;
    }
    *at++ = 'x';
    *at++ = '\'';
    for (size_t i = 0; i < bytes.len; i++)
        at = ilk__hex(at, (unsigned char)bytes.at[i]);
    *at++ = '\'';
    ilk__buf_grew(&job->sql, (size_t)(at - room));
}

/* Text of users inside a comment, which it cannot end, and which does not begin with what
 * servers execute. */
static void add_comment(ilk__mysql_job *job, ilk__span text)
{
    char *room = ilk__buf_reserve(&job->sql, 3 * text.len + 1), *at = room;

    if (!room) {
        job->no_memory = 1;
        return;
    }
    for (size_t i = 0; i < text.len; i++)
        if (is_plain(text.at[i])) {
            *at++ = text.at[i];
        } else {
            *at++ = '%';
            at = ilk__hex(at, (unsigned char)text.at[i]);
        }
    ilk__buf_grew(&job->sql, (size_t)(at - room));
}

static void add_number(ilk__mysql_job *job, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    add_text(job, text);
}

static void add_key(ilk__mysql_job *job, const ilk__mysql_subject *subject)
{
    add_text(job, "kind='");
    add(job, &subject->kind, 1);
    add_text(job, "' AND name=");
    add_bytes(job, subject->name);
}

static void add_lock(ilk__mysql_job *job, const char *lock)
{
    add_text(job, "'");
    add_text(job, lock);
    add_text(job, "'");
}

/* GET_LOCK counts how often a session has got a lock, also when its statement fails. A
 * statement that is repeated in its session must not get the lock again, or one release
 * would not free it: ilk__mysql_job_repeats(). */
static void add_get(ilk__mysql_job *job, const char *lock)
{
    add_text(job, "IF(");
    job->repeats_at = ilk__buf_len(&job->sql);
    add_text(job, "0 AND IS_USED_LOCK(");
    add_lock(job, lock);
    add_text(job, ")=CONNECTION_ID(),1,GET_LOCK(");
    add_lock(job, lock);
    add_text(job, ",0))");
}

void ilk__mysql_job_repeats(ilk__mysql_job *job)
{
    if (job->repeats_at)
        job->sql.data[job->sql.start + job->repeats_at] = '1';
}

static int is_mark(ilk__span mark, const char *text)
{
    return ilk__text_equals(mark, text);
}

static void add_fixed(ilk__mysql_job *job, const ilk__mysql_subject *subject,
                      ilk__span mark)
{
    if (is_mark(mark, "t"))
        add_text(job, subject->table);
    else if (is_mark(mark, "now"))
        add_text(job, NOW);
    else if (is_mark(mark, "k"))
        add_key(job, subject);
    else if (is_mark(mark, "l"))
        add_lock(job, subject->queue_lock);
    else if (is_mark(mark, "get"))
        add_get(job, subject->queue_lock);
}

void ilk__mysql_compose(ilk__mysql_job *job, const ilk__mysql_subject *subject,
                        const char *format, ...)
{
    ilk__span rest = {format, strlen(format)};
    int found = 1;
    va_list args;

    va_start(args, format);
    while (found) {
        ilk__span text = ilk__text_cut(&rest, '{', &found), mark;

        add(job, text.at, text.len);
        if (!found)
            break;
        mark = ilk__text_cut(&rest, '}', NULL);
        if (is_mark(mark, "b"))
            add_bytes(job, va_arg(args, ilk__span));
        else if (is_mark(mark, "c"))
            add_comment(job, va_arg(args, ilk__span));
        else if (is_mark(mark, "i"))
            add_number(job, va_arg(args, int64_t));
        else if (is_mark(mark, "s"))
            add_text(job, va_arg(args, const char *));
        else
            add_fixed(job, subject, mark);
    }
    va_end(args);
}

static char *quote_one(char *to, const char *name)
{
    *to++ = '`';
    for (; *name; name++) {
        if (*name == '`')
            *to++ = '`';
        *to++ = *name;
    }
    *to++ = '`';
    return to;
}

char *ilk__mysql_quote(const char *database, const char *table)
{
    char *out = ilk__malloc(2 * (strlen(database) + strlen(table)) + 6), *at;

    if (!out)
        return NULL;
    at = quote_one(out, database);
    *at++ = '.';
    at = quote_one(at, table);
    *at = '\0';
    return out;
}

/* Two names with one hash share a wait queue. Their waiters then wake in vain at times,
 * because the rows decide. */
void ilk__mysql_queue_lock_name(char out[ILK__MYSQL_QUEUE_LOCK],
                                const char *table, char kind, ilk__span name)
{
    unsigned char key[ILK__SIPHASH_KEY] = "interlock's wait";
    uint64_t hash = ilk__siphash(key, table, strlen(table));

    memcpy(key, &hash, sizeof hash);
    key[15] = (unsigned char)kind;
    hash = ilk__siphash(key, name.at, name.len);
    snprintf(out, ILK__MYSQL_QUEUE_LOCK, "ilk:%016" PRIx64, hash);
}
