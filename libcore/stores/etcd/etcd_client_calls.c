/* SPDX-License-Identifier: MIT */
/*
 * etcd_client_calls.c -- calls with one answer.
 *
 *     waiting --send--> sent --answer, failure, deadline--> callback
 *        ^               |
 *        +---------------+ the server has refused the stream, or the token
 */
#include "etcd_client_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>

enum { LOGINS_MOST = 2 };

typedef ilk_status (*reader)(ilk__span message, ilk__etcd_parts *parts,
                             ilk__etcd_answer *out);

static const struct {
    const char *path;
    reader read;
    int has_leader; /* fails at once where the member has no leader */
} kinds[] = {
    [ILK__ETCD_CALL_TXN] = {"/etcdserverpb.KV/Txn", ilk__etcd_read_txn, 1},
    [ILK__ETCD_CALL_DELETE] = {"/etcdserverpb.KV/DeleteRange",
                               ilk__etcd_read_delete, 1},
    [ILK__ETCD_CALL_GRANT] = {"/etcdserverpb.Lease/LeaseGrant",
                              ilk__etcd_read_grant, 1},
    [ILK__ETCD_CALL_REVOKE] = {"/etcdserverpb.Lease/LeaseRevoke",
                               ilk__etcd_read_revoke, 1},
    [ILK__ETCD_CALL_TIME_TO_LIVE] = {"/etcdserverpb.Lease/LeaseTimeToLive",
                                     ilk__etcd_read_time_to_live, 1},
    [ILK__ETCD_CALL_STATUS] = {"/etcdserverpb.Maintenance/Status",
                               ilk__etcd_read_status, 0}};

/* ---- the end of a call ----------------------------------------------------- */

static void free_call(ilk__etcd_call *call)
{
    ilk__etcd_unlink(&call->link);
    ilk__timer_clear(&call->client->timers, &call->timer);
    ilk__timers_unreserve(&call->client->timers);
    ilk__grpc_stream_free(call->stream);
    ilk__buf_free(&call->message);
    ilk__free(call);
}

void ilk__etcd_end_call(ilk__etcd_call *call, const ilk__etcd_failure *failure,
                        ilk__etcd_answer *answer)
{
    ilk__etcd_answer failed = {.status = ILK_OK};
    ilk__etcd_done done = call->done;
    void *owner = call->owner;

    if (failure) {
        answer = &failed;
        answer->status = failure->status;
        answer->error = failure->text;
        answer->may_have_run = failure->may_have_run || call->was_repeated;
        answer->is_gone = failure->is_gone;
    }
    answer->sent_at = call->sent_at;
    answer->was_repeated = call->was_repeated;
    free_call(call);
    done(owner, answer);
}

void ilk__etcd_fail_calls(ilk__etcd_link *list,
                          const ilk__etcd_failure *failure)
{
    ilk__etcd_link calls;

    /* Calls that the callbacks make are not among them. */
    ilk__etcd_list_init(&calls);
    while (!ilk__etcd_list_empty(list))
        ilk__etcd_move(&calls, list->next);
    while (!ilk__etcd_list_empty(&calls))
        ilk__etcd_end_call((ilk__etcd_call *)calls.next, failure, NULL);
}

static int is_sent(const ilk__etcd_call *call)
{
    return call->kind == ILK__ETCD_CALL_KEEP_ALIVE
               ? call->number != 0
               : call->stream && call->stream->was_sent;
}

static void too_late(ilk__etcd *client, ilk__etcd_call *call)
{
    const int64_t sent_at = call->sent_at, reply_ms = call->reply_ms;
    int was_sent = is_sent(call);
    ilk_status status =
        was_sent && client->count > 1 ? ILK_ENOQUORUM : ILK_ECONN;
    ilk__etcd_failure failure;
    char text[ILK_ERROR_MAX];

    if (was_sent)
        snprintf(text, sizeof text, "no answer from etcd at %.80s in %lld ms",
                 client->endpoints[client->index].text,
                 (long long)call->reply_ms);
    else
        snprintf(text, sizeof text, "no connection to etcd in %lld ms%s%.150s",
                 (long long)call->reply_ms, client->error.msg[0] ? ": " : "",
                 client->error.msg);
    ilk__etcd_fail_with(&failure, status, sent_at != 0, text);
    /* The answers of a stream have no numbers: those that follow would be taken
     * for each other's. */
    if (call->kind == ILK__ETCD_CALL_KEEP_ALIVE && call->number)
        ilk__etcd_renewals_again(client);
    ilk__etcd_end_call(call, &failure, NULL);
    if (was_sent)
        ilk__etcd_note_silence(client, sent_at, reply_ms);
}

