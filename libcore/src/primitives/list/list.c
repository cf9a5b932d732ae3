/* SPDX-License-Identifier: MIT */
/*
 * list.c -- listing names in use: SCAN for the side key that each kind of
 * primitive has while a name is in use.
 *
 * One walk through the key space finds all kinds. The server's MATCH leaves out
 * most keys of other names, but a glob cannot say where in the key the name
 * begins, so names are matched here again.
 */
#include "base/alloc.h"
#include "base/table.h"
#include "client/client.h"
#include "client/loop.h"
#include "client/run.h"
#include "glob.h"

#include <interlock/list.h>

#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *key;
    int32_t bit;
    uint32_t offer; /* of a store that may have some */
    int has_parts;  /* its keys are those of parts */
} kinds_known[] = {
    {"lock:fence", ILK_KIND_LOCK, ILK_OFFER_LOCK, 0},
    {"semaphore:fence", ILK_KIND_SEMAPHORE, ILK_OFFER_SEMAPHORE, 0},
    {"election:fence", ILK_KIND_ELECTION, ILK_OFFER_ELECTION, 0},
    {"signal:wait", ILK_KIND_SIGNAL, ILK_OFFER_SIGNAL, 0},
    {"event", ILK_KIND_EVENT, ILK_OFFER_EVENT, 0},
    {"barrier", ILK_KIND_BARRIER, ILK_OFFER_BARRIER, 0},
    {"latch", ILK_KIND_LATCH, ILK_OFFER_LATCH, 0},
    {"queue", ILK_KIND_QUEUE, ILK_OFFER_QUEUE, 0},
    {"group", ILK_KIND_GROUP, ILK_OFFER_GROUP, 0},
    {"register", ILK_KIND_REGISTER, ILK_OFFER_REGISTER, 0},
    {"store", ILK_KIND_STORE, ILK_OFFER_STORE, 0},
    {"kv", ILK_KIND_KV, ILK_OFFER_KV, 1},
};

enum { KINDS = sizeof kinds_known / sizeof kinds_known[0] };

/* A name of one kind. SCAN may return a key more than once, so the names are
 * in a table, too; its keys are the kind's index followed by the name. */
typedef struct found {
    ilk__node node;
    int32_t kind;
    size_t name_len;
    char key[]; /* then a NUL */
} found;

struct ilk_list {
    found **names;
    size_t count, room;
    size_t from; /* the first one that the getters show */
    ilk__table seen;

    ilk_client *client; /* of a walk in steps: a counted reference; or NULL */
    uint32_t kinds;
    char pattern[ILK_NAME_MAX];
    size_t pattern_len;
    char glob[ILK_NAME_MAX + 32]; /* for the server */
    size_t glob_len;
    ilk__bytes cursor; /* of the next SCAN, as the last one has returned it */
    int over;
};

/* ---- what SCAN returns -------------------------------------------------- */

static ilk_status make_room(ilk_list *list)
{
    size_t room = list->room ? list->room * 2 : 64;
    void *names;

    if (list->count < list->room)
        return ILK_OK;
    names = ilk__realloc(list->names, room * sizeof *list->names);
    if (!names)
        return ILK_ENOMEM;
    list->names = names;
    list->room = room;
    return ILK_OK;
}

static ilk_status add(ilk_list *list, size_t kind, const char *name, size_t len)
{
    found *one = ilk__malloc(sizeof *one + len + 2);

    if (!one)
        return ILK_ENOMEM;
    one->kind = kinds_known[kind].bit;
    one->name_len = len;
    one->key[0] = (char)kind;
    memcpy(one->key + 1, name, len);
    one->key[1 + len] = '\0';
    if (ilk__table_find(&list->seen, one->key, len + 1)) {
        ilk__free(one);
        return ILK_OK;
    }
    if (make_room(list)
        || ilk__table_add(&list->seen, &one->node, one->key, len + 1)) {
        ilk__free(one);
        return ILK_ENOMEM;
    }
    list->names[list->count++] = one;
    return ILK_OK;
}

static ilk_status add_key(ilk_list *list, const ilk__reply *key)
{
    const char *name;
    size_t len;

    for (size_t i = 0; key->type == ILK__REPLY_STR && i < KINDS; i++) {
        const struct kind *kind = &kinds_known[i];

        if (list->kinds & (uint32_t)kind->bit
            && (kind->has_parts ? ilk__part_key_name : ilk__side_key_name)(
                key->str, key->len, kind->key, &name, &len))
            return ilk__glob_matches(list->pattern, list->pattern_len, name,
                                     len)
                       ? add(list, i, name, len)
                       : ILK_OK;
    }
    return ILK_OK;
}

