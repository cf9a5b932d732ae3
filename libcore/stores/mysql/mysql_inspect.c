/* SPDX-License-Identifier: MIT */
/*
 * mysql_inspect.c -- reading rows for others: inspection, observers, the comparison of
 * what is known with the store; and breaking a hold.
 *
 * The server sends no messages, so the observers of an election read its row every
 * ILK__MYSQL_OBSERVE_MS, all of a client together.
 */
#include "mysql_internal.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_COLUMNS                                                            \
    "token,who,fence,since DIV 1000,"                                          \
    "IF(token='',-1,CEIL((until-{now})/1000)),version,LEFT(value,65536)"

/* The sessions in the wait queue, as far as this user may see them: its own. One whose
 * wait has ended shows its statement for a moment longer, in another state. */
#define IN_QUEUE_ROWS                                                          \
    " FROM information_schema.PROCESSLIST WHERE ID<>{i} "                      \
    "AND STATE='User lock' "                                                   \
    "AND INFO LIKE CONCAT('SELECT GET_LOCK(',QUOTE({l}),',3600)%'))"

/* The comment of a statement says who waits: mysql_queue.c. */
#define QUEUE_COLUMNS                                                          \
    ",(SELECT COUNT(*)" IN_QUEUE_ROWS                                          \
    ",(SELECT GROUP_CONCAT(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX("   \
    "CONCAT(INFO,'/**/'),'/*',2),'/*',-1),'*/',1) ORDER BY TIME "              \
    "DESC,ID)" IN_QUEUE_ROWS

enum { TOKEN, WHO, FENCE, SINCE, LEFT, VERSION, VALUE, IN_QUEUE, QUEUE_WHO };

static const char no_memory[] = "OOM out of memory";

static ilk__mysql_job *job_for(ilk__mysql *self, ilk__contended *name,
                               ilk__gateway_request *request,
                               ilk__mysql_done *done)
{
    ilk__mysql_job *job = ilk__mysql_job_new(done);

    if (!job)
        return NULL;
    job->name = name;
    job->request = request;
    job->give_up_at = ilk__deadline(self->reply_ms);
    return job;
}

/* A statement that reads the row of a name. 0: no memory. */
static int read_row(ilk__mysql *self, ilk__mysql_name *name,
                    ilk__mysql_job *job, int with_queue)
{
    const ilk__mysql_subject subject = ilk__mysql_subject_of(self, name);
    ilk__mysql_conn *on = ilk__mysql_shared_conn(self);
    /* A wait that is being given up may still be in the wait queue. */
    const int64_t own =
        name->queue_conn ? (int64_t)name->queue_conn->thread_id : 0;

    ilk__mysql_compose(job, &subject,
                       with_queue ? "SELECT " ROW_COLUMNS QUEUE_COLUMNS
                                    " FROM {t} WHERE {k}"
                                  : "SELECT " ROW_COLUMNS " FROM {t} WHERE {k}",
                       own, own);
    if (on)
        return ilk__mysql_submit(on, job);
    ilk__mysql_job_free(job);
    return 0;
}

static const char *error_of(const ilk__mysql_result *result)
{
    return result->error || result->is_late ? result->text : NULL;
}

/* ---- check --------------------------------------------------------------- */

static int equals(ilk__span a, const ilk__bytes *b)
{
    return a.len == b->len && (!a.len || memcmp(a.at, b->data, a.len) == 0);
}

/* Whether this row, which was read at that time, shows that the hold is over. */
static int shows_lost(const ilk__contender *contender,
                      const ilk__mysql_row *row, int64_t sent_at)
{
    const ilk__mysql_entry *entry = contender->at_store;

    if (contender->state != ILK__CONTENDER_HOLDS || !entry || entry->job
        || entry->leaves || entry->granted_at >= sent_at)
        return 0;
    return !row->at || !equals(ilk__mysql_text(row, TOKEN), &contender->token)
           || ilk__mysql_number(row, LEFT, -1) < 0;
}