/* ---- repeating ------------------------------------------------------------- */

/* It waits again, before all others. */
static void send_again(ilk__etcd *client, ilk__etcd_call *call)
{
    ilk__grpc_stream_free(call->stream);
    call->stream = NULL;
    call->sent_at = 0;
    ilk__etcd_move(client->waiting.next, &call->link);
}

static int may_repeat(const ilk__etcd *client, const ilk__etcd_call *call)
{
    return client->count > 1 && call->may_repeat;
}

/* A member that is not silent may have given it to a leader that has failed. */
static void repeat(ilk__etcd *client, ilk__etcd_call *call)
{
    ilk__etcd_note_silence(client, call->sent_at, call->reply_ms);
    if (client->leaves || !may_repeat(client, call))
        return;
    if (call->kind == ILK__ETCD_CALL_KEEP_ALIVE) {
        ilk__etcd_renewals_again(client);
    } else {
        call->was_repeated = 1;
        send_again(client, call);
    }
}

static void look_later(ilk__etcd *client, ilk__etcd_call *call)
{
    int64_t due = call->deadline;

    if (client->count > 1)
        due = ilk__sooner(
            due, ilk__now_ms() + ilk__etcd_patience(client, call->reply_ms));
    ilk__timer_set(&client->timers, &call->timer, due);
}

static void look(ilk__timer *timer, void *context)
{
    ilk__etcd_call *call =
        (ilk__etcd_call *)((char *)timer - offsetof(ilk__etcd_call, timer));
    ilk__etcd *client = context;
    const int64_t now = ilk__now_ms();

    if (now >= call->deadline) {
        too_late(client, call);
        return;
    }
    look_later(client, call);
    if (is_sent(call)
        && now - call->sent_at >= ilk__etcd_patience(client, call->reply_ms))
        repeat(client, call);
}

/* ---- the beginning of a call ----------------------------------------------- */

static ilk_status begin(ilk__etcd_call **out, ilk__etcd *client,
                        ilk__etcd_call_kind kind, int64_t reply_ms,
                        ilk__etcd_done done, void *owner)
{
    ilk__etcd_call *call = ilk__calloc(1, sizeof *call);

    *out = NULL;
    if (!call)
        return ILK_ENOMEM;
    if (ilk__timers_reserve(&client->timers, NULL)) {
        ilk__free(call);
        return ILK_ENOMEM;
    }
    ilk__etcd_list_init(&call->link);
    call->client = client;
    call->kind = kind;
    call->reply_ms = reply_ms > 0 ? reply_ms : client->reply_ms;
    call->done = done;
    call->owner = owner;
    call->timer.fire = look;
    call->may_repeat = kind != ILK__ETCD_CALL_REVOKE; /* a commit decides */
    *out = call;
    return ILK_OK;
}

/* Its message is encoded, or not. */
static ilk_status finish(ilk__etcd_call *call, ilk_status status)
{
    ilk__etcd *client = call->client;

    if (status) {
        free_call(call);
        return status;
    }
    call->deadline = ilk__deadline(call->reply_ms);
    look_later(client, call);
    ilk__etcd_move(call->kind == ILK__ETCD_CALL_KEEP_ALIVE
                       ? &client->renewals_waiting
                       : &client->waiting,
                   &call->link);
    client->calls++;
    return ILK_OK;
}

static int only_reads(const ilk__etcd_txn *txn)
{
    for (size_t i = 0; i < txn->then_count; i++)
        if (txn->then_ops[i].kind != ILK__ETCD_RANGE)
            return 0;
    for (size_t i = 0; i < txn->else_count; i++)
        if (txn->else_ops[i].kind != ILK__ETCD_RANGE)
            return 0;
    return 1;
}

