/* SPDX-License-Identifier: MIT */
/* cluster_split.c -- a request whose names are in several slots: its parts, their
 * commands and replies. */
#include "cluster_split_internal.h"

#include "base/alloc.h"
#include "gateway/resp.h"
#include "redis/expected_reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MORE_WORDS =
        8, /* of a command that a part gets besides those of the request */
    MORE_BYTES = 256 /* in them */
};

static const ilk__cluster_split_kind *const kinds[] = {
    &ilk__cluster_signal_wait,   &ilk__cluster_signal_refresh,
    &ilk__cluster_signal_cancel, &ilk__cluster_queue_reserve,
    &ilk__cluster_queue_refresh, &ilk__cluster_queue_cancel,
    &ilk__cluster_job_settle,    &ilk__cluster_many_acquire,
    &ilk__cluster_many_extend,   &ilk__cluster_many_release};

/* ---- the parts ----------------------------------------------------------- */

static size_t most_values(const ilk__gateway_request *request, size_t names)
{
    return names > request->arg_count ? names : request->arg_count;
}

static ilk__cluster_split *allocate(const ilk__gateway_request *request,
                                    size_t names)
{
    const size_t values = most_values(request, names);
    ilk__cluster_split *split = ilk__calloc(
        1, sizeof *split + values * sizeof *split->values
               + names * sizeof *split->part_of + names * sizeof *split->slots);

    if (!split)
        return NULL;
    split->values = (int64_t *)(split + 1);
    split->part_of = (size_t *)(split->values + values);
    split->slots = (int *)(split->part_of + names);
    return split;
}

/* Of the parts so far, the one that the next name belongs to. */
static size_t find_part(const ilk__cluster_split *split, int slot, int in_order)
{
    size_t from = in_order && split->part_count ? split->part_count - 1 : 0;

    while (from < split->part_count && split->slots[from] != slot)
        from++;
    return from;
}

static void make_parts(ilk__cluster_split *split,
                       const ilk__cluster_split_kind *kind)
{
    for (size_t i = 0; i < split->name_count; i++) {
        const ilk__reply *key = split->request->keys[i * kind->keys];
        int slot = ilk__slot_of((ilk__span){key->str, key->len});
        size_t part = find_part(split, slot, kind->in_order);

        split->part_of[i] = part;
        split->slots[part] = slot;
        if (part == split->part_count)
            split->part_count++;
    }
}

static const ilk__cluster_split_kind *kind_of(const ilk__gateway_request *self)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->script == self->script)
            return self->key_count % kinds[i]->keys == 0 ? kinds[i] : NULL;
    return NULL;
}

int ilk__cluster_try_split(ilk__cluster *cluster, ilk__gateway_request *request)
{
    const ilk__cluster_split_kind *kind = kind_of(request);
    ilk__cluster_split *split;

    if (!kind)
        return 0;
    split = allocate(request, request->key_count / kind->keys);
    if (!split) {
        ilk__gateway_break(request);
        return 1;
    }
    split->cluster = cluster;
    split->request = request;
    split->name_count = request->key_count / kind->keys;
    split->deadline = ilk__now_ms() + cluster->patience_ms;
    make_parts(split, kind);
    kind->begin(split);
    return 1;
}

size_t ilk__cluster_part_name(const ilk__cluster_split *split, size_t part,
                              size_t index)
{
    for (size_t i = 0; i < split->name_count; i++)
        if (split->part_of[i] == part && index-- == 0)
            return i;
    return SIZE_MAX;
}

/* ---- the words of a command ---------------------------------------------- */

static size_t bytes_of(ilk__reply *const *words, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += words[i]->len + 1;
    return bytes;
}

static void add_keys(ilk__cluster_part *part)
{
    const ilk__cluster_split *split = part->split;
    const ilk__gateway_request *request = split->request;
    const size_t keys = request->key_count / split->name_count;

    for (size_t i = 0; i < request->key_count; i++)
        if (split->part_of[i / keys] == part->number)
            ilk__cluster_part_word(part, request->keys[i]->str,
                                   request->keys[i]->len);
    part->request.key_count = part->word_count;
}

