/* SPDX-License-Identifier: MIT */
/*
 * etcd_client_renewals.c -- keeps leases alive, all on one stream.
 *
 * An answer has the number of its lease, and the answers for a lease come in the
 * order of the messages. A call gets the answer to a message that was sent after it
 * was made: the rest of a lease is counted from that sending. Calls whose message is
 * not sent yet share one.
 */
#include "etcd_client_internal.h"

#include "base/clock.h"

/* A call for this lease whose message was sent with, or after, number `first`. */
static ilk__etcd_call *find(ilk__etcd *client, int64_t lease, uint64_t first)
{
    ilk__etcd_link *at;

    for (at = client->renewals_sent.next; at != &client->renewals_sent;
         at = at->next) {
        ilk__etcd_call *call = (ilk__etcd_call *)at;

        if (call->lease == lease && call->number >= first)
            return call;
    }
    return NULL;
}

void ilk__etcd_renewals_again(ilk__etcd *client)
{
    while (!ilk__etcd_list_empty(&client->renewals_sent)) {
        ilk__etcd_call *call = (ilk__etcd_call *)client->renewals_sent.next;

        call->number = 0;
        ilk__etcd_move(&client->renewals_waiting, &call->link);
    }
    ilk__grpc_stream_free(client->renewals);
    client->renewals = NULL;
}

static ilk_status open_stream(ilk__etcd *client)
{
    ilk__grpc_call request = {.path = "/etcdserverpb.Lease/LeaseKeepAlive",
                              .token = client->token,
                              .has_leader = 1};
    ilk_status st =
        ilk__grpc_open(&client->renewals, client->conn, &request, NULL);

    if (st == ILK_OK)
        client->renewals->kind = ILK__ETCD_STREAM_RENEWALS;
    return st;
}

void ilk__etcd_send_renewals(ilk__etcd *client)
{
    uint64_t first = client->number + 1;

    if (!ilk__etcd_can_send(client)
        || ilk__etcd_list_empty(&client->renewals_waiting))
        return;
    if (!client->renewals && open_stream(client) == ILK_ECONN)
        return;
    while (!ilk__etcd_list_empty(&client->renewals_waiting)) {
        ilk__etcd_call *call = (ilk__etcd_call *)client->renewals_waiting.next;
        ilk__etcd_call *same = find(client, call->lease, first);

        if (!client->renewals
            || (!same
                && ilk__grpc_send(client->renewals, &call->message, NULL))) {
            ilk__etcd_move(&client->unsendable, &call->link);
            continue;
        }
        call->number = same ? same->number : ++client->number;
        call->sent_at = ilk__now_ms();
        ilk__etcd_move(&client->renewals_sent, &call->link);
    }
}

static void answered(ilk__etcd *client, ilk__etcd_answer *answer)
{
    ilk__etcd_call *call = find(client, answer->lease, 0);
    uint64_t number = call ? call->number : 0;
    ilk__etcd_link *at, same;

    /* Callbacks may make further calls, so that the ones to end are moved away
     * first. */
    ilk__etcd_list_init(&same);
    for (at = client->renewals_sent.next; at != &client->renewals_sent;) {
        call = (ilk__etcd_call *)at;
        at = at->next;
        if (call->number == number)
            ilk__etcd_move(&same, &call->link);
    }
    while (!ilk__etcd_list_empty(&same))
        ilk__etcd_end_call((ilk__etcd_call *)same.next, NULL, answer);
}

/* The stream has ended: as a rule, the member has lost its leader. */
static void ended(ilk__etcd *client, const ilk__etcd_failure *failure)
{
    ilk__etcd_link calls;
    int again = failure->wants_login && client->url.user;

    ilk__etcd_list_init(&calls);
    for (ilk__etcd_link *at = client->renewals_sent.next;
         at != &client->renewals_sent;) {
        ilk__etcd_call *call = (ilk__etcd_call *)at;

        at = at->next;
        if (!again || call->logins++)
            ilk__etcd_move(&calls, &call->link);
    }
    ilk__etcd_renewals_again(client);
    if (again)
        ilk__etcd_renew_login(client);
    ilk__etcd_note(client, failure);
    ilk__etcd_fail_calls(&calls, failure);
}

void ilk__etcd_renewals_ready(ilk__etcd *client, ilk__grpc_stream *stream)
{
    ilk__etcd_failure failure;
    ilk__span message;
    ilk_status st;

    while ((st = ilk__etcd_next_message(stream, &message, &failure))
           == ILK_OK) {
        ilk__etcd_answer answer = {.status = ILK_OK};

        st = ilk__etcd_read_keep_alive(message, NULL, &answer);
        ilk__etcd_drop_message(stream, message);
        if (st) {
            ilk__etcd_fail_with(&failure, ILK_EREPLY, 1,
                                "etcd's answer makes no sense");
            break;
        }
        answered(client, &answer);
    }
    if (st != ILK_EAGAIN)
        ended(client, &failure);
    else if (stream->is_closed || stream->no_memory) {
        ilk__etcd_fail_by_stream(&failure, stream,
                                 ilk__grpc_conn_where(client->conn));
        ended(client, &failure);
    }
}