/* It costs the server less than a transaction: most releases are one. */
static int is_one_delete(const ilk__etcd_txn *txn)
{
    return txn->compare_count == 0 && txn->else_count == 0
           && txn->then_count == 1 && txn->then_ops[0].kind == ILK__ETCD_DELETE;
}

ilk_status ilk__etcd_commit(ilk__etcd *client, const ilk__etcd_txn *txn,
                            int64_t reply_ms, ilk__etcd_done done, void *owner)
{
    const ilk__etcd_call_kind kind =
        is_one_delete(txn) ? ILK__ETCD_CALL_DELETE : ILK__ETCD_CALL_TXN;
    ilk__etcd_call *call;
    ilk_status st = begin(&call, client, kind, reply_ms, done, owner);

    if (st)
        return st;
    call->may_repeat = txn->may_repeat || only_reads(txn);
    if (kind == ILK__ETCD_CALL_DELETE)
        return finish(
            call, ilk__etcd_put_delete(&call->message, txn->then_ops, NULL));
    return finish(call, ilk__etcd_put_txn(&call->message, txn, NULL));
}

ilk_status ilk__etcd_grant(ilk__etcd *client, int64_t lease, int64_t ttl_s,
                           int64_t reply_ms, ilk__etcd_done done, void *owner)
{
    ilk__etcd_call *call;
    ilk_status st =
        begin(&call, client, ILK__ETCD_CALL_GRANT, reply_ms, done, owner);

    return st ? st
              : finish(call,
                       ilk__etcd_put_grant(&call->message, lease, ttl_s, NULL));
}

static ilk_status of_lease(ilk__etcd *client, ilk__etcd_call_kind kind,
                           int64_t lease, int64_t reply_ms, ilk__etcd_done done,
                           void *owner)
{
    ilk__etcd_call *call;
    ilk_status st = begin(&call, client, kind, reply_ms, done, owner);

    if (st)
        return st;
    call->lease = lease;
    return finish(call, ilk__etcd_put_lease(&call->message, lease, NULL));
}

ilk_status ilk__etcd_revoke(ilk__etcd *client, int64_t lease, int64_t reply_ms,
                            ilk__etcd_done done, void *owner)
{
    return of_lease(client, ILK__ETCD_CALL_REVOKE, lease, reply_ms, done,
                    owner);
}

ilk_status ilk__etcd_keep_alive(ilk__etcd *client, int64_t lease,
                                int64_t reply_ms, ilk__etcd_done done,
                                void *owner)
{
    return of_lease(client, ILK__ETCD_CALL_KEEP_ALIVE, lease, reply_ms, done,
                    owner);
}

ilk_status ilk__etcd_time_to_live(ilk__etcd *client, int64_t lease,
                                  int64_t reply_ms, ilk__etcd_done done,
                                  void *owner)
{
    return of_lease(client, ILK__ETCD_CALL_TIME_TO_LIVE, lease, reply_ms, done,
                    owner);
}

ilk_status ilk__etcd_ask_status(ilk__etcd *client, int64_t reply_ms,
                                ilk__etcd_done done, void *owner)
{
    ilk__etcd_call *call;
    ilk_status st =
        begin(&call, client, ILK__ETCD_CALL_STATUS, reply_ms, done, owner);

    return st ? st : finish(call, ilk__etcd_put_nothing(&call->message, NULL));
}

/* ---- sending and receiving ------------------------------------------------- */

static ilk_status send_call(ilk__etcd *client, ilk__etcd_call *call)
{
    ilk__grpc_call request = {.path = kinds[call->kind].path,
                              .token = client->token,
                              .has_leader = kinds[call->kind].has_leader,
                              .message = &call->message,
                              .ends = 1};
    ilk_status st = ilk__grpc_open(&call->stream, client->conn, &request, NULL);

    if (st)
        return st;
    call->stream->owner = call;
    call->stream->kind = ILK__ETCD_STREAM_UNARY;
    call->sent_at = ilk__now_ms();
    call->revision = client->revision;
    ilk__etcd_move(&client->sent, &call->link);
    return ILK_OK;
}

