/* SPDX-License-Identifier: MIT */
/*
 * mysql_registers.c -- registers: each is one row, which a change compares and writes in
 * one statement.
 *
 *     kind name   version             token   released             value
 *     r    limit  17..   us, server's v, or   the last changes,    100
 *                 UTC, or one more    nothing newest first
 *
 * `token` is empty when the value was deleted: the row stays. `released` is a history
 * (change_history.h), so a copy that is executed once more, or late, finds the change
 * and writes nothing.
 *
 * The server sends no messages, so a client with waiters reads their versions every
 * ILK__MYSQL_OBSERVE_MS, by one statement for up to NAMES_MOST names.
 */
#include "mysql_internal.h"

#include "base/alloc.h"
#include "gateway/change_history.h"

#include <interlock/register.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_MOST = 200,
    CHANGES_MOST = 21, /* that the column takes */
    MEMORY_US = 60000000,
    ROUNDS_MOST = 16,
    INSERTS_MOST = 4
};

/* Replies have numbers below 2^53, and a next version must fit as well. */
#define LAST_VERSION ((INT64_C(1) << 53) - 2)

/* at_store of a name that is watched, or was. */
struct ilk__mysql_register {
    ilk__mysql_register *next, *previous;
    ilk__register_name *of;
    int64_t version; /* that was read last; -1: none yet */
    int64_t look_at;
    int is_asked; /* by the statement under way */
};

/* ---- statements ------------------------------------------------------------ */

/* That of `ilk:register:{limit}`; keys.h has the other forms. */
static ilk__span name_in(const ilk__register_name *name)
{
    ilk__span found;

    found.at = ilk__key_name(&name->state.key, "register", &found.len);
    return found;
}

static ilk__mysql_subject subject_of(const ilk__mysql *self,
                                     const ilk__register_name *name)
{
    return (ilk__mysql_subject){
        .table = self->table, .kind = 'r', .name = name_in(name)};
}

static const char no_memory[] = "OOM out of memory";

/* NULL: no memory. */
static ilk__mysql_job *job_for(ilk__register_name *name,
                               const ilk__register_change *change,
                               ilk__gateway_request *request,
                               int64_t give_up_at, ilk__mysql_done *done)
{
    ilk__mysql_job *job = ilk__mysql_job_new(done);

    if (!job)
        return NULL;
    job->register_name = name;
    if (change)
        job->change = *change;
    job->request = request;
    job->breaks_request = 1;
    job->give_up_at = give_up_at;
    return job;
}

/* 0: no memory. The job is freed. */
static int submit(ilk__mysql *self, ilk__mysql_job *job)
{
    ilk__mysql_conn *on = ilk__mysql_shared_conn(self);

    if (job->no_memory || !on) {
        job->request = NULL;
        ilk__mysql_job_free(job);
        return 0;
    }
    ilk__mysql_conn_send(on, job);
    return 1;
}

/* The request gets its reply, from here on. */
static ilk__gateway_request *take_request(ilk__mysql_job *job)
{
    ilk__gateway_request *request = job->request;

    job->request = NULL;
    return request;
}

static const char *error_of(const ilk__mysql_result *result)
{
    return result->error || result->is_late ? result->text : NULL;
}

/* ---- rows ------------------------------------------------------------------ */

/* One byte of a value that is too long shows that. */
#define COLUMNS "version,token='v',LEFT(value,65537)"

enum { VERSION, HAS_VALUE, VALUE, HISTORY, NOW };

/* An error, or NULL. */
static const char *parse(ilk__register_state *out, const ilk__mysql_row *row)
{
    *out = (ilk__register_state){0};
    if (!row->at)
        return NULL;
    out->version = ilk__mysql_number(row, VERSION, -1);
    if (out->version < 0 || out->version >= LAST_VERSION)
        return "ILKFENCE no version can rise above the one in the row";
    out->has_value = ilk__mysql_number(row, HAS_VALUE, 0) == 1;
    if (out->has_value)
        out->value = ilk__mysql_text(row, VALUE);
    if (out->value.len > ILK_REGISTER_VALUE_MAX)
        return "WRONGTYPE the row's value is longer than that of a register";
    return NULL;
}

/* Whether changes of the last minute may have left the history. */
static int has_forgotten(const ilk__mysql_row *row)
{
    return ilk__changes_oldest(ilk__mysql_text(row, HISTORY), CHANGES_MOST)
           > ilk__mysql_number(row, NOW, 0) - MEMORY_US;
}

