/* SPDX-License-Identifier: MIT */
/*
 * quorum_adoption.c -- taking in a node that has lost its registers.
 *
 * The node may have been one of those that accepted a change, and one whose promise keeps
 * an older ballot out. Copying the others' registers is not enough: a proposal from before
 * the loss may have its lost promise, and get the other promises that it needs after the
 * copying. So the others go on under the next edition of their list, and no majority
 * serves the old one any more:
 *
 *     BEGINS   the node's nonce, which belongs to this loss of its memory
 *     LOOKS    after that, which edition the others have
 *     SEALS    the node returns with the next edition, and the others have it, too: so
 *              many that each majority of before the loss has one of them
 *     COPIES   the registers of each of these go to the node, which keeps the greatest
 *              promise and the state of the greatest ballot
 *     ENDS     the node is ready
 *
 * Another edition that comes between, another nonce or a lost connection leads back to
 * BEGINS. Each step may be done twice, and by several clients at once. The rules are those
 * of tests/model/quorum_adoption.pml; it is a change of configuration, as in Rystsov,
 * "CASPaxos", section 2.3, with the editions as the configurations' names.
 */
#include "quorum_internal.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 500,
    KEYS_LOOKED_AT = 128 /* of a server, in one call */
};

/* A register on its way, or the listing of some. */
typedef struct passage {
    unsigned turn;
    size_t len;
    char key[];
} passage;

static const char prefix[] = "ilk:quorum:register:";

static ilk__quorum_node *target_of(ilk__quorum *quorum)
{
    return &quorum->nodes[quorum->adoption.node];
}

static void say(ilk__quorum_node *node, const char *why)
{
    snprintf(node->adoption_why, sizeof node->adoption_why, "%s", why);
}

static void end(ilk__quorum *quorum, const char *why)
{
    say(target_of(quorum), why);
    quorum->adoption.is = ILK__ADOPTION_NONE;
    quorum->adoption.turn++;
    atomic_fetch_and(&quorum->to_adopt, ~(1U << quorum->adoption.node));
}

static void begin_again(ilk__quorum *quorum, const char *why)
{
    ilk__adoption *adoption = &quorum->adoption;

    say(target_of(quorum), why);
    adoption->is = ILK__ADOPTION_BEGINS;
    adoption->again_at = ilk__now_ms() + AGAIN_MS;
    adoption->turn++;
}

/* ---- copying ------------------------------------------------------------- */

static void list_registers(ilk__quorum *quorum);

static passage *new_passage(const ilk__quorum *quorum, const char *key,
                            size_t len)
{
    passage *one = ilk__calloc(1, sizeof *one + len);

    if (!one)
        return NULL;
    one->turn = quorum->adoption.turn;
    one->len = len;
    if (len)
        memcpy(one->key, key, len);
    return one;
}

/* Takes `one` over: without a reply to come, frees it and begins the adoption again. */
static void send_passage(ilk__quorum_node *node, ilk__command *command,
                         int script, ilk__node_call_ended *ended, passage *one)
{
    if (ilk__quorum_send(node, command, script, ended, one)) {
        node->quorum->adoption.calls++;
        return;
    }
    ilk__free(one);
    begin_again(node->quorum, "a connection was lost");
}

/* Whether the call belongs to the adoption as it is now, and its reply is no failure. */
static int goes_on(ilk__quorum_node *node, const passage *one,
                   const ilk__reply *reply)
{
    ilk__adoption *adoption = &node->quorum->adoption;

    if (one->turn != adoption->turn || adoption->is != ILK__ADOPTION_COPIES)
        return 0;
    adoption->calls--;
    if (!reply)
        begin_again(node->quorum, "a connection was lost");
    else if (reply->type == ILK__REPLY_ERROR)
        begin_again(node->quorum, reply->str);
    else if (ilk__script_code(reply) == ILK__CODE_REFUSED)
        begin_again(node->quorum, "another node has lost its memory, or "
                                  "another adoption is under way");
    else
        return 1;
    return 0;
}

static void finish(ilk__quorum *quorum)
{
    quorum->adoption.is = ILK__ADOPTION_ENDS;
    ilk__acceptor_order(target_of(quorum), "ready", quorum->adoption.list,
                        ilk__now_ms());
}

