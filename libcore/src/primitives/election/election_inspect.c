/* SPDX-License-Identifier: MIT */
/* election_inspect.c -- who leads: the request, ilk_leader and its getters. */
#include "base/alloc.h"
#include "client/run.h"
#include "election.h"
#include "wait/entry.h"

#include <string.h>

/* ---- reading a reply ---------------------------------------------------- */

/* "" for an entry that cannot be parsed. */
static char *label_of(const ilk__reply *reply)
{
    ilk__entry_text entry = {.who = {.label = ""}};

    (void)ilk__entry_read(&entry, reply->str, reply->len);
    return ilk__memdup(entry.who.label, entry.who.label_len);
}

static int read_candidates(ilk_leader *leader, const ilk__reply *reply)
{
    if (reply->count <= ILK__ELECTION_AT_CANDIDATES + 1)
        return 1;
    leader->candidates = ilk__script_int(reply, ILK__ELECTION_AT_CANDIDATES);
    for (size_t i = ILK__ELECTION_AT_ENTRIES + 1;
         i < reply->count && leader->listed_count < ILK__LEADER_LISTED; i++) {
        char **label = &leader->listed[leader->listed_count];

        if (reply->items[i]->type != ILK__REPLY_STR)
            continue;
        *label = label_of(reply->items[i]);
        if (!*label)
            return 0;
        leader->listed_count++;
    }
    return 1;
}

ilk_status ilk__leader_read(ilk_leader **out, const ilk__reply *reply,
                            ilk_error *err)
{
    const ilk__reply *value = ilk__script_item(reply, ILK__ELECTION_AT_VALUE);
    const ilk__reply *by = ilk__script_item(reply, ILK__ELECTION_AT_WHO);
    const ilk__who who = ilk__who_read(by->str, by->len);
    ilk_leader *leader = ilk__calloc(1, sizeof *leader);

    *out = NULL;
    if (!leader)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    leader->term = ilk__script_int(reply, ILK__ELECTION_AT_TERM);
    leader->version = ilk__script_int(reply, ILK__ELECTION_AT_VERSION);
    leader->leads = ilk__script_int(reply, ILK__ELECTION_AT_LEADS) == 1;
    leader->ttl_ms = ilk__script_int(reply, ILK__ELECTION_AT_PTTL);
    leader->since_ms = ilk__script_int(reply, ILK__ELECTION_AT_SINCE);
    leader->value = ilk__memdup(value->str, value->len);
    leader->value_len = value->len;
    leader->label = ilk__memdup(who.label, who.label_len);
    if (!leader->value || !leader->label || !read_candidates(leader, reply)) {
        ilk_leader_free(leader);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    *out = leader;
    return ILK_OK;
}

/* ---- asking ------------------------------------------------------------- */

/* The request copies the election's name, so the handle may be freed while it
   runs. */
typedef struct inspect_request {
    ilk__request request;
    const ilk_election *election; /* borrowed from the caller until it begins */
    ilk__bytes keys[ILK__ELECTION_KEYS];
    ilk_leader *found;
} inspect_request;

static void ask(ilk__op *op)
{
    const inspect_request *self = op->subject;

    ilk__script_begin(&op->command, op->type->script, self->keys,
                      ILK__ELECTION_KEYS);
    ilk__command_add_int(&op->command, ILK__LEADER_LISTED);
}

static ilk__act found(ilk__op *op, const ilk__reply *reply)
{
    inspect_request *self = op->subject;

    return ilk__op_done(op, ilk__leader_read(&self->found, reply, op->err));
}

static const ilk__op_type election_inspect = {.name = "election_inspect",
                                              .script =
                                                  ILK__SCRIPT_ELECTION_INSPECT,
                                              .reply_is_optional = 1,
                                              .ask = ask,
                                              .reply = found};

static void end(inspect_request *self, ilk_status status)
{
    ilk__keys_free(self->keys, ILK__ELECTION_KEYS);
    if (status)
        ilk_leader_free(self->found);
    else
        ilk__leader_answer(&self->request, self->found);
    ilk__request_end(&self->request, status);
}

static void inspected(ilk__request *request, ilk_status status)
{
    end((inspect_request *)request, status);
}

static void begin(ilk__request *request)
{
    inspect_request *self = (inspect_request *)request;
    const char *name;
    size_t name_len;
    ilk_status st = ilk__client_enter(request->client, request->err);

    if (st == ILK_OK) {
        name = ilk_election_name(self->election, &name_len);
        st = ilk__keys_make(self->keys, ilk__election_key_kinds,
                            ILK__ELECTION_KEYS, name, name_len, request->err);
    }
    if (st)
        end(self, st);
    else
        ilk__request_ask(request, &election_inspect, self,
                         ilk__request_patience(request), inspected);
}

ilk_status ilk_election_leader(ilk_leader **out, ilk_election *election,
                               ilk_error *err)
{
    inspect_request self = {.election = election};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (!election)
        return ilk__fail(err, ILK_EINVAL, "election must not be NULL");
    st = ilk__request_run(&self.request, election->hold.handle.client, begin,
                          err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_election_leader_start(ilk_op **out, ilk_election *election,
                                     ilk_error *err)
{
    inspect_request self = {.election = election};

    if (!election)
        return ilk__started_none(
            out, ilk__fail(err, ILK_EINVAL, "election must not be NULL"));
    return ilk__request_start(out, &self.request, sizeof self,
                              election->hold.handle.client, begin, err);
}

/* ---- the result --------------------------------------------------------- */

static void dispose(void *leader)
{
    ilk_leader_free(leader);
}

void ilk__leader_answer(ilk__request *request, ilk_leader *leader)
{
    ilk__request_answer(request, leader, dispose);
}

const ilk_leader *ilk_op_leader(ilk_op *op)
{
    return ilk__started_object(op, dispose);
}

/* ---- getters ------------------------------------------------------------ */

const char *ilk_leader_value(const ilk_leader *leader, size_t *out_len)
{
    int leads = leader && leader->leads;

    if (out_len)
        *out_len = leads ? leader->value_len : 0;
    return leads ? leader->value : NULL;
}

int64_t ilk_leader_term(const ilk_leader *leader)
{
    return leader ? leader->term : 0;
}

const char *ilk_leader_label(const ilk_leader *leader)
{
    return leader ? leader->label : "";
}

int64_t ilk_leader_since_ms(const ilk_leader *leader)
{
    return leader ? leader->since_ms : 0;
}

int64_t ilk_leader_ttl_ms(const ilk_leader *leader)
{
    return leader ? leader->ttl_ms : 0;
}

int64_t ilk_leader_candidates(const ilk_leader *leader)
{
    return leader ? leader->candidates : 0;
}

int64_t ilk_leader_listed(const ilk_leader *leader)
{
    return leader ? (int64_t)leader->listed_count : 0;
}

const char *ilk_leader_candidate_label(const ilk_leader *leader, size_t index)
{
    return leader && index < leader->listed_count ? leader->listed[index] : "";
}

void ilk_leader_free(ilk_leader *leader)
{
    if (!leader)
        return;
    for (size_t i = 0; i < leader->listed_count; i++)
        ilk__free(leader->listed[i]);
    ilk__free(leader->value);
    ilk__free(leader->label);
    ilk__free(leader);
}
