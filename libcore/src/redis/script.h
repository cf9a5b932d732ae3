/* SPDX-License-Identifier: MIT */
/*
 * script.h -- calls of server-side scripts: the command, its EVAL form for a
 * server that has not loaded the script, and the check of the reply's shape.
 */
#ifndef ILK__SCRIPT_H
#define ILK__SCRIPT_H

#include "command.h"
#include "keys.h"
#include "reply.h"
#include "scripts.gen.h"

enum { ILK__SCRIPT_NONE = -1 };

/* Begin `EVALSHA sha1 key_count key ...`; the caller adds the arguments, and
 * ilk__command_format() the number of the request. */
void ilk__script_begin(ilk__command *command, int script,
                       const ilk__bytes *keys, size_t key_count);

/* Turn a complete EVALSHA into EVAL, for a server that replied NOSCRIPT; 0 when
 * it is EVAL already. */
int ilk__script_use_source(ilk__command *command, int script);

/* Check that the reply is an array with a code that the script declares, and
 * with the elements declared for that code; or that it is the code itself, where no
 * elements are declared. An integer costs the server far less than an array.
 * ILK_EREPLY. */
ilk_status ilk__script_check(int script, const ilk__reply *reply,
                             ilk_error *err);

/* The numbers of scripts are doubles, which are exact up to here: fences and
 * generations stay below. */
#define ILK__SCRIPT_INT_MAX (INT64_C(1) << 53)

/* In LOST, in the place of the label of the client that broke a hold: the store keeps no
 * records, so the numbers before it are no evidence (gateway/backend.h). */
#define ILK__NO_RECORD "-"

/* The code of a checked reply, and its elements; index 0 follows the code. A
 * number that is not there is 0. One that is there is limited to
 * ILK__SCRIPT_INT_MAX on both sides, so that callers can add and subtract
 * without overflow, whatever a server sends. */
int ilk__script_code(const ilk__reply *reply);
int64_t ilk__script_int(const ilk__reply *reply, size_t index);
const ilk__reply *ilk__script_item(const ilk__reply *reply, size_t index);

#endif