static void ask(ilk__op *op)
{
    const ilk_list *list = op->subject;

    op->command.replies = ILK__REPLIES_ARRAY;
    ilk__command_add_str(&op->command, "SCAN");
    ilk__command_add(&op->command, list->cursor.data, list->cursor.len);
    ilk__command_add_str(&op->command, "MATCH");
    ilk__command_add(&op->command, list->glob, list->glob_len);
    ilk__command_add_str(&op->command, "COUNT");
    ilk__command_add_int(&op->command, 1000);
}

/* A server's cursor is a number; another store's is any text. */
static ilk_status set_cursor(ilk_list *list, const char *text, size_t len)
{
    char *copy = ilk__memdup(text, len);

    if (!copy)
        return ILK_ENOMEM;
    ilk__free(list->cursor.data);
    list->cursor = (ilk__bytes){copy, len};
    return ILK_OK;
}

static ilk__act scanned(ilk__op *op, const ilk__reply *reply)
{
    ilk_list *list = op->subject;
    const ilk__reply *keys;

    if (reply->type != ILK__REPLY_ARRAY || reply->count != 2
        || reply->items[0]->type != ILK__REPLY_STR
        || reply->items[1]->type != ILK__REPLY_ARRAY)
        return ilk__op_fail(op, ILK_EREPLY, "scan: a reply of a wrong shape");
    keys = reply->items[1];
    for (size_t i = 0; i < keys->count; i++)
        if (add_key(list, keys->items[i]))
            return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    if (set_cursor(list, reply->items[0]->str, reply->items[0]->len))
        return ilk__op_fail(op, ILK_ENOMEM, "out of memory");
    list->over = strcmp(list->cursor.data, "0") == 0;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type scan = {.name = "scan",
                                  .script = ILK__SCRIPT_NONE,
                                  .reply_is_optional = 1,
                                  .ask = ask,
                                  .reply = scanned};

static int in_byte_order(const void *a, const void *b)
{
    const found *f = *(found *const *)a, *g = *(found *const *)b;
    size_t least = f->name_len < g->name_len ? f->name_len : g->name_len;
    int order = memcmp(f->key + 1, g->key + 1, least);

    if (order == 0)
        order = (f->name_len > g->name_len) - (f->name_len < g->name_len);
    return order ? order : (f->kind > g->kind) - (f->kind < g->kind);
}

/* Sort what the getters show. */
static void sort(ilk_list *list)
{
    if (list->count > list->from)
        qsort(list->names + list->from, list->count - list->from,
              sizeof *list->names, in_byte_order);
}

/* ---- a new list --------------------------------------------------------- */

static void put(ilk_list *list, const char *text, size_t len)
{
    memcpy(list->glob + list->glob_len, text, len);
    list->glob_len += len;
}

/*
 * The glob for the server selects too much rather than too little: "ilk:*" and,
 * for a single kind, its key; then the pattern somewhere behind. A pattern with
 * '[' or a backslash is left out, because such a part could run on into the '*'
 * that follows it.
 */
static void make_glob(ilk_list *list)
{
    uint32_t kinds = list->kinds;

    put(list, "ilk:", 4);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds == (uint32_t)kinds_known[i].bit)
            put(list, kinds_known[i].key, strlen(kinds_known[i].key));
    put(list, "*", 1);
    if (memchr(list->pattern, '[', list->pattern_len)
        || memchr(list->pattern, '\\', list->pattern_len))
        return;
    put(list, list->pattern, list->pattern_len);
    put(list, "*", 1);
}

/* *kinds: 0 becomes all that the store may have. */
static ilk_status choose_kinds(uint32_t *kinds, const ilk_client *client,
                               ilk_error *err)
{
    const uint32_t all = (1u << KINDS) - 1;
    uint32_t offered = 0;
    ilk_status st = ILK_OK;

    if (*kinds & ~all)
        return ilk__fail(err, ILK_EINVAL, "unknown kinds 0x%x",
                         (unsigned)(*kinds & ~all));
    for (size_t i = 0; i < KINDS && st == ILK_OK; i++) {
        const struct kind *kind = &kinds_known[i];

        if (ilk_client_offers(client, kind->offer))
            offered |= (uint32_t)kind->bit;
        else if (*kinds & (uint32_t)kind->bit)
            st = ilk__client_enter_for(client, kind->offer, err);
    }
    if (!*kinds)
        *kinds = offered;
    return st;
}