/* One block, which has room for all words of the request and some more. */
ilk__cluster_part *ilk__cluster_part_new(ilk__cluster_split *split,
                                         size_t number, int script)
{
    const ilk__gateway_request *request = split->request;
    const size_t words = request->key_count + request->arg_count + MORE_WORDS;
    const size_t bytes = bytes_of(request->keys, request->key_count)
                         + bytes_of(request->args, request->arg_count)
                         + MORE_BYTES;
    ilk__cluster_part *part = ilk__calloc(
        1, sizeof *part + words * (sizeof *part->pointers + sizeof *part->words)
               + bytes);

    if (!part) {
        split->is_broken = 1;
        return NULL;
    }
    part->split = split;
    part->number = number;
    part->word_room = words;
    part->words = (ilk__reply *)(part + 1);
    part->pointers = (ilk__reply **)(part->words + words);
    part->free_bytes = (char *)(part->pointers + words);
    part->request.script = script;
    part->request.number = request->number;
    add_keys(part);
    return part;
}

/* A command gets no more words than the request has, but for MORE_WORDS numbers. */
void ilk__cluster_part_word(ilk__cluster_part *part, const void *text,
                            size_t len)
{
    ilk__reply *word;

    if (!part || part->word_count == part->word_room)
        return;
    word = &part->words[part->word_count];
    word->type = ILK__REPLY_STR;
    word->str = part->free_bytes;
    word->len = len;
    memcpy(word->str, text, len);
    part->free_bytes += len + 1;
    part->pointers[part->word_count++] = word;
}

void ilk__cluster_part_int(ilk__cluster_part *part, int64_t number)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, number);

    ilk__cluster_part_word(part, text, (size_t)len);
}

void ilk__cluster_part_args(ilk__cluster_part *part, size_t from, size_t to)
{
    const ilk__gateway_request *request = part ? part->split->request : NULL;

    for (size_t i = from; request && i < to && i < request->arg_count; i++)
        ilk__cluster_part_word(part, request->args[i]->str,
                               request->args[i]->len);
}

void ilk__cluster_part_same(ilk__cluster_part *part)
{
    ilk__cluster_part_args(part, 0, SIZE_MAX);
}

void ilk__cluster_part_own_args(ilk__cluster_part *part, size_t from)
{
    const ilk__cluster_split *split = part ? part->split : NULL;

    for (size_t i = 0; split && i < split->name_count; i++)
        if (split->part_of[i] == part->number)
            ilk__cluster_part_args(part, from + i, from + i + 1);
}

int64_t ilk__cluster_split_arg(const ilk__cluster_split *split, size_t index)
{
    return index < split->request->arg_count
               ? strtoll(split->request->args[index]->str, NULL, 10)
               : 0;
}

/* ---- a step -------------------------------------------------------------- */

/* It is open until all its commands are sent. */
void ilk__cluster_split_begin(ilk__cluster_split *split,
                              ilk__cluster_part_reply *replied,
                              ilk__cluster_split_then *then)
{
    split->replied = replied;
    split->then = then;
    split->open = 1;
}

static int send_part(ilk__cluster_part *part, ilk__cluster *cluster, int slot,
                     int64_t deadline)
{
    ilk__cluster_work *work = ilk__calloc(1, sizeof *work);

    if (!work) {
        ilk__free(part);
        return 0;
    }
    part->request.keys = part->pointers;
    part->request.args = part->pointers + part->request.key_count;
    part->request.arg_count = part->word_count - part->request.key_count;
    work->request = &part->request;
    work->part = part;
    work->slot = slot;
    work->deadline = deadline;
    ilk__cluster_route(cluster, work);
    return 1;
}

void ilk__cluster_part_send(ilk__cluster_part *part)
{
    ilk__cluster_split *split = part ? part->split : NULL;

    if (!split)
        return;
    split->open++;
    if (!send_part(part, split->cluster, split->slots[part->number],
                   split->deadline)) {
        split->open--;
        split->is_broken = 1;
    }
}

void ilk__cluster_part_send_alone(ilk__cluster_part *part)
{
    const ilk__cluster_split *split = part ? part->split : NULL;

    if (!split)
        return;
    part->split = NULL;
    (void)send_part(part, split->cluster, split->slots[part->number],
                    ilk__now_ms() + split->cluster->patience_ms);
}

