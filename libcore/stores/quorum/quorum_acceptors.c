/* SPDX-License-Identifier: MIT */
/*
 * quorum_acceptors.c -- which nodes keep registers: those that have never forgotten one,
 * and whose server writes to the disk what it replies.
 *
 *     UNKNOWN --calls--> COMES --replies--> BLANK, BEGUN, RETURNS, READY, or UNFIT
 *
 * Registers begin when all nodes are BLANK: each becomes BEGUN, with a number of its own.
 * When all are BEGUN, they become READY, with the list of these numbers. A node that is
 * BLANK later has lost its memory, and its next number is not in the list; one with
 * other numbers belongs to another quorum (scripts/quorum/quorum_acceptor.lua). The rules
 * are those of tests/model/quorum_acceptors.pml.
 *
 * A node that has lost its memory RETURNS when an operator asks for it (quorum_adoption.c).
 * That gives the list its next edition, and a node serves only requests with the edition
 * that it has. A node that was away meanwhile has forgotten nothing, and gets the later
 * edition here.
 *
 * A vote for a lock may be forgotten after the longest lease; a promise about a register
 * may not, and is on the disk. So a node that was restarted keeps registers at once,
 * while it has yet to wait until it votes for locks.
 */
#include "quorum_internal.h"

#include "base/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGAIN_MS = 500 };

const ilk__bytes ilk__quorum_acceptor_key = {(char *)"ilk:quorum:acceptor", 19};

/* ---- what a node says ---------------------------------------------------- */

static void refuse(ilk__acceptor *acceptor, const char *why)
{
    if (!acceptor->why[0])
        snprintf(acceptor->why, sizeof acceptor->why, "%.150s", why);
}

static int is_word(const ilk__reply *reply, const char *word)
{
    return reply->type == ILK__REPLY_STR && ilk__reply_is_text(reply, word);
}

static int begins_with(const ilk__reply *text, const char *word)
{
    return strncmp(text->str, word, strlen(word)) == 0;
}

/* The rest behind the word. */
static void take_text(ilk__acceptor *acceptor, const ilk__reply *text,
                      const char *word, ilk__acceptor_state state)
{
    const char *rest = text->str + strlen(word);

    if (strlen(text->str) != text->len || strlen(rest) > ILK__ACCEPTOR_LIST) {
        refuse(acceptor, "its key ilk:quorum:acceptor makes no sense");
        return;
    }
    memcpy(acceptor->text, rest, strlen(rest) + 1);
    acceptor->is = state;
}

static void take_state(ilk__quorum_node *node, const ilk__reply *reply)
{
    ilk__members *members = &node->quorum->members;
    ilk__acceptor *acceptor = &node->acceptor;
    const ilk__reply *nonce = ilk__script_item(reply, 0),
                     *text = ilk__script_item(reply, 1);

    if (!ilk__reply_is_text(nonce, members->nodes[node->number].nonce)) {
        /* The node has lost its memory under the connection, and with it its votes
         * for locks. */
        ilk__members_refused(members, node->number);
        ilk__acceptor_lost(node);
        return;
    }
    acceptor->is = ILK__ACCEPTOR_BLANK;
    memcpy(acceptor->nonce, nonce->str, nonce->len + 1);
    if (begins_with(text, "begins "))
        take_text(acceptor, text, "begins ", ILK__ACCEPTOR_BEGUN);
    else if (begins_with(text, "returns "))
        take_text(acceptor, text, "returns ", ILK__ACCEPTOR_RETURNS);
    else if (begins_with(text, "ready "))
        take_text(acceptor, text, "ready ", ILK__ACCEPTOR_READY);
    else if (text->len)
        refuse(acceptor, "its key ilk:quorum:acceptor makes no sense");
}

/* Settings that lose a promise, in the words of redis.conf. */
static const struct setting {
    const char *name, *wanted, *why;
} settings[] = {
    {"appendonly", "yes", "registers need appendonly yes"},
    {"appendfsync", "always", "registers need appendfsync always"},
    {"no-appendfsync-on-rewrite", "no",
     "registers need no-appendfsync-on-rewrite no"},
    {"aof-load-truncated", "no", "registers need aof-load-truncated no"},
    {"maxmemory-policy", "noeviction",
     "registers need maxmemory-policy noeviction"},
};

