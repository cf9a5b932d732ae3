/* SPDX-License-Identifier: MIT */
/* list.c -- listing names in use: SCAN for the side key that each kind of
 * primitive has while a name is in use. */
#include "base/alloc.h"
#include "client/client.h"
#include "client/loop.h"
#include "client/run.h"

#include <interlock/list.h>

#include <stdlib.h>
#include <string.h>

static const struct kind {
    int32_t bit;
    const char *key;
} kinds_known[] = {
    {ILK_KIND_LOCK, "lock:fence"},
    {ILK_KIND_SEMAPHORE, "semaphore:fence"},
    {ILK_KIND_ELECTION, "election:fence"},
    {ILK_KIND_SIGNAL, "signal:wait"},
    {ILK_KIND_EVENT, "event"},
    {ILK_KIND_BARRIER, "barrier"},
    {ILK_KIND_LATCH, "latch"},
    {ILK_KIND_QUEUE, "queue"},
};

enum { KINDS = sizeof kinds_known / sizeof kinds_known[0] };

typedef struct found {
    ilk__bytes name;
    int32_t kind;
} found;

struct ilk_list {
    found *names;
    size_t count, room;
};

/* The forms a side key can have; see keys.h. */
static const struct form {
    const char *open, *close;
} forms[] = {{":{", "}"}, {"=", ""}, {"~", ""}};

enum { FORMS = sizeof forms / sizeof forms[0] };

/* One SCAN for each kind and form, in several commands. */
typedef struct list_request {
    ilk__request request;
    const void *from; /* the caller's: valid until it has begun */
    char pattern[ILK_NAME_MAX];
    size_t pattern_len;
    uint32_t kinds;
    ilk_list *list;
    size_t kind, form; /* of the current SCAN */
    char glob[ILK_NAME_MAX + 32];
    size_t glob_len;
    char cursor[24];
} list_request;

static ilk_status add(ilk_list *list, int32_t kind, const char *name,
                      size_t len)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        void *names = ilk__realloc(list->names, room * sizeof *list->names);

        if (!names)
            return ILK_ENOMEM;
        list->names = names;
        list->room = room;
    }
    list->names[list->count].kind = kind;
    list->names[list->count].name.data = ilk__memdup(name, len);
    list->names[list->count].name.len = len;
    if (!list->names[list->count].name.data)
        return ILK_ENOMEM;
    list->count++;
    return ILK_OK;
}

static void ask(ilk__op *op)
{
    const list_request *self = op->subject;

    ilk__command_add_str(&op->command, "SCAN");
    ilk__command_add_str(&op->command, self->cursor);
    ilk__command_add_str(&op->command, "MATCH");
    ilk__command_add(&op->command, self->glob, self->glob_len);
    ilk__command_add_str(&op->command, "COUNT");
    ilk__command_add_int(&op->command, 1000);
}

