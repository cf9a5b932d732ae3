/* SPDX-License-Identifier: MIT */
/*
 * quorum_register_proposals.c -- the proposals of a quorum: how one is made
 * from a request, kept in the list and freed.
 */
#include "quorum_registers_internal.h"

#include "base/alloc.h"

#include <string.h>

static void dispose(ilk__proposal *one)
{
    *(one->previous ? &one->previous->next : &one->quorum->proposals) =
        one->next;
    if (one->next)
        one->next->previous = one->previous;
    ilk__proposal_clear_round(one);
    for (size_t i = 0; i < ILK__PROPOSAL_KEYS; i++)
        ilk__buf_free(&one->keys[i]);
    ilk__buf_free(&one->value);
    ilk__buf_free(&one->history);
    ilk__free(one);
}

static int is_idle(const ilk__proposal *one)
{
    for (size_t i = 0; i < one->quorum->count; i++)
        if (one->calls[i])
            return 0;
    return 1;
}

void ilk__proposal_dispose_idle(ilk__proposal *one)
{
    if (!one->request && is_idle(one))
        dispose(one);
}

/* ---- requests ------------------------------------------------------------ */

int ilk__proposal_waits(const ilk__proposal *one)
{
    return one->request->script == ILK__SCRIPT_REGISTER_WAIT;
}

/* Of `ilk:register:{limit}`. The acceptors' key is another: one server alone must not
 * take their hash for its register. 0: no memory. */
static int make_keys(ilk__proposal *one, ilk__bytes key)
{
    static const char *const fronts[ILK__PROPOSAL_KEYS] = {
        "ilk:quorum:register", "ilk:register:wait", "ilk:register:live"};
    const size_t front = strlen("ilk:register");

    for (size_t i = 0; i < ILK__PROPOSAL_KEYS; i++)
        if (key.len <= front
            || ilk__buf_add(&one->keys[i], fronts[i], strlen(fronts[i]))
            || ilk__buf_add(&one->keys[i], key.data + front, key.len - front))
            return 0;
    return 1;
}

static ilk__proposal *new_proposal(ilk__quorum *quorum,
                                   ilk__gateway_request *request)
{
    ilk__proposal *one = ilk__calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->quorum = quorum;
    one->request = request;
    one->began = ilk__now_ms();
    one->until = one->began + quorum->patience_ms;
    one->at = ILK__FOREVER;
    one->next = quorum->proposals;
    if (one->next)
        one->next->previous = one;
    quorum->proposals = one;
    if (make_keys(one, ilk__gateway_word(request->keys[0])))
        return one;
    dispose(one);
    return NULL;
}

void ilk__quorum_propose(ilk__quorum *quorum, ilk__gateway_request *request)
{
    const int changes = request->script == ILK__SCRIPT_REGISTER_SET
                        || request->script == ILK__SCRIPT_REGISTER_DELETE;
    ilk__register_change change = {.known = -1};
    ilk__proposal *one;

    if (changes && !ilk__register_read_change(&change, request))
        return;
    if (request->script == ILK__SCRIPT_REGISTER_WAIT
        && ilk__gateway_number_arg(request, ILK__REGISTER_WAIT_KNOWN) < 0) {
        ilk__register_reply_misuse(request);
        return;
    }
    quorum->keeps_registers = 1;
    one = new_proposal(quorum, request);
    if (!one) {
        ilk__gateway_break(request);
        return;
    }
    one->change = change;
    ilk__acceptors_fire(quorum, one->began);
    ilk__proposal_start(one);
    ilk__proposal_dispose_idle(one);
}

/* ---- the list ------------------------------------------------------------ */

void ilk__proposals_fire(ilk__quorum *quorum, int64_t now)
{
    ilk__proposal *next;

    for (ilk__proposal *one = quorum->proposals; one; one = next) {
        next = one->next;
        ilk__proposal_fire(one, now);
        ilk__proposal_dispose_idle(one);
    }
}

int64_t ilk__proposals_due(const ilk__quorum *quorum)
{
    int64_t until = ILK__FOREVER;

    for (const ilk__proposal *one = quorum->proposals; one; one = one->next)
        if (one->request)
            until = ilk__sooner(until, ilk__sooner(one->at, one->until));
    return until;
}

/* The nodes are closed: no call is left. */
void ilk__proposals_free(ilk__quorum *quorum)
{
    while (quorum->proposals) {
        if (quorum->proposals->request)
            ilk__gateway_break(quorum->proposals->request);
        dispose(quorum->proposals);
    }
}
