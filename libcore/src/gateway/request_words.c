/* SPDX-License-Identifier: MIT */
/* request_words.c -- the keys and arguments of a request. */
#include "request_words.h"

#include "redis/script.h"

ilk__bytes ilk__gateway_word(const ilk__reply *word)
{
    return (ilk__bytes){word->str, word->len};
}

ilk__bytes ilk__gateway_arg(const ilk__gateway_request *request, size_t index)
{
    if (index >= request->arg_count)
        return (ilk__bytes){(char *)"", 0};
    return ilk__gateway_word(request->args[index]);
}

int64_t ilk__gateway_number_arg(const ilk__gateway_request *request,
                                size_t index)
{
    const ilk__bytes word = ilk__gateway_arg(request, index);

    return ilk__text_number((ilk__span){word.data, word.len},
                            ILK__SCRIPT_INT_MAX);
}