/* The next page of this node, or the first one of the next node. */
static void copy_more(ilk__quorum *quorum)
{
    ilk__adoption *adoption = &quorum->adoption;

    if (adoption->is != ILK__ADOPTION_COPIES || adoption->calls)
        return;
    if (strcmp(adoption->cursor, "0") == 0) {
        adoption->given |= 1U << adoption->giver;
        for (adoption->giver = 0; adoption->giver < quorum->count;
             adoption->giver++)
            if ((adoption->givers & ~adoption->given) & (1U << adoption->giver))
                break;
        if (adoption->giver == quorum->count) {
            finish(quorum);
            return;
        }
    }
    list_registers(quorum);
}

static int was_returned(void *at, void *owner, const ilk__node_call *call,
                        ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    passage *one = owner;

    (void)call;
    if (goes_on(node, one, reply)) {
        node->stats.copied++;
        copy_more(node->quorum);
    }
    ilk__free(one);
    return 0;
}

enum { COPY_NUMBERS = 6 }; /* two ballots, version, has_value */

static void give(ilk__quorum_node *target, passage *one,
                 const ilk__reply *reply)
{
    const ilk__bytes keys[] = {
        {one->key, one->len}, ilk__quorum_node_key, ilk__quorum_acceptor_key};
    const ilk__adoption *adoption = &target->quorum->adoption;
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_QUORUM_REGISTER_RETURN, keys, 3);
    ilk__command_add_str(&command, adoption->nonce);
    ilk__command_add_str(&command, adoption->list);
    for (size_t i = 0; i < COPY_NUMBERS; i++)
        ilk__command_add_int(&command, ilk__script_int(reply, i));
    for (size_t i = COPY_NUMBERS; i < COPY_NUMBERS + 2; i++)
        ilk__command_add(&command, ilk__script_item(reply, i)->str,
                         ilk__script_item(reply, i)->len);
    send_passage(target, &command, ILK__SCRIPT_QUORUM_REGISTER_RETURN,
                 was_returned, one);
}

static int was_read(void *at, void *owner, const ilk__node_call *call,
                    ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    passage *one = owner;

    (void)call;
    if (goes_on(node, one, reply))
        give(target_of(node->quorum), one, reply);
    else
        ilk__free(one);
    return 0;
}

static void read_register(ilk__quorum_node *giver, const ilk__reply *key)
{
    const ilk__bytes keys[] = {{key->str, key->len}, ilk__quorum_acceptor_key};
    ilk__command command;
    passage *one;

    if (key->type != ILK__REPLY_STR || key->len < sizeof prefix
        || memcmp(key->str, prefix, sizeof prefix - 1) != 0) {
        begin_again(giver->quorum, "a node's list of registers makes no sense");
        return;
    }
    one = new_passage(giver->quorum, key->str, key->len);
    if (!one) {
        begin_again(giver->quorum, "out of memory");
        return;
    }
    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_QUORUM_REGISTER_COPY, keys, 2);
    ilk__command_add_str(&command, giver->quorum->adoption.list);
    send_passage(giver, &command, ILK__SCRIPT_QUORUM_REGISTER_COPY, was_read,
                 one);
}

static int were_listed(void *at, void *owner, const ilk__node_call *call,
                       ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    ilk__quorum *quorum = node->quorum;
    ilk__adoption *adoption = &quorum->adoption;
    passage *one = owner;

    (void)call;
    if (goes_on(node, one, reply)) {
        const ilk__reply *cursor = ilk__script_item(reply, 0);

        snprintf(adoption->cursor, sizeof adoption->cursor, "%s", cursor->str);
        for (size_t i = 2; i < reply->count && adoption->turn == one->turn; i++)
            read_register(node, reply->items[i]);
        copy_more(quorum);
    }
    ilk__free(one);
    return 0;
}

static void list_registers(ilk__quorum *quorum)
{
    ilk__adoption *adoption = &quorum->adoption;
    passage *one = new_passage(quorum, NULL, 0);
    ilk__command command;

    if (!one) {
        begin_again(quorum, "out of memory");
        return;
    }
    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_QUORUM_REGISTER_LIST,
                      &ilk__quorum_acceptor_key, 1);
    ilk__command_add_str(&command, adoption->list);
    ilk__command_add_str(&command, adoption->cursor);
    ilk__command_add_int(&command, KEYS_LOOKED_AT);
    send_passage(&quorum->nodes[adoption->giver], &command,
                 ILK__SCRIPT_QUORUM_REGISTER_LIST, were_listed, one);
}

/* ---- the next edition ---------------------------------------------------- */

static int has_numbers_of(const ilk__quorum_node *node, const char *list)
{
    return strcmp(ilk__acceptor_numbers(node->acceptor.text),
                  ilk__acceptor_numbers(list))
           == 0;
}

