/* SPDX-License-Identifier: MIT */
/* name_list.c -- the names that a store has, in replies to SCAN. */
#include "name_list.h"

#include "base/alloc.h"
#include "gateway/request_words.h"
#include "gateway/resp.h"
#include "redis/keys.h"

#include <string.h>

enum { AFTER = '>' };

int ilk__name_list_asked(ilk__gateway_request *request, ilk__span *out_after)
{
    const ilk__bytes word = ilk__gateway_arg(request, 0),
                     cursor = ilk__gateway_arg(request, 1);

    if (strcmp(word.data, "SCAN") != 0) {
        ilk__gateway_reply_error(request,
                                 "ILKNONE this store lists names, and has no "
                                 "other command");
        return 0;
    }
    *out_after = cursor.len && cursor.data[0] == AFTER
                     ? (ilk__span){cursor.data + 1, cursor.len - 1}
                     : (ilk__span){"", 0};
    return 1;
}

void ilk__name_list_add(ilk__name_list *list, const char *kind, ilk__span name)
{
    ilk__bytes key;

    if (ilk__name_check(name.at, name.len, "name", NULL))
        return;
    if (ilk__side_key(&key, kind, name.at, name.len, NULL)) {
        list->no_memory = 1;
        return;
    }
    if (ilk__resp_add_bytes(&list->keys, (ilk__span){key.data, key.len}))
        list->no_memory = 1;
    list->count++;
    ilk__keys_free(&key, 1);
}

static ilk_status write_reply(ilk__buf *out, const ilk__name_list *list,
                              ilk__span last)
{
    ilk_status st =
        last.len ? ilk__resp_add(out, "*2\r\n$%zu\r\n%c", last.len + 1, AFTER)
                 : ilk__resp_add(out, "*2\r\n$1\r\n0");

    if (st == ILK_OK && last.len)
        st = ilk__buf_add(out, last.at, last.len);
    if (st == ILK_OK)
        st = ilk__resp_add(out, "\r\n*%zu\r\n", list->count);
    if (st == ILK_OK && list->count)
        st = ilk__buf_add(out, ilk__buf_data(&list->keys),
                          ilk__buf_len(&list->keys));
    return st;
}

void ilk__name_list_reply(ilk__name_list *list, ilk__gateway_request *request,
                          ilk__span last)
{
    ilk__buf text = {0};

    if (list->no_memory || write_reply(&text, list, last))
        ilk__gateway_reply_error(request, "OOM out of memory");
    else
        ilk__gateway_reply_text(request, ilk__buf_data(&text),
                                ilk__buf_len(&text));
    ilk__buf_free(&text);
    ilk__buf_free(&list->keys);
}
