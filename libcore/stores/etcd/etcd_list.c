/* SPDX-License-Identifier: MIT */
/*
 * etcd_list.c -- the names that have keys.
 *
 * The store is walked in the order of its keys, a page after another, without their
 * values. A foreign holder's key (`orders/694d8f3a2b1c`) may be any other program's as
 * well, so only keys of our own shape make a name a lock.
 */
#include "etcd_store.h"

#include "base/alloc.h"
#include "redis/keys.h"
#include "stores/shared/name_list.h"

#include <string.h>

enum { PAGE = 1000 };

/* The last slash, at or behind the beginning of the key; or NULL. */
static const char *last_slash(ilk__span key)
{
    for (size_t i = key.len; i > 0; i--)
        if (key.at[i - 1] == '/')
            return key.at + i - 1;
    return NULL;
}

/* An entry, in front of its last slash. */
static void add_entry(ilk__name_list *list, ilk__span key)
{
    static const struct {
        ilk__contended_kind kind;
        const char *listed;
    } kinds[] = {{ILK__CONTENDED_LOCK, "lock:fence"},
                 {ILK__CONTENDED_ELECTION, "election:fence"}};
    const char *slash = last_slash(key);
    ilk__etcd_shape shape;

    for (size_t i = 0; slash && i < sizeof kinds / sizeof kinds[0]; i++) {
        const ilk__etcd_name name = {.kind = kinds[i].kind,
                                     .prefix = (char *)key.at,
                                     .prefix_len =
                                         (size_t)(slash + 1 - key.at)};

        if (ilk__etcd_key_parse(&shape, &name, key) && !shape.is_foreign)
            ilk__name_list_add(list, kinds[i].listed,
                               (ilk__span){key.at, name.prefix_len - 1});
    }
}

/* `ilk:semaphore:{orders}` has the limit, `ilk:register:{orders}` the value. */
static void add_own(ilk__name_list *list, ilk__span key, const char *kind,
                    const char *listed)
{
    ilk__span name;

    if (ilk__side_key_name(key.at, key.len, kind, &name.at, &name.len))
        ilk__name_list_add(list, listed, name);
}

/* `ilk:group:{orders}/ID`: its first slash ends the group's key, which is encoded. */
static void add_group(ilk__name_list *list, ilk__span key)
{
    const char *slash = memchr(key.at, '/', key.len);
    const size_t len = slash ? (size_t)(slash - key.at) : 0;
    char *text = ilk__malloc(len + 1);

    if (!text) {
        list->no_memory = 1;
        return;
    }
    add_own(list,
            (ilk__span){text,
                        ilk__etcd_token_decode(text, (ilk__span){key.at, len})},
            "group", "group");
    ilk__free(text);
}

static void add_key(ilk__name_list *list, ilk__span key)
{
    static const char prefix[] = "ilk:", group[] = "ilk:group";

    if (key.len < sizeof prefix - 1
        || memcmp(key.at, prefix, sizeof prefix - 1) != 0) {
        add_entry(list, key);
        return;
    }
    add_own(list, key, "semaphore", "semaphore:fence");
    add_own(list, key, "register", "register");
    if (key.len >= sizeof group && memcmp(key.at, group, sizeof group - 1) == 0)
        add_group(list, key);
}

static void has_page(ilk__etcd_step *step, const ilk__etcd_answer *answer)
{
    const ilk__etcd_op_answer *page = answer->ops;
    ilk__name_list list = {0};

    if (step->store->is_closing) {
        ilk__gateway_break(step->request);
        return;
    }
    if (answer->status || !answer->op_count) {
        ilk__gateway_reply_error(
            step->request, answer->status ? answer->error
                                          : "ERR etcd: an answer is too short");
        return;
    }
    for (size_t i = 0; i < page->kv_count; i++)
        add_key(&list, page->kvs[i].key);
    ilk__name_list_reply(&list, step->request,
                         page->more && page->kv_count
                             ? page->kvs[page->kv_count - 1].key
                             : (ilk__span){"", 0});
}

void ilk__etcd_list_names(void *self, ilk__gateway_request *request)
{
    ilk__span after;
    ilk__etcd_step *step;
    ilk__etcd_op page;
    char *from;

    if (!ilk__name_list_asked(request, &after))
        return;
    /* The next key is this one and a byte 0; an end of one such byte means all. */
    from = ilk__memdup(after.at, after.len);
    step = from ? ilk__etcd_step_new(self, has_page, NULL, NULL, NULL) : NULL;
    if (step) {
        step->request = request;
        page = ilk__etcd_get(from, after.len + 1);
        page.range_end = (ilk__span){"", 1};
        page.keys_only = 1;
        page.limit = PAGE;
        ilk__etcd_step_commit(
            step, &(ilk__etcd_txn){.then_ops = &page, .then_count = 1});
    } else {
        ilk__gateway_reply_error(request, ilk__etcd_no_memory);
    }
    ilk__free(from);
}