enum { SETTINGS = sizeof settings / sizeof *settings };

/* The value of a setting in a reply, which has names and values in turn; or NULL. */
static const ilk__reply *find_setting(const ilk__reply *reply, const char *name)
{
    for (size_t i = 0; i + 1 < reply->count; i += 2)
        if (is_word(reply->items[i], name))
            return reply->items[i + 1];
    return NULL;
}

static void take_settings(ilk__acceptor *acceptor, const ilk__reply *reply)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        const ilk__reply *value = find_setting(reply, settings[i].name);

        if (!value)
            continue;
        acceptor->settings |= 1U << i;
        if (!is_word(value, settings[i].wanted))
            refuse(acceptor, settings[i].why);
    }
}

static void conclude(ilk__acceptor *acceptor, int trusts)
{
    if (acceptor->is_checked && !trusts
        && acceptor->settings != (1U << SETTINGS) - 1)
        refuse(acceptor, "its settings cannot be read: registers need the "
                         "right +config|get, or fsync=trust in the URL");
    if (acceptor->why[0])
        acceptor->is = ILK__ACCEPTOR_UNFIT;
}

int ilk__acceptor_answered(void *at, void *owner, const ilk__node_call *call,
                           ilk__reply *reply)
{
    ilk__quorum_node *node = at;
    ilk__acceptor *acceptor = &node->acceptor;
    ilk_error why;

    (void)owner;
    if (!acceptor->calls)
        return 0; /* of a connection before this one */
    if (reply && reply->type == ILK__REPLY_ERROR) {
        (void)ilk__reply_error(reply, &why);
        if (call->script != ILK__SCRIPT_NONE)
            refuse(acceptor, why.msg);
    } else if (reply && call->script == ILK__SCRIPT_NONE) {
        take_settings(acceptor, reply);
    } else if (reply) {
        take_state(node, reply);
    }
    if (acceptor->calls && --acceptor->calls == 0 && reply)
        conclude(acceptor, node->quorum->trusts_fsync);
    return 0;
}

/* ---- asking -------------------------------------------------------------- */

static int send_word(ilk__quorum_node *node, const char *nonce,
                     const char *word, const char *text)
{
    const ilk__bytes keys[] = {ilk__quorum_node_key, ilk__quorum_acceptor_key};
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_QUORUM_ACCEPTOR, keys, 2);
    ilk__command_add_str(&command, nonce);
    ilk__command_add_str(&command, word);
    ilk__command_add_str(&command, text);
    return ilk__quorum_send(node, &command, ILK__SCRIPT_QUORUM_ACCEPTOR,
                            ilk__acceptor_answered, NULL);
}

static int send_config(ilk__quorum_node *node, const char *name)
{
    ilk__command command;

    ilk__command_init(&command);
    ilk__command_add_str(&command, "CONFIG");
    ilk__command_add_str(&command, "GET");
    ilk__command_add_str(&command, name);
    return ilk__quorum_send(node, &command, ILK__SCRIPT_NONE,
                            ilk__acceptor_answered, NULL);
}

/* Without registers only the state is read, which `interlock quorum status` shows. */
static int needs_acceptors(const ilk__quorum *quorum)
{
    return quorum->keeps_registers || ilk__adoption_is_under_way(quorum);
}

static void ask(ilk__quorum_node *node, int64_t now)
{
    ilk__acceptor *acceptor = &node->acceptor;

    *acceptor = (ilk__acceptor){.is = ILK__ACCEPTOR_COMES,
                                .is_checked = needs_acceptors(node->quorum),
                                .again_at = now + AGAIN_MS};
    for (size_t i = 0;
         acceptor->is_checked && !node->quorum->trusts_fsync && i < SETTINGS;
         i++)
        acceptor->calls += send_config(node, settings[i].name);
    acceptor->calls += send_word(node, "", "", "");
}

void ilk__acceptor_order(ilk__quorum_node *node, const char *word,
                         const char *text, int64_t now)
{
    ilk__acceptor *acceptor = &node->acceptor;

    acceptor->is = ILK__ACCEPTOR_COMES;
    acceptor->again_at = now + AGAIN_MS;
    acceptor->calls += send_word(node, acceptor->nonce, word, text);
}