static void dispose(ilk__cluster_split *split)
{
    ilk__free(split->done);
    ilk__buf_free(&split->out);
    ilk__free(split);
}

static void break_off(ilk__cluster_split *split)
{
    ilk__gateway_break(split->request);
    dispose(split);
}

void ilk__cluster_split_sent(ilk__cluster_split *split)
{
    if (--split->open)
        return;
    if (split->is_broken)
        break_off(split);
    else if (*split->error && split->failed)
        split->failed(split);
    else if (*split->error)
        ilk__cluster_split_fail(split);
    else
        split->then(split);
}

void ilk__cluster_split_all(ilk__cluster_split *split,
                            ilk__cluster_part_add *add,
                            ilk__cluster_part_reply *replied,
                            ilk__cluster_split_then *then)
{
    ilk__cluster_split_begin(split, replied, then);
    for (size_t i = 0; i < split->part_count; i++) {
        ilk__cluster_part *part =
            ilk__cluster_part_new(split, i, split->request->script);

        add(part);
        ilk__cluster_part_send(part);
    }
    ilk__cluster_split_sent(split);
}

/* ---- the reply of a part ------------------------------------------------- */

static void keep_error(ilk__cluster_split *split, const char *text)
{
    if (!*split->error)
        snprintf(split->error, sizeof split->error, "%.*s",
                 (int)sizeof split->error - 1, text);
}

static void take_reply(ilk__cluster_part *part, ilk__reply *reply)
{
    const ilk__expected_reply expected = {ILK__REPLIES_NUMBERED,
                                          part->request.number};
    char text[ILK_ERROR_MAX + 4];
    ilk_error err;

    if (reply->type == ILK__REPLY_ERROR) {
        keep_error(part->split, reply->str);
    } else if (ilk__match_reply(&expected, reply) != ILK__MATCH_PROVEN
               || ilk__script_check(part->request.script, reply, &err)) {
        snprintf(text, sizeof text, "ERR %s: a reply of a wrong shape",
                 ilk__scripts[part->request.script].name);
        keep_error(part->split, text);
    } else {
        part->split->replied(part, reply);
    }
}

static void end_part(ilk__cluster_work *work)
{
    ilk__cluster_split *split = work->part->split;

    ilk__free(work->part);
    ilk__free(work);
    if (split)
        ilk__cluster_split_sent(split);
}

void ilk__cluster_part_replied(ilk__cluster_work *work, ilk__reply *reply)
{
    if (work->part->split)
        take_reply(work->part, reply);
    end_part(work);
}

void ilk__cluster_part_refused(ilk__cluster_work *work, const char *text)
{
    if (work->part->split)
        keep_error(work->part->split, text);
    end_part(work);
}

void ilk__cluster_part_broken(ilk__cluster_work *work)
{
    if (work->part->split)
        work->part->split->is_broken = 1;
    end_part(work);
}

/* ---- the reply to the request -------------------------------------------- */

void ilk__cluster_split_reply(ilk__cluster_split *split, int code,
                              const char *types, ...)
{
    va_list args;

    va_start(args, types);
    ilk__gateway_reply_args(split->request, code, types, args);
    va_end(args);
    dispose(split);
}

ilk_status ilk__cluster_split_head(const ilk__cluster_split *split,
                                   ilk__buf *out, size_t count, int code)
{
    return ilk__resp_add(out, "*%zu\r\n:%" PRId64 "\r\n", count,
                         ilk__reply_head(split->request->number, code));
}

void ilk__cluster_split_end(ilk__cluster_split *split, ilk__buf *out,
                            ilk_status status)
{
    if (status) {
        ilk__buf_free(out);
        break_off(split);
        return;
    }
    ilk__gateway_reply_text(split->request, ilk__buf_data(out),
                            ilk__buf_len(out));
    ilk__buf_free(out);
    dispose(split);
}

void ilk__cluster_split_fail(ilk__cluster_split *split)
{
    ilk__gateway_reply_error(split->request, split->error);
    dispose(split);
}

void ilk__cluster_split_fail_in_part(ilk__cluster_split *split)
{
    if (split->is_changed)
        break_off(split);
    else
        ilk__cluster_split_fail(split);
}
