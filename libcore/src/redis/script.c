/* SPDX-License-Identifier: MIT */
/* script.c -- calls of server-side scripts and the shapes of their replies. */
#include "script.h"

#include <string.h>

void ilk__script_begin(ilk__command *command, int script,
                       const ilk__bytes *keys, size_t key_count)
{
    command->replies = ILK__REPLIES_NUMBERED;
    ilk__command_add_str(command, "EVALSHA");
    ilk__command_add_str(command, ilk__scripts[script].sha1);
    ilk__command_add_int(command, (int64_t)key_count);
    for (size_t i = 0; i < key_count; i++)
        ilk__command_add(command, keys[i].data, keys[i].len);
}

int ilk__script_use_source(ilk__command *command, int script)
{
    if (command->failed || command->argc < 3 || command->lens[0] == 4)
        return 0;
    command->argv[0] = "EVAL";
    command->lens[0] = 4;
    command->argv[1] = ilk__scripts[script].text;
    command->lens[1] = ilk__scripts[script].text_len;
    return 1;
}

static int element_fits(const ilk__reply *item, char type)
{
    /* A script returns strings as `$<length>`, never as `+<text>`. If a fault
     * changes that first byte, the length is read as a status, and is refused
     * here. */
    return type == 'i' ? item->type == ILK__REPLY_INT
                       : item->type == ILK__REPLY_STR && !item->is_status;
}

/* 'i' is an integer, 's' a string, '*' any further elements. */
static int shape_fits(const ilk__reply *reply, const char *types)
{
    size_t i = 1;

    if (reply->type == ILK__REPLY_INT)
        return !*types;
    for (; *types; types++, i++) {
        if (*types == '*')
            return 1;
        if (i >= reply->count || !element_fits(reply->items[i], *types))
            return 0;
    }
    return i == reply->count;
}

ilk_status ilk__script_check(int script, const ilk__reply *reply,
                             ilk_error *err)
{
    const ilk__script *declared = &ilk__scripts[script];
    const ilk__reply *first = ilk__reply_first(reply);
    int is_known = 0;

    if (first->type != ILK__REPLY_INT)
        return ilk__fail(
            err, ILK_EREPLY,
            "%s: the reply is neither a code nor an array that begins with one",
            declared->name);
    for (size_t i = 0; i < declared->shape_count; i++) {
        if (declared->shapes[i].code != first->num)
            continue;
        if (shape_fits(reply, declared->shapes[i].types))
            return ILK_OK;
        is_known = 1;
    }
    if (is_known)
        return ilk__fail(err, ILK_EREPLY, "%s: reply %lld has a wrong shape",
                         declared->name, (long long)first->num);
    return ilk__fail(err, ILK_EREPLY, "%s: unknown reply %lld", declared->name,
                     (long long)first->num);
}

int ilk__script_code(const ilk__reply *reply)
{
    return (int)ilk__reply_first(reply)->num;
}

const ilk__reply *ilk__script_item(const ilk__reply *reply, size_t index)
{
    return reply->items[index + 1];
}

int64_t ilk__script_int(const ilk__reply *reply, size_t index)
{
    int64_t number;

    if (index + 1 >= reply->count)
        return 0;
    number = ilk__script_item(reply, index)->num;
    if (number > ILK__SCRIPT_INT_MAX)
        return ILK__SCRIPT_INT_MAX;
    return number < -ILK__SCRIPT_INT_MAX ? -ILK__SCRIPT_INT_MAX : number;
}
