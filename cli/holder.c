/* SPDX-License-Identifier: MIT */
/*
 * holder.c -- who holds the thing that could not be acquired, in one line.
 *
 * The request follows the attempt, so the holder may be another one by
 * then, or gone; the line says what is true at that moment.
 */
#include "hold.h"

#include <inttypes.h>
#include <string.h>

static void put_what(FILE *file, const char *noun, struct cli_bytes name)
{
    fprintf(file, "%s '", noun);
    cli_put_text(file, name.data, name.len);
    fputc('\'', file);
}

static void put_who(FILE *file, const char *label)
{
    if (!label[0])
        label = "an unknown process";
    cli_put_text(file, label, strlen(label));
}

static void put_since(FILE *file, int64_t since_ms)
{
    char text[CLI_TIME_MAX];

    cli_time_text(text, since_ms);
    if (text[0])
        fprintf(file, " since %s", text);
}

static void put_waiters(FILE *file, int64_t waiters)
{
    fprintf(file, "; %" PRId64 " wait%s", waiters, waiters == 1 ? "s" : "");
}

static void put_lock_state(FILE *file, const ilk_info *info)
{
    int64_t readers = ilk_info_readers(info);

    switch (ilk_info_get_state(info)) {
    case ILK_INFO_FREE: fputs(" is free by now", file); return;
    case ILK_INFO_FOREIGN: fputs(" is held by another library", file); return;
    case ILK_INFO_READERS:
        fprintf(file, " is held by %" PRId64 " reader%s", readers,
                readers == 1 ? "" : "s");
        break;
    default: fputs(" is held by ", file); put_who(file, ilk_info_label(info));
    }
    put_since(file, ilk_info_since_ms(info));
}

static void put_permits_state(FILE *file, const ilk_info *info)
{
    fprintf(file, " has %" PRId64 " of %" PRId64 " permits taken",
            ilk_info_used(info), ilk_info_limit(info));
    if (ilk_info_holders_listed(info) == 0)
        return;
    fputs(", the first by ", file);
    put_who(file, ilk_info_holder_label(info, 0));
    put_since(file, ilk_info_holder_since_ms(info, 0));
}

static void put_leader_state(FILE *file, const ilk_info *info)
{
    if (ilk_info_holders(info) == 0) {
        fputs(" is vacant by now", file);
        return;
    }
    fputs(" is led by ", file);
    put_who(file, ilk_info_label(info));
    fprintf(file, " in term %" PRId64, ilk_info_fence(info));
    put_since(file, ilk_info_since_ms(info));
}

ilk_status cli_holder_put(FILE *file, const struct cli_hold *hold,
                          int with_waiters, ilk_error *err)
{
    const int32_t kind = hold->kind->kind;
    ilk_info *info = NULL;
    ilk_status st;

    put_what(file, hold->kind->name, hold->name);
    if (kind == ILK_KIND_GROUP) { /* its waits have no queue */
        fputs(" has a member with this id", file);
        return ILK_OK;
    }
    st = ilk_inspect_kind(&info, hold->client, kind, hold->name.data,
                          hold->name.len, err);
    if (!info)
        fputs(" is held", file);
    else if (kind == ILK_KIND_SEMAPHORE)
        put_permits_state(file, info);
    else if (kind == ILK_KIND_ELECTION)
        put_leader_state(file, info);
    else
        put_lock_state(file, info);
    if (with_waiters && info)
        put_waiters(file, ilk_info_waiters(info));
    ilk_info_free(info);
    return st;
}