static void compare(ilk__mysql *self, ilk__contended *name,
                    const ilk__mysql_row *row, int64_t sent_at)
{
    ilk__contender *one = name->first;

    while (one && !shows_lost(one, row, sent_at))
        one = one->next;
    if (one)
        ilk__mysql_lost(self, one);
}

static void checked(ilk__mysql *self, ilk__mysql_job *job,
                    const ilk__mysql_result *result)
{
    const char *error = error_of(result);
    ilk__contended *name = job->name;
    ilk__mysql_name *known = name->at_store;
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);

    if (!error && known) {
        if (ilk__mysql_first_waiter(known))
            ilk__mysql_queue_busy(self, known,
                                  ilk__mysql_number(&row, LEFT, -1));
        compare(self, name, &row, result->sent_at);
    }
    ilk__contention_checked(name, job->request, error);
}

void ilk__mysql_check(void *context, ilk__contended *name,
                      ilk__gateway_request *request)
{
    ilk__mysql *self = context;
    ilk__mysql_name *known = ilk__mysql_name_of(self, name);
    ilk__mysql_job *job = known ? job_for(self, name, request, checked) : NULL;

    if (!job || !read_row(self, known, job, 0))
        ilk__contention_checked(name, request, no_memory);
}

/* ---- inspection ---------------------------------------------------------- */

/* The waiters of this client, with all that is known about them. */
static size_t add_waiters(const ilk__contended *name, size_t room,
                          ilk__contended_entry *entries, size_t count)
{
    for (const ilk__contender *one = name->first; one && count < room;
         one = one->next)
        if (one->state == ILK__CONTENDER_WAITS)
            entries[count++] = (ilk__contended_entry){
                .kind = (char)one->kind,
                .token = {one->token.data, one->token.len},
                .who = {one->who.data ? one->who.data : "", one->who.len},
                .permits = 1,
                .lease_ms = -1};
    return count;
}

static size_t count_waiters(const ilk__contended *name)
{
    size_t count = 0;

    for (const ilk__contender *one = name->first; one; one = one->next)
        count += one->state == ILK__CONTENDER_WAITS;
    return count;
}

/* The clients in the wait queue besides this one, each as one waiter: the server shows
 * neither how many waits a client has nor their tokens, but who the first one was. */
static size_t count_others(const ilk__mysql_row *row)
{
    const int64_t count = ilk__mysql_number(row, IN_QUEUE, 0);

    return count > 0 ? (size_t)count : 0;
}

/* Decode in place. */
static ilk__span who_in(char *text, size_t len)
{
    char *to = text;

    for (size_t i = 0; i < len; i++)
        if (text[i] == '%' && i + 2 < len) {
            const char digits[] = {text[i + 1], text[i + 2], '\0'};

            *to++ = (char)strtol(digits, NULL, 16);
            i += 2;
        } else {
            *to++ = text[i];
        }
    return (ilk__span){text, (size_t)(to - text)};
}

/* labels: of these clients, with commas between them; a copy to write into. */
static void add_others(const ilk__contended *name, size_t room,
                       ilk__contended_entry *entries, size_t count,
                       char *labels)
{
    for (; count < room; count++) {
        const size_t len = strcspn(labels, ",");
        char *next = labels + len + (labels[len] == ',');

        entries[count] =
            (ilk__contended_entry){.kind = name->kind == ILK__CONTENDED_ELECTION
                                               ? ILK__CONTENDER_CANDIDATE
                                               : ILK__CONTENDER_EXCLUSIVE,
                                   .token = {"", 0},
                                   .who = who_in(labels, len),
                                   .permits = 1,
                                   .lease_ms = -1};
        labels = next;
    }
}

static ilk__contended_entry entry_of(const ilk__contended *name,
                                     const ilk__mysql_row *row)
{
    return (ilk__contended_entry){.kind = name->kind == ILK__CONTENDED_ELECTION
                                              ? ILK__CONTENDER_CANDIDATE
                                              : ILK__CONTENDER_EXCLUSIVE,
                                  .token = ilk__mysql_text(row, TOKEN),
                                  .who = ilk__mysql_text(row, WHO),
                                  .permits = 1,
                                  .fence = ilk__mysql_number(row, FENCE, 0),
                                  .since_ms = ilk__mysql_number(row, SINCE, 0),
                                  .lease_ms = ilk__mysql_number(row, LEFT, -1)};
}