/* ---- versions that waiters know -------------------------------------------- */

/* The name may have other waiters, which have read another version. */
static void note_version(ilk__register_name *name, int64_t version)
{
    ilk__mysql_register *at = name->at_store;
    int is_other;

    if (!at)
        return;
    is_other = at->version >= 0 && at->version != version;
    at->version = version;
    if (is_other)
        ilk__register_has_changed(name);
}

/* ---- reading --------------------------------------------------------------- */

static void was_read(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result)
{
    ilk__register_name *name = job->register_name;
    const ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    const char *error = error_of(result);
    ilk__register_state state = {0};

    (void)self;
    if (!error)
        error = parse(&state, &row);
    ilk__register_was_read(name, take_request(job), &state, error);
    if (!error)
        note_version(name, state.version);
}

void ilk__mysql_register_read(void *context, ilk__register_name *name,
                              ilk__gateway_request *request)
{
    ilk__mysql *self = context;
    const ilk__mysql_subject subject = subject_of(self, name);
    ilk__mysql_job *job =
        job_for(name, NULL, request, ilk__deadline(self->reply_ms), was_read);

    if (job)
        ilk__mysql_compose(job, &subject,
                           "SELECT " COLUMNS " FROM {t} WHERE {k}");
    if (!job || !submit(self, job))
        ilk__register_was_read(name, request, NULL, no_memory);
}

/* ---- changing -------------------------------------------------------------- */

static void was_written(ilk__mysql *self, ilk__mysql_job *job,
                        const ilk__mysql_result *result);
static int send_change(ilk__mysql *self, ilk__mysql_job *job);

/* The next statement for the request of a job that has ended. */
static ilk__mysql_job *next_job(const ilk__mysql_job *job,
                                ilk__mysql_done *done)
{
    ilk__mysql_job *next = job_for(job->register_name, &job->change,
                                   job->request, job->give_up_at, done);

    if (next) {
        next->may_have_run = job->may_have_run;
        next->rounds = job->rounds;
    }
    return next;
}

/* The core repeats a change that may have been executed, under the same token. The copy
 * finds what the first one did, or replies with a doubt (ilk__register_doubt). */
static void end_change(ilk__mysql_job *job, const char *error)
{
    ilk__register_change_failed(job->register_name, take_request(job),
                                job->may_have_run ? NULL : error);
}

static void go_on(ilk__mysql *self, ilk__mysql_job *job)
{
    ilk__mysql_job *next;

    if (ilk__now_ms() >= job->give_up_at || ++job->rounds > ROUNDS_MOST) {
        end_change(job, "ILKDOWN the row changes too often");
        return;
    }
    next = next_job(job, was_written);
    if (next && send_change(self, next))
        job->request = NULL;
    else
        end_change(job, no_memory);
}

static void was_inserted(ilk__mysql *self, ilk__mysql_job *job,
                         const ilk__mysql_result *result)
{
    const char *error = error_of(result);

    if (error)
        end_change(job, error);
    else
        go_on(self, job);
}

static void insert_row(ilk__mysql *self, ilk__mysql_job *job)
{
    const ilk__mysql_subject subject = subject_of(self, job->register_name);
    ilk__mysql_job *next = next_job(job, was_inserted);

    if (next)
        ilk__mysql_compose(next, &subject,
                           "INSERT IGNORE INTO {t} (kind,name,value) "
                           "VALUES ('r',{b},'')",
                           subject.name);
    if (next && submit(self, next))
        job->request = NULL;
    else
        end_change(job, no_memory);
}

static ilk__register_doubt doubt_of(const ilk__mysql_job *job,
                                    int may_have_forgotten)
{
    if (!may_have_forgotten)
        return ILK__DOUBT_NONE;
    return job->may_have_run ? ILK__DOUBT : ILK__DOUBT_IF_RETRIED;
}

static void end_refused(ilk__mysql_job *job, const ilk__register_state *state,
                        int may_have_forgotten)
{
    ilk__register_was_refused(job->register_name, take_request(job), state,
                              doubt_of(job, may_have_forgotten));
}

static void end_changed(ilk__mysql_job *job, int64_t version,
                        int may_have_forgotten)
{
    ilk__register_name *name = job->register_name;

    ilk__register_was_changed(name, take_request(job), version,
                              doubt_of(job, may_have_forgotten));
    note_version(name, version);
}