static int is_other(const ilk__quorum *quorum, size_t i)
{
    return i != quorum->adoption.node
           && ilk__acceptor_is_reached(&quorum->nodes[i])
           && quorum->nodes[i].acceptor.is == ILK__ACCEPTOR_READY;
}

/* Any majority of before the loss, without the node itself, has one of so many others. */
static size_t needed(const ilk__quorum *quorum)
{
    return quorum->count - ilk__quorum_majority(quorum) + 1;
}

/* The others that keep the registers of one quorum, as bits, and their latest list. */
static unsigned find_givers(const ilk__quorum *quorum, const char **latest)
{
    unsigned found = 0;
    size_t most = 0;

    *latest = "";
    for (size_t i = 0; i < quorum->count; i++) {
        const char *list = quorum->nodes[i].acceptor.text;
        unsigned same = 0;
        size_t number = 0;

        if (!is_other(quorum, i))
            continue;
        for (size_t j = 0; j < quorum->count; j++)
            if (is_other(quorum, j)
                && has_numbers_of(&quorum->nodes[j], list)) {
                same |= 1U << j;
                number++;
            }
        if (number < most || (number == most && strcmp(list, *latest) <= 0))
            continue;
        most = number;
        found = same;
        *latest = list;
    }
    return most >= needed(quorum) ? found : 0;
}

/* The edition in which the node returns: the one that it has begun to return with, or one
 * that is later than all that there are. */
static void choose_list(ilk__quorum *quorum, const char *latest)
{
    ilk__adoption *adoption = &quorum->adoption;
    const ilk__quorum_node *target = target_of(quorum);
    const char *own = target->acceptor.text;
    const int returns = target->acceptor.is == ILK__ACCEPTOR_RETURNS
                        && has_numbers_of(target, latest);

    if (returns && strcmp(own, latest) >= 0) {
        snprintf(adoption->list, sizeof adoption->list, "%s", own);
        return;
    }
    snprintf(adoption->list, sizeof adoption->list, "%0*ld%s",
             ILK__ACCEPTOR_EDITION, strtol(latest, NULL, 10) + 1,
             ilk__acceptor_numbers(latest));
}

/* ---- steps --------------------------------------------------------------- */

/* All nodes that are reached have replied with their state, and the node that is taken in
 * is one of them. */
static int is_settled(const ilk__quorum *quorum)
{
    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__quorum_node *node = &quorum->nodes[i];

        if (ilk__acceptor_is_reached(node)
            && (node->acceptor.calls || !node->acceptor.is_checked))
            return 0;
    }
    return ilk__acceptor_is_reached(&quorum->nodes[quorum->adoption.node]);
}

static int is_all_there(const ilk__quorum *quorum)
{
    size_t reached = 0;

    for (size_t i = 0; i < quorum->count; i++)
        reached += (size_t)ilk__acceptor_is_reached(&quorum->nodes[i]);
    return reached == quorum->count;
}

/* The others are looked at after the nonce is known: an edition from before the loss
 * cannot be taken for a later one. */
static void look_at_others(ilk__quorum *quorum)
{
    ilk__adoption *adoption = &quorum->adoption;

    memcpy(adoption->nonce, target_of(quorum)->acceptor.nonce,
           sizeof adoption->nonce);
    for (size_t i = 0; i < quorum->count; i++)
        if (i != adoption->node)
            ilk__acceptor_lost(&quorum->nodes[i]);
    adoption->is = ILK__ADOPTION_LOOKS;
}

static void begin(ilk__quorum *quorum)
{
    const ilk__quorum_node *target = target_of(quorum);

    switch (ilk__acceptor_registers(target)) {
    case ILK_REGISTERS_UNKNOWN: break;
    case ILK_REGISTERS_KEPT: end(quorum, ""); break;
    case ILK_REGISTERS_REFUSED: end(quorum, target->acceptor.why); break;
    case ILK_REGISTERS_FOREIGN:
        end(quorum, "it keeps the registers of another quorum");
        break;
    case ILK_REGISTERS_NONE:
        if (is_all_there(quorum))
            end(quorum, "no node of this quorum keeps registers, so none has "
                        "lost them");
        break;
    case ILK_REGISTERS_LOST:
    case ILK_REGISTERS_RETURNING: look_at_others(quorum); break;
    }
}