static ilk__act scanned(ilk__op *op, const ilk__reply *reply)
{
    list_request *self = op->subject;
    const struct kind *kind = &kinds_known[self->kind];
    const ilk__reply *keys;

    if (reply->type != ILK__REPLY_ARRAY || reply->count != 2
        || reply->items[0]->type != ILK__REPLY_STR
        || reply->items[0]->len >= sizeof self->cursor
        || reply->items[1]->type != ILK__REPLY_ARRAY)
        return ilk__op_fail(op, ILK_EREPLY, "scan: a reply of a wrong shape");
    memcpy(self->cursor, reply->items[0]->str, reply->items[0]->len + 1);
    keys = reply->items[1];
    for (size_t i = 0; i < keys->count; i++) {
        const ilk__reply *key = keys->items[i];
        const char *name;
        size_t len;

        if (key->type == ILK__REPLY_STR
            && ilk__side_key_name(key->str, key->len, kind->key, &name, &len)
            && add(self->list, kind->bit, name, len))
            return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    }
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type scan = {.name = "scan",
                                  .script = ILK__SCRIPT_NONE,
                                  .reads = 1,
                                  .ask = ask,
                                  .reply = scanned};

static int in_byte_order(const void *a, const void *b)
{
    const found *f = a, *g = b;
    const ilk__bytes *x = &f->name, *y = &g->name;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

    if (order == 0)
        order = (x->len > y->len) - (x->len < y->len);
    return order ? order : (f->kind > g->kind) - (f->kind < g->kind);
}

/* SCAN may return a key more than once. */
static void sort_and_unite(ilk_list *list)
{
    size_t kept = 0;

    if (list->count)
        qsort(list->names, list->count, sizeof *list->names, in_byte_order);
    for (size_t i = 0; i < list->count; i++)
        if (kept && in_byte_order(&list->names[kept - 1], &list->names[i]) == 0)
            ilk__free(list->names[i].name.data);
        else
            list->names[kept++] = list->names[i];
    list->count = kept;
}

/* ---- the request -------------------------------------------------------- */

static void dispose(void *list)
{
    ilk_list_free(list);
}

static void end(list_request *self, ilk_status status)
{
    if (status) {
        ilk_list_free(self->list);
    } else {
        sort_and_unite(self->list);
        ilk__request_answer(&self->request, self->list, dispose);
    }
    ilk__request_end(&self->request, status);
}

static void put(list_request *self, const char *text, size_t len)
{
    memcpy(self->glob + self->glob_len, text, len);
    self->glob_len += len;
}

static void begin_walk(list_request *self)
{
    const char *key = kinds_known[self->kind].key;
    const struct form *form = &forms[self->form];

    self->glob_len = 0;
    put(self, "ilk:", 4);
    put(self, key, strlen(key));
    put(self, form->open, strlen(form->open));
    put(self, self->pattern, self->pattern_len);
    put(self, form->close, strlen(form->close));
    memcpy(self->cursor, "0", 2);
}

/* The first requested kind from `kind` on; KINDS: none. */
static size_t wanted_kind(const list_request *self, size_t kind)
{
    while (kind < KINDS && !(self->kinds & (uint32_t)kinds_known[kind].bit))
        kind++;
    return kind;
}

/* Begins with the next form, or the next kind. Returns 0 after the last. */
static int go_on(list_request *self)
{
    if (++self->form == FORMS) {
        self->form = 0;
        self->kind = wanted_kind(self, self->kind + 1);
    }
    if (self->kind == KINDS)
        return 0;
    begin_walk(self);
    return 1;
}

static void walked(ilk__request *request, ilk_status status)
{
    list_request *self = (list_request *)request;
    int over = status != ILK_OK;

    if (status == ILK_OK && strcmp(self->cursor, "0") == 0)
        over = !go_on(self);
    if (over)
        end(self, status);
    else
        ilk__request_ask(request, &scan, self, ilk__request_patience(request),
                         walked);
}

static ilk_status prepare(list_request *self, ilk_error *err)
{
    const uint32_t all = (1u << KINDS) - 1;
    ilk_status st;

    if (self->kinds & ~all)
        return ilk__fail(err, ILK_EINVAL, "unknown kinds 0x%x",
                         (unsigned)(self->kinds & ~all));
    if (self->pattern_len > ILK_NAME_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "pattern must have at most %d bytes, got %zu",
                         ILK_NAME_MAX, self->pattern_len);
    st = ilk__client_enter(self->request.client, err);
    if (st)
        return st;
    self->list = ilk__calloc(1, sizeof *self->list);
    if (!self->list)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    memcpy(self->pattern, self->from, self->pattern_len);
    if (!self->kinds)
        self->kinds = all;
    return ILK_OK;
}

static void begin(ilk__request *request)
{
    list_request *self = (list_request *)request;
    ilk_status st = prepare(self, request->err);

    if (st) {
        ilk__request_end(request, st);
        return;
    }
    self->kind = wanted_kind(self, 0);
    begin_walk(self);
    ilk__request_ask(request, &scan, self, ilk__request_patience(request),
                     walked);
}

static list_request listing_of(uint32_t kinds, const void *pattern,
                               size_t pattern_len)
{
    return (list_request){.kinds = kinds,
                          .from = pattern ? pattern : "*",
                          .pattern_len = pattern ? pattern_len : 1};
}

ilk_status ilk_list_open_kinds(ilk_list **out, ilk_client *client,
                               uint32_t kinds, const void *pattern,
                               size_t pattern_len, ilk_error *err)
{
    list_request self = listing_of(kinds, pattern, pattern_len);
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    st = ilk__request_run(&self.request, client, begin, err);
    *out = self.request.result.object;
    return st;
}

ilk_status ilk_list_open(ilk_list **out, ilk_client *client,
                         const void *pattern, size_t pattern_len,
                         ilk_error *err)
{
    return ilk_list_open_kinds(out, client, ILK_KIND_LOCK, pattern, pattern_len,
                               err);
}

ilk_status ilk_list_open_start(ilk_op **out, ilk_client *client, uint32_t kinds,
                               const void *pattern, size_t pattern_len,
                               ilk_error *err)
{
    list_request self = listing_of(kinds, pattern, pattern_len);

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}

const ilk_list *ilk_op_list(ilk_op *op)
{
    return ilk__started_object(op, dispose);
}

/* ---- getters ------------------------------------------------------------ */

int32_t ilk_list_kind(const ilk_list *list, size_t index)
{
    return list && index < list->count ? list->names[index].kind : 0;
}

size_t ilk_list_count(const ilk_list *list)
{
    return list ? list->count : 0;
}

const char *ilk_list_name(const ilk_list *list, size_t index, size_t *out_len)
{
    int there = list && index < list->count;

    if (out_len)
        *out_len = there ? list->names[index].name.len : 0;
    return there ? list->names[index].name.data : NULL;
}

void ilk_list_free(ilk_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        ilk__free(list->names[i].name.data);
    ilk__free(list->names);
    ilk__free(list);
}