static void inspected(ilk__mysql *self, ilk__mysql_job *job,
                      const ilk__mysql_result *result)
{
    ilk__contended *name = job->name;
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    ilk__contended_state state = {0};
    const size_t waiters = count_waiters(name) + count_others(&row),
                 room = 1
                        + (waiters < (size_t)job->number ? waiters
                                                         : (size_t)job->number);
    ilk__contended_entry *entries = ilk__calloc(room, sizeof *entries);
    const ilk__span known = ilk__mysql_text(&row, QUEUE_WHO);
    char *labels = ilk__memdup(known.at ? known.at : "", known.len);
    const char *error = entries && labels ? error_of(result) : no_memory;

    (void)self;
    if (!error) {
        state.holders = row.at && ilk__mysql_number(&row, LEFT, -1) > 0;
        state.waiters = waiters;
        if (state.holders)
            entries[0] = entry_of(name, &row);
        add_others(name, room, entries,
                   add_waiters(name, room, entries, state.holders), labels);
        state.entries = entries;
        state.version = ilk__mysql_number(&row, VERSION, 0);
        if (state.holders)
            state.value = ilk__mysql_text(&row, VALUE);
    }
    ilk__contention_inspected(name, job->request, &state, error);
    ilk__free(entries);
    ilk__free(labels);
}

void ilk__mysql_inspect(void *context, ilk__contended *name, int64_t most,
                        ilk__gateway_request *request)
{
    static const ilk__contended_state nothing;
    ilk__mysql *self = context;
    ilk__mysql_name *known = ilk__mysql_name_of(self, name);
    ilk__mysql_job *job =
        known ? job_for(self, name, request, inspected) : NULL;

    if (job)
        job->number = most < 0 ? 0 : most;
    if (!job || !read_row(self, known, job, 1))
        ilk__contention_inspected(name, request, &nothing, no_memory);
}

/* ---- observers ----------------------------------------------------------- */

static void observed(ilk__mysql *self, ilk__mysql_job *job,
                     const ilk__mysql_result *result)
{
    ilk__mysql_name *name = job->name ? job->name->at_store : NULL;
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    int64_t fence, version;
    int is_led, is_new;

    (void)self;
    if (!name)
        return;
    name->reading = NULL;
    if (error_of(result))
        return;
    fence = ilk__mysql_number(&row, FENCE, 0);
    version = ilk__mysql_number(&row, VERSION, 0);
    is_led = ilk__mysql_number(&row, LEFT, -1) > 0;
    is_new = !name->has_seen || fence != name->seen_fence
             || version != name->seen_version || is_led != name->seen_leads;
    name->has_seen = 1;
    name->seen_fence = fence;
    name->seen_version = version;
    name->seen_leads = is_led;
    if (is_new)
        ilk__contention_election_changed(name->of);
}

void ilk__mysql_read_for_observers(ilk__mysql *self, ilk__mysql_name *name,
                                   int64_t now)
{
    ilk__mysql_job *job;

    name->observe_at = now + ILK__MYSQL_OBSERVE_MS;
    if (name->reading)
        return;
    job = job_for(self, name->of, NULL, observed);
    if (job && read_row(self, name, job, 0))
        name->reading = job;
}

void ilk__mysql_observe(void *context, ilk__contended *name, int begins)
{
    ilk__mysql_name *known = ilk__mysql_name_of(context, name);

    if (!known)
        return; /* its observers have their refresh, which reads as well */
    known->observe_at = begins ? 0 : ILK__FOREVER;
    known->has_seen = 0;
}

/* ---- breaking ------------------------------------------------------------ */

static void ignore(ilk__mysql *self, ilk__mysql_job *job,
                   const ilk__mysql_result *result)
{
    (void)self;
    (void)job;
    (void)result;
}

