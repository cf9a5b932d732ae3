/* SPDX-License-Identifier: MIT */
/* state_look.c -- how a latch or a barrier stands. */
#include "state_look.h"

#include "client/run.h"

/* ---- by a handle -------------------------------------------------------- */

static void counted(ilk__verb *verb, ilk_status status)
{
    verb->result.number = ((ilk__state_look *)verb)->now;
    ilk__state_end(verb, status);
}

static void begin_count(ilk__verb *verb)
{
    ilk__state_look *self = (ilk__state_look *)verb;

    if (ilk__state_begin(&self->of))
        ilk__verb_ask(verb, self->kind->asks, self, ilk__verb_patience(verb),
                      counted);
}

ilk_status ilk__state_count(int64_t *out_now, const ilk__look_kind *kind,
                            ilk__state *state, ilk_error *err)
{
    ilk__state_look self = {.of.state = state, .kind = kind};
    ilk_status st = ilk__state_run(&self.of, kind->noun, begin_count, err);

    if (st == ILK_OK)
        *out_now = self.now;
    return st;
}

ilk_status ilk__state_count_start(ilk_op **out, const ilk__look_kind *kind,
                                  ilk__state *state, ilk_error *err)
{
    ilk__state_look self = {.of.state = state, .kind = kind};

    return ilk__state_start(out, &self.of, sizeof self, kind->noun, begin_count,
                            err);
}

/* ---- by name ------------------------------------------------------------ */

/* What was found is in the verb itself. */
static void keep(void *found)
{
    (void)found;
}

static void inspected(ilk__verb *verb, ilk_status status)
{
    ilk__state_look *self = (ilk__state_look *)verb;

    ilk__state_free(self->of.state);
    if (status == ILK_OK)
        ilk__verb_answer(verb, self, keep);
    ilk__verb_end(verb, status);
}

/* The handle is this verb's alone, and need not be entered. */
static void begin_inspect(ilk__verb *verb)
{
    ilk__state_look *self = (ilk__state_look *)verb;
    ilk_status st = self->kind->open(&self->of.state, verb->client, self->name,
                                     self->name_len, verb->err);

    if (st)
        ilk__verb_end(verb, st);
    else
        ilk__verb_ask(verb, self->kind->asks, self, ilk__verb_patience(verb),
                      inspected);
}

ilk_status ilk__state_inspect(int64_t *out_agreed, int64_t *out_now,
                              const ilk__look_kind *kind, ilk_client *client,
                              const void *name, size_t name_len, ilk_error *err)
{
    ilk__state_look self = {.kind = kind, .name = name, .name_len = name_len};
    ilk_status st = ilk__verb_run(&self.of.verb, client, begin_inspect, err);

    if (st)
        return st;
    *out_agreed = self.agreed;
    *out_now = self.now;
    return ILK_OK;
}

ilk_status ilk__state_inspect_start(ilk_op **out, const ilk__look_kind *kind,
                                    ilk_client *client, const void *name,
                                    size_t name_len, ilk_error *err)
{
    ilk__state_look self = {.kind = kind, .name = name, .name_len = name_len};

    return ilk__verb_start(out, &self.of.verb, sizeof self, client,
                           begin_inspect, err);
}

const ilk__state_look *ilk__state_found(ilk_op *op, const ilk__look_kind *kind)
{
    const ilk__state_look *found = ilk__op_object(op, keep);

    return found && found->kind == kind ? found : NULL;
}
