/* SPDX-License-Identifier: MIT */
/*
 * mysql_list.c -- the names that have rows.
 *
 * Rows stay, so a lock and an election count for a day after their last hold, and a
 * register without a value does not.
 */
#include "mysql_internal.h"

#include "stores/shared/name_list.h"

#include <string.h>

enum { PAGE = 200 };

#define DAY_US "86400000000"

enum { KIND, NAME };

static const char *listed_kind(char kind)
{
    switch (kind) {
    case 'l': return "lock:fence";
    case 'e': return "election:fence";
    case 'r': return "register";
    default: return NULL;
    }
}

/* The place of a row is its kind and its name: the primary key. */
static void has_page(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result)
{
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    ilk__name_list list = {0};
    ilk__buf last = {0};
    int64_t count = 0;

    (void)self;
    for (; row.at; row = ilk__mysql_next_row(result->rows)) {
        const ilk__span kind = ilk__mysql_text(&row, KIND),
                        name = ilk__mysql_text(&row, NAME);
        const char *listed = kind.len == 1 ? listed_kind(kind.at[0]) : NULL;

        if (listed)
            ilk__name_list_add(&list, listed, name);
        if (++count < PAGE)
            continue;
        if (ilk__buf_add(&last, kind.at, kind.len)
            || ilk__buf_add(&last, name.at, name.len))
            list.no_memory = 1;
        break;
    }
    if (result->error || result->is_late) {
        ilk__gateway_reply_error(job->request, result->text);
        ilk__buf_free(&list.keys);
    } else {
        ilk__name_list_reply(
            &list, job->request,
            (ilk__span){ilk__buf_len(&last) ? ilk__buf_data(&last) : "",
                        ilk__buf_len(&last)});
    }
    job->request = NULL;
    ilk__buf_free(&last);
}

void ilk__mysql_list_names(ilk__mysql *self, ilk__gateway_request *request)
{
    ilk__mysql_conn *on = ilk__mysql_shared_conn(self);
    const ilk__mysql_subject subject = {.table = self->table};
    ilk__mysql_job *job;
    ilk__span after, kind;

    if (!ilk__name_list_asked(request, &after))
        return;
    job = on ? ilk__mysql_job_new(has_page) : NULL;
    if (!job) {
        ilk__gateway_reply_error(request, "OOM out of memory");
        return;
    }
    job->give_up_at = ilk__deadline(self->reply_ms);
    kind = (ilk__span){after.at, after.len ? 1 : 0};
    ilk__mysql_compose(
        job, &subject,
        "SELECT kind,name FROM {t} WHERE (kind>{b} OR (kind={b} AND name>{b})) "
        "AND IF(kind='r',token<>'',until>{now}-" DAY_US ") "
        "ORDER BY kind,name LIMIT {i}",
        kind, kind, (ilk__span){after.at + kind.len, after.len - kind.len},
        (int64_t)PAGE);
    job->request = request;
    job->breaks_request = 1;
    (void)ilk__mysql_submit(on, job);
}
