/* SPDX-License-Identifier: MIT */
/* list.c -- finding the names of locks by their fence records. */
#include "alloc.h"
#include "keys.h"
#include "run.h"

#include <interlock/inspect.h>

#include <stdlib.h>
#include <string.h>

static const char kind[] = "lock:fence";

struct ilk_list {
    ilk__bytes *names;
    size_t count, room;
};

typedef struct scanning {
    ilk_list *list;
    char pattern[ILK_NAME_MAX + 32];
    size_t pattern_len;
    char cursor[24];
} scanning;

static ilk_status add(ilk_list *list, const char *name, size_t len)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        void *names = ilk__realloc(list->names, room * sizeof *list->names);

        if (!names)
            return ILK_ENOMEM;
        list->names = names;
        list->room = room;
    }
    list->names[list->count].data = ilk__memdup(name, len);
    list->names[list->count].len = len;
    if (!list->names[list->count].data)
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
            && ilk__side_key_name(key->str, key->len, kind, &name, &len)
            && add(self->list, name, len))
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

    if (ilk__buf_add(&glob, "ilk:lock:fence", 14)
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
    const ilk__bytes *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* SCAN may tell a key more than once. */
static void sort_and_unite(ilk_list *list)
{
    size_t kept = 0;

    if (list->count)
        qsort(list->names, list->count, sizeof *list->names, in_byte_order);
    for (size_t i = 0; i < list->count; i++)
        if (kept && in_byte_order(&list->names[kept - 1], &list->names[i]) == 0)
            ilk__free(list->names[i].data);
        else
            list->names[kept++] = list->names[i];
    list->count = kept;
}

ilk_status ilk_list_open(ilk_list **out, ilk_client *client,
                         const void *pattern, size_t pattern_len,
                         ilk_error *err)
{
    scanning self;
    ilk_status st = ilk__client_enter(client, err);

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    if (st)
        return st;
    if (!pattern) {
        pattern = "*";
        pattern_len = 1;
    }
    if (pattern_len > ILK_NAME_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "pattern must have at most %d bytes, got %zu",
                         ILK_NAME_MAX, pattern_len);
    self.list = ilk__calloc(1, sizeof *self.list);
    if (!self.list)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    st = walk(client, &self, ":{", pattern, pattern_len, "}", err);
    if (st == ILK_OK)
        st = walk(client, &self, "=", pattern, pattern_len, "", err);
    if (st == ILK_OK)
        st = walk(client, &self, "~", pattern, pattern_len, "", err);
    if (st) {
        ilk_list_free(self.list);
        return st;
    }
    sort_and_unite(self.list);
    *out = self.list;
    return ILK_OK;
}

size_t ilk_list_count(const ilk_list *list)
{
    return list ? list->count : 0;
}

const char *ilk_list_name(const ilk_list *list, size_t index, size_t *out_len)
{
    int there = list && index < list->count;

    if (out_len)
        *out_len = there ? list->names[index].len : 0;
    return there ? list->names[index].data : NULL;
}

void ilk_list_free(ilk_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        ilk__free(list->names[i].data);
    ilk__free(list->names);
    ilk__free(list);
}
