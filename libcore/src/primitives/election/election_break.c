/* SPDX-License-Identifier: MIT */
/* election_break.c -- an operator takes the lead away from the leader. */
#include "election.h"

#include "base/alloc.h"
#include "base/token.h"
#include "client/run.h"

static const ilk__op_type election_break = {.name = "election_break",
                                            .script =
                                                ILK__SCRIPT_ELECTION_BREAK,
                                            .ask = ilk__hold_ask_break,
                                            .reply = ilk__hold_released};

typedef struct break_request {
    ilk__request request;
    const void *name, *token; /* borrowed from the caller until it begins */
    size_t name_len, token_len;
    char *only; /* break this token's term only; NULL: any */
    char breaker[ILK__BREAKER_MAX + 1];
    ilk_election *election; /* for its keys and scripts */
    ilk__release release;
} break_request;

static void end(break_request *self, ilk_status status)
{
    if (status == ILK_ELOST)
        status =
            ilk__fail(self->request.err, ILK_ENOTOWNER,
                      self->only ? "not led under this token" : "nobody leads");
    ilk_election_free(self->election);
    ilk__free(self->only);
    ilk__request_end(&self->request, status);
}

static void broken(ilk__request *request, ilk_status status)
{
    end((break_request *)request, status);
}

static ilk_status prepare(break_request *self)
{
    ilk__request *request = &self->request;
    ilk_status st =
        ilk_election_open(&self->election, request->client, self->name,
                          self->name_len, NULL, request->err);

    if (st == ILK_OK)
        st = ilk__hold_breaker(self->breaker, request->client->shared,
                               request->err);
    if (st || !self->token)
        return st;
    self->only = ilk__memdup(self->token, self->token_len);
    return self->only ? ILK_OK
                      : ilk__fail(request->err, ILK_ENOMEM, "out of memory");
}

static void begin(ilk__request *request)
{
    break_request *self = (break_request *)request;
    ilk_status st = prepare(self);
    const ilk__hold *hold;

    if (st) {
        end(self, st);
        return;
    }
    hold = &self->election->hold;
    self->release =
        (ilk__release){.kind = hold->kind,
                       .at = {.wait_queue = &hold->wait_queue,
                              .shared = request->client->shared},
                       .breaker = self->breaker,
                       .token = self->only ? self->only : "",
                       .token_len = self->only ? self->token_len : 0};
    ilk__hold_send_release(request, &election_break, &self->release, broken);
}

static break_request break_request_of(const void *name, size_t name_len,
                                      const void *token, size_t token_len)
{
    return (break_request){.name = name,
                           .name_len = name_len,
                           .token = token,
                           .token_len = token_len};
}

ilk_status ilk_election_break(ilk_client *client, const void *name,
                              size_t name_len, const void *token,
                              size_t token_len, ilk_error *err)
{
    break_request self = break_request_of(name, name_len, token, token_len);

    return ilk__request_run(&self.request, client, begin, err);
}

ilk_status ilk_election_break_start(ilk_op **out, ilk_client *client,
                                    const void *name, size_t name_len,
                                    const void *token, size_t token_len,
                                    ilk_error *err)
{
    break_request self = break_request_of(name, name_len, token, token_len);

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}