/* It is still the same loss of memory, and the node does not serve yet. */
static int is_still_lost(ilk__quorum *quorum)
{
    const ilk__acceptor *acceptor = &target_of(quorum)->acceptor;

    return strcmp(acceptor->nonce, quorum->adoption.nonce) == 0
           && acceptor->is != ILK__ACCEPTOR_READY
           && acceptor->is != ILK__ACCEPTOR_UNFIT;
}

static void seal(ilk__quorum *quorum, int64_t now)
{
    ilk__adoption *adoption = &quorum->adoption;
    const char *latest;
    char why[160];

    if (!is_still_lost(quorum)) {
        begin_again(quorum, "");
        return;
    }
    adoption->givers = find_givers(quorum, &latest);
    if (!adoption->givers) {
        snprintf(why, sizeof why,
                 "%zu of the other nodes must keep registers, and be reached",
                 needed(quorum));
        begin_again(quorum, why);
        return;
    }
    choose_list(quorum, latest);
    ilk__acceptor_order(target_of(quorum), "returns", adoption->list, now);
    for (size_t i = 0; i < quorum->count; i++)
        if (adoption->givers & (1U << i))
            ilk__acceptor_order(&quorum->nodes[i], "ready", adoption->list,
                                now);
    adoption->is = ILK__ADOPTION_SEALS;
}

static void copy(ilk__quorum *quorum)
{
    ilk__adoption *adoption = &quorum->adoption;
    const ilk__acceptor *target = &target_of(quorum)->acceptor;
    size_t sealed = 0;

    adoption->givers = 0;
    for (size_t i = 0; i < quorum->count && sealed < needed(quorum); i++)
        if (is_other(quorum, i)
            && strcmp(quorum->nodes[i].acceptor.text, adoption->list) == 0) {
            adoption->givers |= 1U << i;
            sealed++;
        }
    if (sealed < needed(quorum) || !is_still_lost(quorum)
        || target->is != ILK__ACCEPTOR_RETURNS
        || strcmp(target->text, adoption->list) != 0) {
        begin_again(quorum, "somebody else takes a node in");
        return;
    }
    adoption->is = ILK__ADOPTION_COPIES;
    adoption->given = 0;
    adoption->calls = 0;
    for (adoption->giver = 0; !(adoption->givers & (1U << adoption->giver));)
        adoption->giver++;
    snprintf(adoption->cursor, sizeof adoption->cursor, "0");
    list_registers(quorum);
}

static void choose_node(ilk__quorum *quorum)
{
    const unsigned wanted = atomic_load(&quorum->to_adopt);

    for (size_t i = 0; i < quorum->count; i++)
        if (wanted & (1U << i)) {
            quorum->adoption.node = i;
            quorum->adoption.is = ILK__ADOPTION_BEGINS;
            quorum->adoption.again_at = 0;
            quorum->nodes[i].stats.copied = 0;
            say(&quorum->nodes[i], "");
            return;
        }
}

void ilk__adoption_fire(ilk__quorum *quorum, int64_t now)
{
    ilk__adoption *adoption = &quorum->adoption;

    if (adoption->is == ILK__ADOPTION_NONE)
        choose_node(quorum);
    if (adoption->again_at <= now)
        adoption->again_at = 0;
    if (adoption->again_at || adoption->is == ILK__ADOPTION_NONE
        || adoption->is == ILK__ADOPTION_COPIES || !is_settled(quorum))
        return; /* a reply leads on */
    switch (adoption->is) {
    case ILK__ADOPTION_BEGINS: begin(quorum); break;
    case ILK__ADOPTION_LOOKS: seal(quorum, now); break;
    case ILK__ADOPTION_SEALS: copy(quorum); break;
    case ILK__ADOPTION_ENDS:
        begin(quorum); /* it keeps them, unless something came between */
        break;
    case ILK__ADOPTION_NONE:
    case ILK__ADOPTION_COPIES: break;
    }
}

int64_t ilk__adoption_due(const ilk__quorum *quorum)
{
    return quorum->adoption.again_at ? quorum->adoption.again_at : ILK__FOREVER;
}

int ilk__adoption_is_under_way(const ilk__quorum *quorum)
{
    return quorum->adoption.is != ILK__ADOPTION_NONE
           || atomic_load(&quorum->to_adopt);
}

ilk_status ilk__quorum_adopt(void *self, size_t index)
{
    ilk__quorum *quorum = self;

    if (index >= quorum->count)
        return ILK_EAGAIN;
    atomic_fetch_or(&quorum->to_adopt, 1U << index);
    return ILK_OK;
}
