/* SPDX-License-Identifier: MIT */
/* mysql_pool.c -- the connections: a few shared ones, and one for each waited name. */
#include "mysql_internal.h"

enum {
    SHARED_MOST = 4, /* they commit at the same time, by one flush of the log */
    QUEUE_CONNS_MOST = 48, /* of a server's 151, or what max_connections says */
    IDLE_MS = 10000
};

static ilk__mysql_conn *add(ilk__mysql *self, int is_queue_conn)
{
    ilk__mysql_conn *conn = ilk__mysql_conn_new(self, is_queue_conn);

    if (!conn)
        return NULL;
    conn->next = self->conns;
    self->conns = conn;
    if (is_queue_conn)
        self->queue_conn_count++;
    else
        self->shared_count++;
    return conn;
}

ilk__mysql_conn *ilk__mysql_shared_conn(ilk__mysql *self)
{
    ilk__mysql_conn *best = NULL, *one;

    for (one = self->conns; one; one = one->next)
        if (!one->is_queue_conn && (!best || one->job_count < best->job_count))
            best = one;
    if (best && (best->job_count == 0 || self->shared_count == SHARED_MOST))
        return best;
    one = add(self, 0);
    return one ? one : best;
}

static int is_spare(const ilk__mysql_conn *conn)
{
    return conn->is_queue_conn && !conn->is_taken && !conn->kills
           && conn->job_count == 0;
}

ilk__mysql_conn *ilk__mysql_take_queue_conn(ilk__mysql *self)
{
    ilk__mysql_conn *conn = self->conns;

    while (conn && !is_spare(conn))
        conn = conn->next;
    if (!conn && self->queue_conn_count < QUEUE_CONNS_MOST)
        conn = add(self, 1);
    if (conn)
        conn->is_taken = 1;
    return conn;
}

void ilk__mysql_give_back_queue_conn(ilk__mysql_conn *conn)
{
    conn->is_taken = 0;
    conn->idle_since = ilk__now_ms();
}

int ilk__mysql_submit(ilk__mysql_conn *on, ilk__mysql_job *job)
{
    if (job->no_memory) {
        ilk__mysql_job_free(job);
        return 0;
    }
    ilk__mysql_conn_send(on, job);
    return 1;
}

int64_t ilk__mysql_close_idle(ilk__mysql *self, int64_t now)
{
    ilk__mysql_conn **link = &self->conns;
    int64_t next = ILK__FOREVER;

    while (*link) {
        ilk__mysql_conn *conn = *link;

        if (is_spare(conn) && conn->idle_since + IDLE_MS <= now) {
            *link = conn->next;
            self->queue_conn_count--;
            ilk__mysql_conn_free(conn);
            continue;
        }
        if (is_spare(conn))
            next = ilk__sooner(next, conn->idle_since + IDLE_MS);
        link = &conn->next;
    }
    return next;
}
