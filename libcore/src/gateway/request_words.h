/* SPDX-License-Identifier: MIT */
/* request_words.h -- the keys and arguments of a request, as a command takes them. */
#ifndef ILK__REQUEST_WORDS_H
#define ILK__REQUEST_WORDS_H

#include "backend.h"
#include "redis/keys.h"

ilk__bytes ilk__gateway_word(const ilk__reply *word);
/* Empty when the request has no such argument. */
ilk__bytes ilk__gateway_arg(const ilk__gateway_request *request, size_t index);
/* -1: it is no whole number below ILK__SCRIPT_INT_MAX. */
int64_t ilk__gateway_number_arg(const ilk__gateway_request *request,
                                size_t index);

#endif
