/* SPDX-License-Identifier: MIT */
/* register_replies.c -- reads requests about registers, and writes their replies. */
#include "register_replies.h"

#include "base/buf.h"
#include "base/clock.h"
#include "redis/expected_reply.h"
#include "redis/script.h"
#include "resp.h"

#include <inttypes.h>

static ilk__span word_of(const ilk__gateway_request *request, size_t index)
{
    return index < request->arg_count ? (ilk__span){request->args[index]->str,
                                                    request->args[index]->len}
                                      : (ilk__span){"", 0};
}

int ilk__register_read_change(ilk__register_change *out,
                              ilk__gateway_request *request)
{
    const ilk__span known = word_of(request, 1);

    *out = (ilk__register_change){.token = word_of(request, 0),
                                  .known = -1,
                                  .deletes = request->script
                                             == ILK__SCRIPT_REGISTER_DELETE};
    out->value = out->deletes ? (ilk__span){"", 0} : word_of(request, 2);
    if (known.len)
        out->known = ilk__text_number(known, ILK__SCRIPT_INT_MAX - 1);
    if (out->token.len && !(known.len && out->known < 0))
        return 1;
    ilk__register_reply_misuse(request);
    return 0;
}

int ilk__register_fits(const ilk__register_change *change,
                       const ilk__register_state *state)
{
    return (change->known < 0 || change->known == state->version)
           && (!change->deletes || state->has_value);
}

/* ---- replies ------------------------------------------------------------- */

/* A code, version has_value value, and `more` (-1: nothing). */
static void reply_state(ilk__gateway_request *request, int code,
                        const ilk__register_state *state, int64_t more)
{
    const ilk__span nothing = {"", 0};
    ilk__buf reply = {0};
    int is_cut =
        ilk__resp_add(&reply, "*%d\r\n:%" PRId64 "\r\n:%" PRId64 "\r\n:%d\r\n",
                      more < 0 ? 4 : 5, ilk__reply_head(request->number, code),
                      state->version, state->has_value != 0)
        || ilk__resp_add_bytes(&reply,
                               state->has_value ? state->value : nothing)
        || (more >= 0 && ilk__resp_add(&reply, ":%" PRId64 "\r\n", more));

    if (is_cut)
        ilk__gateway_break(request);
    else
        ilk__gateway_reply_text(request, ilk__buf_data(&reply),
                                ilk__buf_len(&reply));
    ilk__buf_free(&reply);
}

void ilk__register_reply_state(ilk__gateway_request *request,
                               const ilk__register_state *state)
{
    reply_state(request, ILK__CODE_STATE, state, -1);
}

void ilk__register_reply_waits(ilk__gateway_request *request, int is_listed)
{
    ilk__gateway_reply(request, is_listed ? ILK__CODE_QUEUED : ILK__CODE_BUSY,
                       "iii", (int64_t)-1, ilk__now_ms() * 1000, (int64_t)1);
}

void ilk__register_reply_changed(ilk__gateway_request *request, int64_t version,
                                 ilk__register_doubt doubt,
                                 ilk__register_notice notice)
{
    ilk__gateway_reply(request, ILK__CODE_STATE, "iiii", version,
                       -(int64_t)doubt, notice.rest, notice.denied);
}

void ilk__register_reply_had_changed(ilk__gateway_request *request,
                                     int64_t version,
                                     ilk__register_notice notice)
{
    ilk__gateway_reply(request, ILK__CODE_STATE, "iiii", version, (int64_t)1,
                       notice.rest, notice.denied);
}

void ilk__register_reply_refused(ilk__gateway_request *request,
                                 const ilk__register_state *state,
                                 ilk__register_doubt doubt)
{
    reply_state(request, ILK__CODE_STALE, state, (int64_t)doubt);
}

void ilk__register_reply_misuse(ilk__gateway_request *request)
{
    ilk__gateway_reply_error(request, "ERR an argument is not a whole number "
                                      "in its range");
}
