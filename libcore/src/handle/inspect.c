/* SPDX-License-Identifier: MIT */
/* inspect.c -- inspecting a name: one request for all primitives. */
#include "inspect.h"

#include "base/alloc.h"
#include "client/run.h"

#include <assert.h>

typedef struct inspect_request {
    ilk__request request;
    const ilk__inspect_kind *kind;
    const void *name; /* borrowed from the caller until it begins */
    size_t name_len;
    ilk__inspection at;
} inspect_request;

static void end(inspect_request *self, ilk_status status)
{
    ilk__keys_free(self->at.keys, self->kind->key_count);
    if (status)
        ilk_info_free(self->at.info);
    else
        ilk__request_answer(&self->request, self->at.info, ilk__info_dispose);
    ilk__request_end(&self->request, status);
}

static void finish_request(ilk__request *request, ilk_status status)
{
    end((inspect_request *)request, status);
}

static ilk_status prepare(inspect_request *self, ilk_error *err)
{
    ilk_status st = ilk__client_enter(self->request.client, err);

    assert(self->kind->key_count <= ILK__INSPECT_KEYS);
    if (st == ILK_OK)
        st = ilk__keys_make(self->at.keys, self->kind->key_kinds,
                            self->kind->key_count, self->name, self->name_len,
                            err);
    if (st == ILK_OK)
        st = ilk__client_accept_name(self->request.client, self->name,
                                     self->name_len, err);
    if (st)
        return st;
    self->at.info = ilk__calloc(1, sizeof *self->at.info);
    return self->at.info ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static void begin(ilk__request *request)
{
    inspect_request *self = (inspect_request *)request;
    ilk_status st = prepare(self, request->err);

    if (st)
        end(self, st);
    else
        ilk__request_ask(request, self->kind->inspect, &self->at,
                         ilk__request_patience(request), finish_request);
}

ilk_status ilk__inspect(ilk_info **out, ilk_client *client,
                        const ilk__inspect_kind *kind, const void *name,
                        size_t name_len, ilk_error *err)
{
    inspect_request self = {.kind = kind, .name = name, .name_len = name_len};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = ilk__request_run(&self.request, client, begin, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk__inspect_start(ilk_op **out, ilk_client *client,
                              const ilk__inspect_kind *kind, const void *name,
                              size_t name_len, ilk_error *err)
{
    inspect_request self = {.kind = kind, .name = name, .name_len = name_len};

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}

const ilk_info *ilk_op_info(ilk_op *op)
{
    return ilk__started_object(op, ilk__info_dispose);
}