void ilk__acceptor_lost(ilk__quorum_node *node)
{
    node->acceptor = (ilk__acceptor){.is = ILK__ACCEPTOR_UNKNOWN};
}

/* The node has lost its memory, or has a later edition of the list: the next look shows
 * which. */
void ilk__acceptor_refused(ilk__quorum_node *node)
{
    if (node->acceptor.is == ILK__ACCEPTOR_READY)
        ilk__acceptor_lost(node);
}

/* It has a nonce, and its messages come here. */
int ilk__acceptor_is_reached(const ilk__quorum_node *node)
{
    const ilk__quorum *quorum = node->quorum;

    return node->calls.connection.up
           && quorum->members.nodes[node->number].known
           && ilk__node_messages_are_subscribed(&node->messages)
           && !quorum->twice[0];
}

/* ---- beginning ----------------------------------------------------------- */

/* The nodes in this state whose settings are known as well. */
static size_t count(const ilk__quorum *quorum, ilk__acceptor_state state)
{
    size_t number = 0;

    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__quorum_node *node = &quorum->nodes[i];

        number += ilk__acceptor_is_reached(node) && node->acceptor.is_checked
                  && node->acceptor.is == state;
    }
    return number;
}

/* A list is `<edition>:<number>-<number>-...`, in order: of two editions the later one is
 * the greater string. It names as many nodes as the URL: a majority of another number of
 * nodes is none here. */
static int has_length(const ilk__quorum *quorum, const char *list)
{
    return strlen(list)
           == ILK__ACCEPTOR_EDITION
                  + quorum->count * (ILK__ACCEPTOR_NUMBER + 1);
}

const char *ilk__acceptor_numbers(const char *list)
{
    return strlen(list) > ILK__ACCEPTOR_EDITION ? list + ILK__ACCEPTOR_EDITION
                                                : "";
}

int ilk__acceptor_is_earlier(const char *list, const char *than)
{
    return strcmp(ilk__acceptor_numbers(list), ilk__acceptor_numbers(than)) == 0
           && strcmp(list, than) < 0;
}

/* The list with which a majority is READY, or "". */
static const char *find_list(const ilk__quorum *quorum)
{
    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__acceptor *one = &quorum->nodes[i].acceptor;
        size_t same = 0;

        if (one->is != ILK__ACCEPTOR_READY || !has_length(quorum, one->text))
            continue;
        for (size_t j = 0; j < quorum->count; j++) {
            const ilk__acceptor *other = &quorum->nodes[j].acceptor;

            same += other->is == ILK__ACCEPTOR_READY
                    && strcmp(one->text, other->text) == 0;
        }
        if (same >= ilk__quorum_majority(quorum))
            return one->text;
    }
    return "";
}

static void begin(ilk__quorum *quorum, int64_t now)
{
    char number[ILK__ACCEPTOR_NUMBER + 1];

    for (size_t i = 0; i < quorum->count; i++)
        if (quorum->nodes[i].acceptor.is == ILK__ACCEPTOR_BLANK
            && ilk__token(number, ILK__ACCEPTOR_NUMBER, NULL) == ILK_OK)
            ilk__acceptor_order(&quorum->nodes[i], "begins", number, now);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The latest edition of the list `known` with which a node is READY; `known` itself if
 * there is no later one. If it is "", the latest edition of the first list that is found. */
static const char *find_latest(const ilk__quorum *quorum, const char *known)
{
    const char *latest = known;

    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__acceptor *one = &quorum->nodes[i].acceptor;

        if (one->is == ILK__ACCEPTOR_READY
            && (!*latest || ilk__acceptor_is_earlier(latest, one->text)))
            latest = one->text;
    }
    return latest;
}

/* All have begun: the list of those that are READY, or of all numbers in their order. */
static void choose_list(const ilk__quorum *quorum,
                        char out[ILK__ACCEPTOR_LIST + 1])
{
    const char *numbers[ILK__QUORUM_MOST];
    size_t len;

    len = (size_t)snprintf(out, ILK__ACCEPTOR_LIST + 1, "%s",
                           find_latest(quorum, ""));
    if (len)
        return;
    for (size_t i = 0; i < quorum->count; i++)
        numbers[i] = quorum->nodes[i].acceptor.text;
    qsort(numbers, quorum->count, sizeof *numbers, by_text);
    len = (size_t)snprintf(out, ILK__ACCEPTOR_LIST + 1, "%0*d",
                           ILK__ACCEPTOR_EDITION, 1);
    for (size_t i = 0; i < quorum->count && len < ILK__ACCEPTOR_LIST; i++)
        len +=
            (size_t)snprintf(out + len, ILK__ACCEPTOR_LIST + 1 - len, "%c%.*s",
                             i ? '-' : ':', ILK__ACCEPTOR_NUMBER, numbers[i]);
}

