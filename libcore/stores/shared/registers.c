/* SPDX-License-Identifier: MIT */
/* registers.c -- the requests about registers, their replies, and the waiters. */
#include "registers.h"

#include "base/alloc.h"
#include "contention_internal.h"
#include "redis/script.h"

struct ilk__registers {
    ilk__state_names names; /* first */
    const ilk__register_store *store;
    void *self;
};

static ilk__registers *owner_of(const ilk__register_name *name)
{
    return (ilk__registers *)name->state.of;
}

/* ---- names --------------------------------------------------------------- */

static void end_watch(ilk__state_name *state)
{
    ilk__register_name *name = (ilk__register_name *)state;
    const ilk__registers *of = owner_of(name);

    if (name->is_watched)
        (void)of->store->watch(of->self, name, 0);
}

static void forget(ilk__state_name *state)
{
    ilk__register_name *name = (ilk__register_name *)state;
    const ilk__registers *of = owner_of(name);

    of->store->forget_name(of->self, name);
}

void ilk__register_has_changed(ilk__register_name *name)
{
    ilk__state_name_wake(&name->state);
}

/* The store has dealt with a request. */
static void settle(ilk__register_name *name)
{
    name->state.requests--;
    ilk__state_name_settle(&name->state);
}

/* ---- requests ------------------------------------------------------------ */

static void read(ilk__register_name *name, ilk__gateway_request *request)
{
    const ilk__registers *of = owner_of(name);

    name->state.requests++;
    of->store->read(of->self, name, request);
}

static void wait_for(ilk__register_name *name, ilk__gateway_request *request)
{
    const ilk__registers *of = owner_of(name);

    if (ilk__request_number(request, ILK__REGISTER_WAIT_KNOWN, 0) < 0) {
        ilk__register_reply_misuse(request);
        return;
    }
    if (ilk__state_waiter_is_named(request)) {
        if (!name->is_watched && of->store->watch(of->self, name, 1)) {
            ilk__gateway_break(request);
            return;
        }
        name->is_watched = 1;
        if (!ilk__state_waiter_add(&name->state, request))
            return;
    }
    read(name, request);
}

static void change(ilk__register_name *name, ilk__gateway_request *request)
{
    const ilk__registers *of = owner_of(name);
    ilk__register_change wanted;

    if (!ilk__register_read_change(&wanted, request))
        return;
    name->state.requests++;
    of->store->change(of->self, name, &wanted, request);
}

static void cancel(ilk__registers *of, ilk__gateway_request *request)
{
    if (!ilk__state_names_cancel(&of->names, request))
        ilk__gateway_reply(request, ILK__CODE_GONE, "");
}

static void call_for_name(ilk__registers *of, ilk__gateway_request *request)
{
    ilk__register_name *name =
        (ilk__register_name *)ilk__state_name_find(&of->names, request);

    if (!name)
        return;
    switch (request->script) {
    case ILK__SCRIPT_REGISTER_GET: read(name, request); break;
    case ILK__SCRIPT_REGISTER_SET:
    case ILK__SCRIPT_REGISTER_DELETE: change(name, request); break;
    default: wait_for(name, request); break;
    }
    ilk__state_name_settle(&name->state);
}

int ilk__registers_call(ilk__registers *registers,
                        ilk__gateway_request *request)
{
    switch (request->script) {
    case ILK__SCRIPT_REGISTER_GET:
    case ILK__SCRIPT_REGISTER_SET:
    case ILK__SCRIPT_REGISTER_DELETE:
    case ILK__SCRIPT_REGISTER_WAIT: call_for_name(registers, request); return 1;
    case ILK__SCRIPT_STATE_REFRESH:
        ilk__state_names_refresh(&registers->names, request);
        return 1;
    case ILK__SCRIPT_STATE_CANCEL: cancel(registers, request); return 1;
    default: return 0;
    }
}

/* ---- reports ------------------------------------------------------------- */

static void reply_wait(ilk__register_name *name, ilk__gateway_request *request,
                       const ilk__register_state *state)
{
    if (state->version
        == ilk__request_number(request, ILK__REGISTER_WAIT_KNOWN, 0)) {
        ilk__register_reply_waits(request, ilk__state_waiter_is_named(request));
        return;
    }
    ilk__state_waiter_remove(&name->state, request);
    ilk__register_reply_state(request, state);
}

void ilk__register_was_read(ilk__register_name *name,
                            ilk__gateway_request *request,
                            const ilk__register_state *state, const char *error)
{
    if (error)
        ilk__gateway_reply_error(request, error);
    else if (request->script == ILK__SCRIPT_REGISTER_WAIT)
        reply_wait(name, request, state);
    else
        ilk__register_reply_state(request, state);
    settle(name);
}

/* has_changed() notifies those who wait, by the store's watch. */
static const ilk__register_notice nobody;

void ilk__register_was_changed(ilk__register_name *name,
                               ilk__gateway_request *request, int64_t version,
                               ilk__register_doubt doubt)
{
    ilk__register_reply_changed(request, version, doubt, nobody);
    settle(name);
}

void ilk__register_had_changed(ilk__register_name *name,
                               ilk__gateway_request *request, int64_t version)
{
    ilk__register_reply_had_changed(request, version, nobody);
    settle(name);
}

void ilk__register_was_refused(ilk__register_name *name,
                               ilk__gateway_request *request,
                               const ilk__register_state *state,
                               ilk__register_doubt doubt)
{
    ilk__register_reply_refused(request, state, doubt);
    settle(name);
}

void ilk__register_change_failed(ilk__register_name *name,
                                 ilk__gateway_request *request,
                                 const char *error)
{
    if (error)
        ilk__gateway_reply_error(request, error);
    else
        ilk__gateway_break(request);
    settle(name);
}

/* ---- the whole ----------------------------------------------------------- */

ilk__registers *ilk__registers_new(ilk__gateway *gateway,
                                   const ilk__register_store *store, void *self)
{
    ilk__registers *registers = ilk__calloc(1, sizeof *registers);

    if (registers) {
        registers->names =
            (ilk__state_names){.gateway = gateway,
                               .name_size = sizeof(ilk__register_name),
                               .unused = end_watch,
                               .forget = forget};
        registers->store = store;
        registers->self = self;
    }
    return registers;
}

void ilk__registers_free(ilk__registers *registers)
{
    if (!registers)
        return;
    ilk__state_names_free(&registers->names);
    ilk__free(registers);
}

int64_t ilk__registers_due(const ilk__registers *registers)
{
    return ilk__timers_next(&registers->names.timers);
}

void ilk__registers_fire(ilk__registers *registers, int64_t now)
{
    ilk__state_names_fire(&registers->names, now);
}
