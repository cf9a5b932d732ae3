/* SPDX-License-Identifier: MIT */
/* state_inspect.c -- reading the numbers of a latch or a barrier. */
#include "state_inspect.h"

#include "client/run.h"

/* ---- by a handle -------------------------------------------------------- */

static void counted(ilk__request *request, ilk_status status)
{
    request->result.number = ((ilk__state_inspection *)request)->now;
    ilk__state_end(request, status);
}

static void begin_count(ilk__request *request)
{
    ilk__state_inspection *self = (ilk__state_inspection *)request;

    if (ilk__state_begin(&self->of))
        ilk__request_ask(request, self->kind->asks, self,
                         ilk__request_patience(request), counted);
}

ilk_status ilk__state_count(int64_t *out_now,
                            const ilk__state_inspect_kind *kind,
                            ilk__state *state, ilk_error *err)
{
    ilk__state_inspection self = {.of.state = state, .kind = kind};
    ilk_status st = ilk__state_run(&self.of, kind->noun, begin_count, err);

    if (st == ILK_OK)
        *out_now = self.now;
    return st;
}

ilk_status ilk__state_count_start(ilk_op **out,
                                  const ilk__state_inspect_kind *kind,
                                  ilk__state *state, ilk_error *err)
{
    ilk__state_inspection self = {.of.state = state, .kind = kind};

    return ilk__state_start(out, &self.of, sizeof self, kind->noun, begin_count,
                            err);
}

/* ---- by name ------------------------------------------------------------ */

/* The result is part of the request, which frees itself. */
static void keep(void *found)
{
    (void)found;
}

static void inspected(ilk__request *request, ilk_status status)
{
    ilk__state_inspection *self = (ilk__state_inspection *)request;

    ilk__state_free(self->of.state);
    if (status == ILK_OK)
        ilk__request_answer(request, self, keep);
    ilk__request_end(request, status);
}

/* No other request can use this handle, so it need not be entered. */
static void begin_inspect(ilk__request *request)
{
    ilk__state_inspection *self = (ilk__state_inspection *)request;
    ilk_status st = self->kind->open(&self->of.state, request->client,
                                     self->name, self->name_len, request->err);

    if (st)
        ilk__request_end(request, st);
    else
        ilk__request_ask(request, self->kind->asks, self,
                         ilk__request_patience(request), inspected);
}

ilk_status ilk__state_inspect(int64_t *out_agreed, int64_t *out_now,
                              const ilk__state_inspect_kind *kind,
                              ilk_client *client, const void *name,
                              size_t name_len, ilk_error *err)
{
    ilk__state_inspection self = {
        .kind = kind, .name = name, .name_len = name_len};
    ilk_status st =
        ilk__request_run(&self.of.request, client, begin_inspect, err);

    if (st)
        return st;
    *out_agreed = self.agreed;
    *out_now = self.now;
    return ILK_OK;
}

ilk_status ilk__state_inspect_start(ilk_op **out,
                                    const ilk__state_inspect_kind *kind,
                                    ilk_client *client, const void *name,
                                    size_t name_len, ilk_error *err)
{
    ilk__state_inspection self = {
        .kind = kind, .name = name, .name_len = name_len};

    return ilk__request_start(out, &self.of.request, sizeof self, client,
                              begin_inspect, err);
}

const ilk__state_inspection *ilk__state_found(
    ilk_op *op, const ilk__state_inspect_kind *kind)
{
    const ilk__state_inspection *found = ilk__started_object(op, keep);

    return found && found->kind == kind ? found : NULL;
}