static int is_in(const ilk__acceptor *acceptor, const char *list)
{
    return strlen(acceptor->text) == ILK__ACCEPTOR_NUMBER
           && strstr(list, acceptor->text) != NULL;
}

static void make_ready(ilk__quorum *quorum, int64_t now)
{
    char list[ILK__ACCEPTOR_LIST + 1];

    choose_list(quorum, list);
    for (size_t i = 0; i < quorum->count; i++)
        if (quorum->nodes[i].acceptor.is == ILK__ACCEPTOR_BEGUN
            && is_in(&quorum->nodes[i].acceptor, list))
            ilk__acceptor_order(&quorum->nodes[i], "ready", list, now);
}

/* Give the latest edition to each node that lacks it: the node was away when others got
 * it, or another client is just giving it to all of them. */
static void move_on(ilk__quorum *quorum, int64_t now)
{
    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__acceptor *one = &quorum->nodes[i].acceptor;
        const char *latest;

        if (one->is != ILK__ACCEPTOR_READY)
            continue;
        latest = find_latest(quorum, one->text);
        if (latest != one->text)
            ilk__acceptor_order(&quorum->nodes[i], "ready", latest, now);
    }
}

/* When to look at the node; ILK__FOREVER: there is no need. READY stays until the node
 * refuses a request, or its connection is lost. */
static int64_t look_at(const ilk__quorum_node *node)
{
    const ilk__acceptor *acceptor = &node->acceptor;

    if (!ilk__acceptor_is_reached(node) || acceptor->calls)
        return ILK__FOREVER;
    if (acceptor->is == ILK__ACCEPTOR_UNKNOWN)
        return 0;
    if (!needs_acceptors(node->quorum))
        return ILK__FOREVER;
    if (!acceptor->is_checked)
        return 0;
    return acceptor->is == ILK__ACCEPTOR_READY ? ILK__FOREVER
                                               : acceptor->again_at;
}

static void begin_or_go_on(ilk__quorum *quorum, int64_t now)
{
    const size_t blank = count(quorum, ILK__ACCEPTOR_BLANK),
                 begun = count(quorum, ILK__ACCEPTOR_BEGUN),
                 ready = count(quorum, ILK__ACCEPTOR_READY);

    if (blank && blank + begun == quorum->count)
        begin(quorum, now);
    else if (begun && begun + ready == quorum->count)
        make_ready(quorum, now);
    move_on(quorum, now);
}

void ilk__acceptors_fire(ilk__quorum *quorum, int64_t now)
{
    snprintf(quorum->acceptor_list, sizeof quorum->acceptor_list, "%s",
             find_list(quorum));
    if (quorum->keeps_registers)
        begin_or_go_on(quorum, now);
    for (size_t i = 0; i < quorum->count; i++)
        if (look_at(&quorum->nodes[i]) <= now)
            ask(&quorum->nodes[i], now);
}

int64_t ilk__acceptors_due(const ilk__quorum *quorum)
{
    int64_t until = ILK__FOREVER;

    for (size_t i = 0; i < quorum->count; i++)
        until = ilk__sooner(until, look_at(&quorum->nodes[i]));
    return until;
}

/* ---- who accepts --------------------------------------------------------- */

int ilk__acceptor_is_fit(const ilk__quorum_node *node)
{
    return ilk__acceptor_is_reached(node) && node->acceptor.is_checked
           && node->acceptor.is == ILK__ACCEPTOR_READY
           && strcmp(node->acceptor.text, node->quorum->acceptor_list) == 0;
}

size_t ilk__acceptors_count(const ilk__quorum *quorum)
{
    size_t number = 0;

    for (size_t i = 0; i < quorum->count; i++)
        number += (size_t)ilk__acceptor_is_fit(&quorum->nodes[i]);
    return number;
}