static int is_own(const ilk__mysql *self, int64_t session)
{
    for (const ilk__mysql_conn *one = self->conns; one; one = one->next)
        if ((int64_t)one->thread_id == session
            && one->state != ILK__MYSQL_CLOSED)
            return 1;
    return 0;
}

/* The session of the former holder has the queue's lock as well, until its next
 * renewal. The server ends that session, so that the next one of the wait queue comes
 * at once. The client connects again, and finds its other holds as they were. */
static void took_session(ilk__mysql *self, ilk__mysql_job *job,
                         const ilk__mysql_result *result)
{
    ilk__mysql_row row = ilk__mysql_next_row(result->rows);
    const int64_t session = ilk__mysql_number(&row, 0, 0);
    ilk__mysql_job *next;

    if (!session || session != job->number || is_own(self, session))
        return;
    next = ilk__mysql_job_new(ignore);
    if (!next)
        return;
    next->is_once = 1;
    ilk__mysql_compose(next, NULL, "KILL {i}", session);
    (void)ilk__mysql_submit(job->on, next);
}

static void free_queue_lock(ilk__mysql *self, ilk__mysql_name *name,
                            ilk__mysql_conn *on, int64_t session)
{
    const ilk__mysql_subject subject = ilk__mysql_subject_of(self, name);
    ilk__mysql_job *job;

    if (session <= 0 || is_own(self, session) || self->lacks_sessions)
        return;
    job = ilk__mysql_job_new(took_session);
    if (!job)
        return;
    job->is_once = 1;
    job->number = session;
    ilk__mysql_compose(job, &subject, "SELECT IS_USED_LOCK({l})");
    (void)ilk__mysql_submit(on, job);
}

static void broken(ilk__mysql *self, ilk__mysql_job *job,
                   const ilk__mysql_result *result)
{
    static const ilk__mysql_row no_row;
    ilk__contended *name = job->name;
    const char *error = error_of(result);
    const int was_held = !error && result->matched, was_sent = job->sends > 0;
    ilk__gateway_request *request = job->request;
    char text[ILK__MYSQL_TEXT] = "";

    if (error)
        snprintf(text, sizeof text, "%s", error);
    if (was_held && name->at_store) {
        ilk__mysql_name *known = name->at_store;

        free_queue_lock(self, known, job->on, (int64_t)result->number);
        if (known->observe_at != ILK__FOREVER)
            known->observe_at = 0;
    }
    if (was_held)
        compare(self, name, &no_row, result->sent_at);
    if (result->is_late && was_sent)
        ilk__contention_break_unsure(name, request);
    else
        ilk__contention_broken(name, request, was_held, error ? text : NULL);
}

/* A repeated copy could break the hold of that moment, so there is none. */
void ilk__mysql_break(void *context, ilk__contended *name, ilk__span token,
                      ilk__gateway_request *request)
{
    ilk__mysql *self = context;
    ilk__mysql_name *known = ilk__mysql_name_of(self, name);
    ilk__mysql_conn *on = ilk__mysql_shared_conn(self);
    ilk__mysql_job *job =
        known && on ? job_for(self, name, request, broken) : NULL;

    if (job) {
        const ilk__mysql_subject subject = ilk__mysql_subject_of(self, known);

        job->is_once = 1;
        /* The former holder still has the queue's lock. For the next try the row is
         * free, as if it had been so for long. */
        ilk__mysql_compose(job, &subject,
                           "UPDATE {t} SET session=0*LAST_INSERT_ID(session),"
                           "token='',until={now}-{i},value='',"
                           "version=version+1 "
                           "WHERE {k} AND token<>'' AND until>{now}",
                           (int64_t)ILK__MYSQL_GRACE_MS * 1000);
        if (token.len)
            ilk__mysql_compose(job, &subject, " AND token={b}", token);
    }
    if (!job || !ilk__mysql_submit(on, job))
        ilk__contention_broken(name, request, 0, no_memory);
}
