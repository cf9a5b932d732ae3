/* SPDX-License-Identifier: MIT */
/* inspect.c -- looking at a name: the verb of every primitive that has one. */
#include "inspect.h"

#include "base/alloc.h"
#include "client/run.h"

#include <assert.h>

typedef struct looking {
    ilk__verb verb;
    const ilk__sight *sight;
    const void *name; /* the caller's, until it has begun */
    size_t name_len;
    ilk__inspecting at;
} looking;

static void end(looking *self, ilk_status status)
{
    ilk__keys_free(self->at.keys, self->sight->key_count);
    if (status)
        ilk_info_free(self->at.info);
    else
        ilk__verb_answer(&self->verb, self->at.info, ilk__info_dispose);
    ilk__verb_end(&self->verb, status);
}

static void looked(ilk__verb *verb, ilk_status status)
{
    end((looking *)verb, status);
}

static ilk_status prepare(looking *self, ilk_error *err)
{
    ilk_status st = ilk__client_enter(self->verb.client, err);

    assert(self->sight->key_count <= ILK__INSPECT_KEYS);
    if (st == ILK_OK)
        st = ilk__keys_make(self->at.keys, self->sight->key_kinds,
                            self->sight->key_count, self->name, self->name_len,
                            err);
    if (st)
        return st;
    self->at.info = ilk__calloc(1, sizeof *self->at.info);
    return self->at.info ? ILK_OK : ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static void begin(ilk__verb *verb)
{
    looking *self = (looking *)verb;
    ilk_status st = prepare(self, verb->err);

    if (st)
        end(self, st);
    else
        ilk__verb_ask(verb, self->sight->inspect, &self->at,
                      ilk__verb_patience(verb), looked);
}

ilk_status ilk__inspect(ilk_info **out, ilk_client *client,
                        const ilk__sight *sight, const void *name,
                        size_t name_len, ilk_error *err)
{
    looking self = {.sight = sight, .name = name, .name_len = name_len};
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = ilk__verb_run(&self.verb, client, begin, err);
    *out = self.verb.result.object;
    return st;
}

ilk_status ilk__inspect_start(ilk_op **out, ilk_client *client,
                              const ilk__sight *sight, const void *name,
                              size_t name_len, ilk_error *err)
{
    looking self = {.sight = sight, .name = name, .name_len = name_len};

    return ilk__verb_start(out, &self.verb, sizeof self, client, begin, err);
}

const ilk_info *ilk_op_info(ilk_op *op)
{
    return ilk__op_object(op, ilk__info_dispose);
}