int ilk__acceptors_may_come(const ilk__quorum *quorum)
{
    if (ilk__quorum_may_any_come(quorum))
        return 1;
    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__quorum_node *node = &quorum->nodes[i];

        if (ilk__acceptor_is_reached(node) && !ilk__acceptor_is_fit(node)
            && node->acceptor.is != ILK__ACCEPTOR_UNFIT)
            return 1;
    }
    return 0;
}

static int differs(const char *list, const char *other)
{
    return strcmp(ilk__acceptor_numbers(list), ilk__acceptor_numbers(other))
           != 0;
}

/* Without a majority it is not known which of two lists is that of this quorum: both
 * count as another's. */
static int is_of_another_quorum(const ilk__quorum_node *node)
{
    const ilk__quorum *quorum = node->quorum;
    const char *own = node->acceptor.text;

    if (!has_length(quorum, own))
        return 1;
    if (*quorum->acceptor_list)
        return differs(own, quorum->acceptor_list);
    for (size_t i = 0; i < quorum->count; i++)
        if (quorum->nodes[i].acceptor.is == ILK__ACCEPTOR_READY
            && differs(own, quorum->nodes[i].acceptor.text))
            return 1;
    return 0;
}

ilk_node_registers ilk__acceptor_registers(const ilk__quorum_node *node)
{
    switch (node->acceptor.is) {
    case ILK__ACCEPTOR_UNFIT: return ILK_REGISTERS_REFUSED;
    case ILK__ACCEPTOR_RETURNS: return ILK_REGISTERS_RETURNING;
    case ILK__ACCEPTOR_BLANK:
    case ILK__ACCEPTOR_BEGUN:
        return *find_latest(node->quorum, "") ? ILK_REGISTERS_LOST
                                              : ILK_REGISTERS_NONE;
    case ILK__ACCEPTOR_READY:
        return is_of_another_quorum(node) ? ILK_REGISTERS_FOREIGN
                                          : ILK_REGISTERS_KEPT;
    case ILK__ACCEPTOR_UNKNOWN:
    case ILK__ACCEPTOR_COMES: break;
    }
    return ILK_REGISTERS_UNKNOWN;
}

const char *ilk__acceptor_why(const ilk__quorum_node *node)
{
    switch (ilk__acceptor_registers(node)) {
    case ILK_REGISTERS_REFUSED: return node->acceptor.why;
    case ILK_REGISTERS_RETURNING: return "it is being taken in again";
    case ILK_REGISTERS_LOST: return "it has lost the registers that it kept";
    case ILK_REGISTERS_NONE: return "registers begin when all nodes take part";
    case ILK_REGISTERS_FOREIGN:
        return "it keeps the registers of another quorum";
    case ILK_REGISTERS_KEPT:
    case ILK_REGISTERS_UNKNOWN: break;
    }
    return "it has not replied yet";
}

/* A node that is reached and not fit, if possible one that has a reason of its own. */
static const ilk__quorum_node *find_unfit(const ilk__quorum *quorum)
{
    const ilk__quorum_node *found = NULL;

    for (size_t i = 0; i < quorum->count; i++) {
        const ilk__quorum_node *node = &quorum->nodes[i];

        if (!ilk__acceptor_is_reached(node) || ilk__acceptor_is_fit(node))
            continue;
        if (node->acceptor.is != ILK__ACCEPTOR_READY)
            return node;
        found = node;
    }
    return found;
}

void ilk__acceptors_write_why(const ilk__quorum *quorum,
                              char out[ILK_ERROR_MAX])
{
    const ilk__quorum_node *unfit = find_unfit(quorum);
    int len;

    if (!unfit) {
        ilk__quorum_write_why(quorum, "NOQUORUM", out);
        return;
    }
    len = snprintf(out, ILK_ERROR_MAX,
                   "NOQUORUM %zu of %zu nodes keep registers, and %zu must; "
                   "%.60s:%d: ",
                   ilk__acceptors_count(quorum), quorum->count,
                   ilk__quorum_majority(quorum), unfit->url.host,
                   unfit->url.port);
    snprintf(out + len, ILK_ERROR_MAX - (size_t)len, "%.120s",
             ilk__acceptor_why(unfit));
}
