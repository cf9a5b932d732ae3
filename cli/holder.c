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
    switch (ilk_info_get_state(info)) {
    case ILK_INFO_FREE: fputs(" is free by now", file); return;
    case ILK_INFO_FOREIGN: fputs(" is held by another library", file); return;
    case ILK_INFO_READERS:
        fprintf(file, " is held by %" PRId64 " readers",
                ilk_info_readers(info));
        break;
    default: fputs(" is held by ", file); put_who(file, ilk_info_label(info));
    }
    put_since(file, ilk_info_since_ms(info));
}

void cli_holder_lock(FILE *file, ilk_client *client, struct cli_bytes name,
                     int with_waiters)
{
    ilk_info *info = NULL;

    put_what(file, "lock", name);
    if (ilk_inspect(&info, client, name.data, name.len, NULL) == ILK_OK)
        put_lock_state(file, info);
    else
        fputs(" is held", file);
    if (with_waiters && info)
        put_waiters(file, ilk_info_waiters(info));
    ilk_info_free(info);
}

void cli_holder_permits(FILE *file, ilk_client *client, struct cli_bytes name,
                        int with_waiters)
{
    ilk_info *info = NULL;

    put_what(file, "semaphore", name);
    if (ilk_semaphore_inspect(&info, client, name.data, name.len, NULL)
        == ILK_OK) {
        fprintf(file, " has %" PRId64 " of %" PRId64 " permits taken",
                ilk_info_used(info), ilk_info_limit(info));
        if (ilk_info_holders_listed(info) > 0) {
            fputs(", the first by ", file);
            put_who(file, ilk_info_holder_label(info, 0));
            if (with_waiters)
                put_since(file, ilk_info_holder_since_ms(info, 0));
        }
        if (with_waiters)
            put_waiters(file, ilk_info_waiters(info));
    }
    ilk_info_free(info);
}

void cli_holder_leader(FILE *file, ilk_client *client, struct cli_bytes name,
                       int with_waiters)
{
    ilk_election *election = NULL;
    ilk_leader *leader = NULL;

    put_what(file, "election", name);
    if (ilk_election_open(&election, client, name.data, name.len, NULL, NULL)
            == ILK_OK
        && ilk_election_leader(&leader, election, NULL) == ILK_OK) {
        if (ilk_leader_value(leader, NULL)) {
            fputs(" is led by ", file);
            put_who(file, ilk_leader_label(leader));
            fprintf(file, " in term %" PRId64, ilk_leader_term(leader));
        } else {
            fputs(" is vacant by now", file);
        }
    }
    if (with_waiters && leader)
        put_waiters(file, ilk_leader_candidates(leader));
    ilk_leader_free(leader);
    ilk_election_free(election);
}