void ilk__etcd_send_calls(ilk__etcd *client)
{
    while (ilk__etcd_can_send(client) && !ilk__etcd_list_empty(&client->waiting)
           && ilk__grpc_conn_stream_count(client->conn)
                  < ilk__grpc_conn_stream_limit(client->conn)) {
        ilk__etcd_call *call = (ilk__etcd_call *)client->waiting.next;
        ilk_status st = send_call(client, call);

        if (st == ILK_ENOMEM)
            ilk__etcd_move(&client->unsendable, &call->link);
        else if (st)
            break;
    }
}

static void failed(ilk__etcd *client, ilk__etcd_call *call,
                   const ilk__etcd_failure *failure)
{
    if (failure->wants_login && client->url.user
        && call->logins < LOGINS_MOST) {
        call->logins++;
        send_again(client, call);
        ilk__etcd_renew_login(client);
        return;
    }
    ilk__etcd_note(client, failure);
    ilk__etcd_end_call(call, failure, NULL);
}

/* A transaction sees all that answers before its sending have shown. The client leaves a
 * server of which that is not true: it would read its older lists again and again. */
static ilk_status check_revision(ilk__etcd *client, const ilk__etcd_call *call,
                                 const ilk__etcd_answer *answer)
{
    char text[ILK_ERROR_MAX];

    if (call->kind != ILK__ETCD_CALL_TXN && call->kind != ILK__ETCD_CALL_DELETE)
        return ILK_OK;
    if (answer->revision >= call->revision) {
        if (answer->revision > client->revision)
            client->revision = answer->revision;
        return ILK_OK;
    }
    snprintf(text, sizeof text,
             "etcd at %.80s went back from revision %lld to %lld",
             ilk__grpc_conn_where(client->conn), (long long)call->revision,
             (long long)answer->revision);
    ilk__etcd_leave_endpoint(client, text);
    return ILK_EREPLY;
}

static void answered(ilk__etcd *client, ilk__etcd_call *call, ilk__span message)
{
    ilk__grpc_stream *stream = call->stream;
    ilk__etcd_parts parts = {.no_memory = 0};
    ilk__etcd_answer answer = {.status = ILK_OK};
    ilk__etcd_failure failure;
    ilk_status st = kinds[call->kind].read(message, &parts, &answer);

    if (st == ILK_OK)
        st = check_revision(client, call, &answer);
    client->rtt_ms = ilk__now_ms() - call->sent_at;
    /* The callback gets texts that point into the stream. */
    call->stream = NULL;
    if (st) {
        ilk__etcd_fail_with(&failure, st, 1,
                            st == ILK_ENOMEM ? "no memory for etcd's answer"
                            : client->leaves
                                ? client->leaving.msg
                                : "etcd's answer makes no sense, or has too "
                                  "many keys");
        ilk__etcd_end_call(call, &failure, NULL);
    } else {
        ilk__etcd_end_call(call, NULL, &answer);
    }
    ilk__etcd_parts_free(&parts);
    ilk__grpc_stream_free(stream);
}

/* An answer counts when its status has come as well. */
void ilk__etcd_call_ready(ilk__etcd *client, ilk__grpc_stream *stream)
{
    ilk__etcd_call *call = stream->owner;
    ilk__etcd_failure failure;
    ilk__span message;
    ilk_status st = ilk__etcd_next_message(stream, &message, &failure);

    if (st && st != ILK_EAGAIN)
        failed(client, call, &failure);
    else if (!stream->is_closed && !stream->no_memory)
        return;
    else if (stream->was_refused && stream->code < 0)
        send_again(client, call);
    else if (st == ILK_OK && stream->code == 0 && !stream->no_memory)
        answered(client, call, message);
    else {
        ilk__etcd_fail_by_stream(&failure, stream,
                                 ilk__grpc_conn_where(client->conn));
        failed(client, call, &failure);
    }
}

void ilk__etcd_split_sent(ilk__etcd *client, ilk__etcd_link *out)
{
    while (!ilk__etcd_list_empty(&client->sent)) {
        ilk__etcd_call *call = (ilk__etcd_call *)client->sent.previous;

        const int may_have_run = call->stream && call->stream->was_sent
                                 && !call->stream->was_refused;

        if (may_have_run && !may_repeat(client, call)) {
            ilk__grpc_stream_free(call->stream);
            call->stream = NULL;
            ilk__etcd_move(out, &call->link);
        } else {
            call->was_repeated |= may_have_run;
            send_again(client, call);
        }
    }
}
