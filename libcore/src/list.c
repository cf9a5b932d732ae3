/* SPDX-License-Identifier: MIT */
/* list.c -- finding names by the key that each kind has while in use. */
#include "alloc.h"
#include "keys.h"
#include "run.h"

#include <interlock/inspect.h>

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
    {ILK_KIND_STICKY, "sticky"},
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

typedef struct scanning {
    ilk_list *list;
    const struct kind *kind;
    char pattern[ILK_NAME_MAX + 32];
    size_t pattern_len;
    char cursor[24];
} scanning;

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
    const scanning *self = op->subject;

    ilk__command_add_str(&op->command, "SCAN");
    ilk__command_add_str(&op->command, self->cursor);
    ilk__command_add_str(&op->command, "MATCH");
    ilk__command_add(&op->command, self->pattern, self->pattern_len);
    ilk__command_add_str(&op->command, "COUNT");
    ilk__command_add_int(&op->command, 1000);
}

static ilk__act scanned(ilk__op *op, const ilk__reply *reply)
{
    scanning *self = op->subject;
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
            && ilk__side_key_name(key->str, key->len, self->kind->key, &name,
                                  &len)
            && add(self->list, self->kind->bit, name, len))
            return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    }
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type scan = {.name = "scan",
                                  .script = ILK__SCRIPT_NONE,
                                  .reads = 1,
                                  .ask = ask,
                                  .reply = scanned};

/* One walk for each form a side key can have; see keys.h. */
static ilk_status walk(ilk_client *client, scanning *self, const char *open,
                       const char *pattern, size_t pattern_len,
                       const char *close, ilk_error *err)
{
    ilk__buf glob = {0};
    ilk_status st = ILK_OK;

    if (ilk__buf_add(&glob, "ilk:", 4)
        || ilk__buf_add(&glob, self->kind->key, strlen(self->kind->key))
        || ilk__buf_add(&glob, open, strlen(open))
        || ilk__buf_add(&glob, pattern, pattern_len)
        || ilk__buf_add(&glob, close, strlen(close)))
        st = ilk__fail(err, ILK_ENOMEM, "out of memory");
    if (st == ILK_OK) {
        self->pattern_len = ilk__buf_len(&glob);
        memcpy(self->pattern, ilk__buf_data(&glob), self->pattern_len);
        memcpy(self->cursor, "0", 2);
    }
    ilk__buf_free(&glob);
    while (st == ILK_OK) {
        st = ilk__ask(client, &scan, self, client->opts.reply_timeout_ms, err);
        if (strcmp(self->cursor, "0") == 0)
            break;
    }
    return st;
}

static int in_byte_order(const void *a, const void *b)
{
    const found *f = a, *g = b;
    const ilk__bytes *x = &f->name, *y = &g->name;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

    if (order == 0)
        order = (x->len > y->len) - (x->len < y->len);
    return order ? order : (f->kind > g->kind) - (f->kind < g->kind);
}

/* SCAN may tell a key more than once. */
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

static ilk_status walk_kind(ilk_client *client, scanning *self,
                            const char *pattern, size_t len, ilk_error *err)
{
    ilk_status st = walk(client, self, ":{", pattern, len, "}", err);

    if (st == ILK_OK)
        st = walk(client, self, "=", pattern, len, "", err);
    if (st == ILK_OK)
        st = walk(client, self, "~", pattern, len, "", err);
    return st;
}

static ilk_status check(ilk_list **out, ilk_client *client, uint32_t kinds,
                        size_t pattern_len, ilk_error *err)
{
    const uint32_t all = (1u << KINDS) - 1;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (kinds & ~all)
        return ilk__fail(err, ILK_EINVAL, "unknown kinds 0x%x",
                         (unsigned)(kinds & ~all));
    if (pattern_len > ILK_NAME_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "pattern must have at most %d bytes, got %zu",
                         ILK_NAME_MAX, pattern_len);
    return ilk__client_enter(client, err);
}

ilk_status ilk_list_open_kinds(ilk_list **out, ilk_client *client,
                               uint32_t kinds, const void *pattern,
                               size_t pattern_len, ilk_error *err)
{
    scanning self;
    ilk_status st = check(out, client, kinds, pattern ? pattern_len : 1, err);

    if (st)
        return st;
    self.list = ilk__calloc(1, sizeof *self.list);
    if (!self.list)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    for (size_t i = 0; i < KINDS && st == ILK_OK; i++) {
        self.kind = &kinds_known[i];
        if (!kinds || kinds & (uint32_t)self.kind->bit)
            st = walk_kind(client, &self, pattern ? pattern : "*",
                           pattern ? pattern_len : 1, err);
    }
    if (st) {
        ilk_list_free(self.list);
        return st;
    }
    sort_and_unite(self.list);
    *out = self.list;
    return ILK_OK;
}

ilk_status ilk_list_open(ilk_list **out, ilk_client *client,
                         const void *pattern, size_t pattern_len,
                         ilk_error *err)
{
    return ilk_list_open_kinds(out, client, ILK_KIND_LOCK, pattern, pattern_len,
                               err);
}

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