static ilk_status list_new(ilk_list **out, const ilk_client *client,
                           uint32_t kinds, const void *pattern,
                           size_t pattern_len, ilk_error *err)
{
    ilk_list *list;
    ilk_status st = choose_kinds(&kinds, client, err);

    if (st)
        return st;
    if (pattern_len > ILK_NAME_MAX)
        return ilk__fail(err, ILK_EINVAL,
                         "pattern must have at most %d bytes, got %zu",
                         ILK_NAME_MAX, pattern_len);
    list = ilk__calloc(1, sizeof *list);
    if (!list)
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    if (set_cursor(list, "0", 1)) {
        ilk_list_free(list);
        return ilk__fail(err, ILK_ENOMEM, "out of memory");
    }
    list->kinds = kinds;
    list->pattern_len = pattern_len;
    memcpy(list->pattern, pattern, pattern_len);
    make_glob(list);
    *out = list;
    return ILK_OK;
}

/* ---- the request -------------------------------------------------------- */

/* SCAN after SCAN to the end, or a single one. */
typedef struct list_request {
    ilk__request request;
    const void *pattern; /* the caller's: valid until it has begun */
    size_t pattern_len;
    uint32_t kinds;
    ilk_list *list;
    int once;
} list_request;

static void dispose(void *list)
{
    ilk_list_free(list);
}

static void end(list_request *self, ilk_status status)
{
    if (status) {
        ilk_list_free(self->list);
    } else {
        sort(self->list);
        ilk__request_answer(&self->request, self->list, dispose);
    }
    ilk__request_end(&self->request, status);
}

static void walked(ilk__request *request, ilk_status status);

/* A walk that has begun outlives a restart of the server. */
static void go_on(ilk__request *request)
{
    ilk__request_ask(request, &scan, ((list_request *)request)->list,
                     ilk__request_patience(request), walked);
}

static void walked(ilk__request *request, ilk_status status)
{
    list_request *self = (list_request *)request;

    if (self->once)
        ilk__request_end(request, status);
    else if (status || self->list->over)
        end(self, status);
    else
        go_on(request);
}

static void begin(ilk__request *request)
{
    list_request *self = (list_request *)request;
    ilk_status st =
        ilk__client_enter_for(request->client, ILK_OFFER_LIST, request->err);

    if (st == ILK_OK && !self->list)
        st = list_new(&self->list, request->client, self->kinds, self->pattern,
                      self->pattern_len, request->err);
    if (st)
        ilk__request_end(request, st);
    else
        ilk__request_ask(request, &scan, self->list,
                         ilk__request_patience(request), walked);
}

static list_request listing_of(uint32_t kinds, const void *pattern,
                               size_t pattern_len)
{
    return (list_request){.kinds = kinds,
                          .pattern = pattern ? pattern : "*",
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

/* ---- in steps ----------------------------------------------------------- */

ilk_status ilk_list_walk(ilk_list **out, ilk_client *client, uint32_t kinds,
                         const void *pattern, size_t pattern_len,
                         ilk_error *err)
{
    ilk_list *list = NULL;
    ilk_status st;

    if (!out)
        return ilk__fail(err, ILK_EINVAL, "out must not be NULL");
    *out = NULL;
    st = ilk__client_enter_for(client, ILK_OFFER_LIST, err);
    if (st == ILK_OK)
        st = list_new(&list, client, kinds, pattern ? pattern : "*",
                      pattern ? pattern_len : 1, err);
    if (!list)
        return st;
    list->client = ilk__client_ref(client);
    *out = list;
    return ILK_OK;
}

ilk_status ilk_list_next(ilk_list *list, ilk_error *err)
{
    list_request self = {.list = list, .once = 1};
    ilk_status st;

    if (!list || !list->client)
        return ilk__fail(err, ILK_EINVAL, "list must be one of a walk");
    list->from = list->count;
    if (list->over)
        return ilk__fail(err, ILK_EAGAIN, "the walk is over");
    st = ilk__request_run(&self.request, list->client, begin, err);
    sort(list);
    return st;
}

/* ---- getters ------------------------------------------------------------ */

static const found *at(const ilk_list *list, size_t index)
{
    return index < ilk_list_count(list) ? list->names[list->from + index]
                                        : NULL;
}

int32_t ilk_list_kind(const ilk_list *list, size_t index)
{
    const found *one = at(list, index);

    return one ? one->kind : 0;
}

size_t ilk_list_count(const ilk_list *list)
{
    return list ? list->count - list->from : 0;
}

const char *ilk_list_name(const ilk_list *list, size_t index, size_t *out_len)
{
    const found *one = at(list, index);

    if (out_len)
        *out_len = one ? one->name_len : 0;
    return one ? one->key + 1 : NULL;
}

void ilk_list_free(ilk_list *list)
{
    if (!list)
        return;
    ilk__free(list->cursor.data);
    ilk__table_free(&list->seen);
    for (size_t i = 0; i < list->count; i++)
        ilk__free(list->names[i]);
    ilk__free(list->names);
    if (list->client)
        ilk__client_unref(list->client);
    ilk__free(list);
}