static void end_found(ilk__mysql_job *job, int64_t version)
{
    ilk__register_name *name = job->register_name;

    ilk__register_had_changed(name, take_request(job), version);
    note_version(name, version);
}

/* Why nothing matched: an earlier copy wrote it, the row is another, or there is none. */
static void was_compared(ilk__mysql *self, ilk__mysql_job *job,
                         const ilk__mysql_result *result)
{
    const ilk__register_change *change = &job->change;
    const ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    const char *error = error_of(result);
    ilk__register_state state = {0};
    char id[ILK__CHANGE_ID + 1];
    int64_t done = 0;

    ilk__change_id(id, change->token);
    if (!error && row.at
        && !ilk__changes_are_valid(ilk__mysql_text(&row, HISTORY),
                                   CHANGES_MOST))
        error = "WRONGTYPE the row does not belong to a register";
    if (!error && row.at)
        done = ilk__changes_find(ilk__mysql_text(&row, HISTORY), id);
    if (!error && !done)
        error = parse(&state, &row);
    if (error)
        end_change(job, error);
    else if (done)
        end_found(job, done);
    else if (!ilk__register_fits(change, &state))
        end_refused(job, &state, row.at && has_forgotten(&row));
    else if (!row.at && job->rounds >= INSERTS_MOST)
        end_change(job, "ERR the database does not keep the row of the name");
    else if (!row.at)
        insert_row(self, job);
    else
        go_on(self, job); /* it has come in between */
}

static void compare(ilk__mysql *self, ilk__mysql_job *job)
{
    const ilk__mysql_subject subject = subject_of(self, job->register_name);
    ilk__mysql_job *next = next_job(job, was_compared);

    if (next)
        ilk__mysql_compose(next, &subject,
                           "SELECT " COLUMNS
                           ",released,{now} FROM {t} WHERE {k}");
    if (next && submit(self, next))
        job->request = NULL;
    else
        end_change(job, no_memory);
}

/* The number is twice the version, and one more when the history may have lost a copy of
 * this change. A trigger of the table may hide it. */
static void was_written(ilk__mysql *self, ilk__mysql_job *job,
                        const ilk__mysql_result *result)
{
    const int64_t number = (int64_t)result->number;

    job->may_have_run |= result->was_sent_before
                         || (result->is_late && job->sends)
                         || (result->matched && !number);
    if (error_of(result))
        end_change(job, result->text);
    else if (!result->matched || !number)
        compare(self, job);
    else
        end_changed(job, number / 2, number % 2 == 1);
}

/* A change of any version may find no trace of an earlier copy; a version that is
 * compared proves that there was none. */
static void compose_change(ilk__mysql_job *job,
                           const ilk__mysql_subject *subject)
{
    const ilk__register_change *change = &job->change;
    const int64_t most = (int64_t)CHANGES_MOST * ILK__CHANGE_ENTRY,
                  oldest = most - ILK__CHANGE_VERSION + 1,
                  since_us = change->known < 0 ? -MEMORY_US : INT64_MAX / 4;
    char id[ILK__CHANGE_ID + 1];

    ilk__change_id(id, change->token);
    ilk__mysql_compose(
        job, subject,
        "UPDATE {t} SET version=GREATEST(version+1,{now}),"
        "fence=0*LAST_INSERT_ID(2*version+"
        "IF(LENGTH(released)={i},"
        "SUBSTRING(released,{i},{i})>{now}+{i},0)),"
        "released=LEFT(CONCAT('{s}',LPAD(version,{i},'0'),"
        "released),{i}),token='{s}',value={b} "
        "WHERE {k} AND version<{i} AND LOCATE('{s}',released)=0",
        most, oldest, (int64_t)ILK__CHANGE_VERSION, since_us, id,
        (int64_t)ILK__CHANGE_VERSION, most, change->deletes ? "" : "v",
        change->deletes ? (ilk__span){"", 0} : change->value, LAST_VERSION, id);
    if (change->known >= 0)
        ilk__mysql_compose(job, subject, " AND version={i}", change->known);
    if (change->deletes)
        ilk__mysql_compose(job, subject, " AND token='v'");
}

/* 0: no memory. The job is freed. */
static int send_change(ilk__mysql *self, ilk__mysql_job *job)
{
    const ilk__mysql_subject subject = subject_of(self, job->register_name);

    compose_change(job, &subject);
    return submit(self, job);
}

void ilk__mysql_register_change(void *context, ilk__register_name *name,
                                const ilk__register_change *change,
                                ilk__gateway_request *request)
{
    ilk__mysql *self = context;
    ilk__mysql_job *job = job_for(name, change, request,
                                  ilk__deadline(self->reply_ms), was_written);

    if (!job || !send_change(self, job))
        ilk__register_change_failed(name, request, no_memory);
}

/* ---- watching -------------------------------------------------------------- */

ilk_status ilk__mysql_register_watch(void *context, ilk__register_name *name,
                                     int begins)
{
    ilk__mysql *self = context;
    ilk__mysql_register *at;

    if (!begins) {
        ilk__mysql_register_forget(self, name);
        return ILK_OK;
    }
    at = ilk__calloc(1, sizeof *at);
    if (!at)
        return ILK_ENOMEM;
    at->of = name;
    at->version = -1;
    at->look_at = ilk__deadline(ILK__MYSQL_OBSERVE_MS);
    at->next = self->registers_watched;
    if (at->next)
        at->next->previous = at;
    self->registers_watched = at;
    name->at_store = at;
    return ILK_OK;
}

void ilk__mysql_register_forget(void *context, ilk__register_name *name)
{
    ilk__mysql *self = context;
    ilk__mysql_register *at = name->at_store;

    if (!at)
        return;
    *(at->previous ? &at->previous->next : &self->registers_watched) = at->next;
    if (at->next)
        at->next->previous = at->previous;
    name->at_store = NULL;
    ilk__free(at);
}

static int has_name(const ilk__mysql_register *at, const ilk__mysql_row *row)
{
    const ilk__span wanted = name_in(at->of), name = ilk__mysql_text(row, 0);

    return wanted.len == name.len && memcmp(wanted.at, name.at, name.len) == 0;
}

/* The version of a name among the rows, 0: it has no row. */
static int64_t version_in(MYSQL_RES *rows, const ilk__mysql_register *at)
{
    ilk__mysql_row row;

    mysql_data_seek(rows, 0);
    while ((row = ilk__mysql_next_row(rows)).at)
        if (has_name(at, &row))
            return ilk__mysql_number(&row, 1, 0);
    return 0;
}

/* A name that has come since is not among the rows. */
static void have_looked(ilk__mysql *self, ilk__mysql_job *job,
                        const ilk__mysql_result *result)
{
    (void)job;
    self->registers_look = NULL;
    for (ilk__mysql_register *at = self->registers_watched; at; at = at->next) {
        if (!at->is_asked)
            continue;
        at->is_asked = 0;
        if (result->rows)
            note_version(at->of, version_in(result->rows, at));
    }
}

int64_t ilk__mysql_registers_due(const ilk__mysql *self)
{
    int64_t due = ILK__FOREVER;

    if (self->registers_look)
        return due;
    for (const ilk__mysql_register *at = self->registers_watched; at;
         at = at->next)
        due = ilk__sooner(due, at->look_at);
    return due;
}

/* Without a job they have to wait for the next time. */
static void ask_for_names(ilk__mysql *self, ilk__mysql_job *job, int64_t now)
{
    size_t count = 0;

    for (ilk__mysql_register *at = self->registers_watched;
         at && count < NAMES_MOST; at = at->next) {
        if (at->look_at > now)
            continue;
        at->look_at = now + ILK__MYSQL_OBSERVE_MS;
        count++;
        if (job) {
            at->is_asked = 1;
            ilk__mysql_compose(job, NULL, ",{b}", name_in(at->of));
        }
    }
}

void ilk__mysql_registers_fire(ilk__mysql *self, int64_t now)
{
    const ilk__mysql_subject subject = {.table = self->table};
    ilk__mysql_job *job;

    if (ilk__mysql_registers_due(self) > now)
        return;
    job = ilk__mysql_job_new(have_looked);
    if (job) {
        job->give_up_at = ilk__deadline(self->reply_ms);
        ilk__mysql_compose(job, &subject,
                           "SELECT name,version FROM {t} WHERE kind='r' AND "
                           "name IN (''");
    }
    ask_for_names(self, job, now);
    if (!job)
        return;
    ilk__mysql_compose(job, &subject, ")");
    if (submit(self, job))
        self->registers_look = job;
}
