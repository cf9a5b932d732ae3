/* SPDX-License-Identifier: MIT */
/* loss.c -- why a hold was lost. */
#include "loss.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {
    [ILK_LOSS_NONE] = "none",
    [ILK_LOSS_UNKNOWN] = "unknown",
    [ILK_LOSS_BROKEN] = "broken",
    [ILK_LOSS_EXPIRED] = "expired",
    [ILK_LOSS_UNREACHABLE] = "unreachable",
    [ILK_LOSS_DELETED] = "deleted",
    [ILK_LOSS_WIPED] = "wiped",
    [ILK_LOSS_ENDED] = "ended",
};

const char *ilk_loss_name(int32_t cause)
{
    const int32_t count = (int32_t)(sizeof names / sizeof names[0]);

    return cause >= 0 && cause < count ? names[cause] : "?";
}

static int is_no_record(const ilk__reply *by)
{
    static const char word[] = ILK__NO_RECORD;

    return by->type == ILK__REPLY_STR && by->len == strlen(word)
           && memcmp(by->str, word, by->len) == 0;
}

void ilk__evidence_read(ilk__evidence *out, const ilk__reply *reply)
{
    const ilk__reply *by = reply->count > 3 ? ilk__script_item(reply, 2) : NULL;

    memset(out, 0, sizeof *out);
    out->born = ilk__script_int(reply, 0);
    out->broken = ilk__script_int(reply, 1);
    out->is_there = by && !is_no_record(by);
    if (by && by->type == ILK__REPLY_STR)
        snprintf(out->by, sizeof out->by, "%.*s", (int)by->len, by->str);
}

/* A break of all readers has no token of its own: it is ours if it came after the
 * hold began. */
static int is_broken(const ilk__evidence *evidence, int64_t fence)
{
    return evidence->is_there
           && (evidence->broken < 0
               || (evidence->by[0] && fence && evidence->broken >= fence));
}

void ilk__loss_judge(ilk__loss *out, const ilk__evidence *evidence,
                     int64_t fence)
{
    memset(out, 0, sizeof *out);
    out->cause = ILK_LOSS_DELETED;
    out->is_vague = !evidence || !evidence->is_there;
    if (out->is_vague)
        return;
    if (is_broken(evidence, fence)) {
        out->cause = ILK_LOSS_BROKEN;
        memcpy(out->by, evidence->by, sizeof out->by);
    } else if (!evidence->born && !evidence->broken) {
        out->cause = ILK_LOSS_WIPED;
    }
}

static void write_time(char *to, size_t room, int64_t wall_ms)
{
    const time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;

    if (!gmtime_r(&seconds, &tm)
        || !strftime(to, room, "%Y-%m-%dT%H:%M:%SZ", &tm))
        to[0] = '\0';
}

const char *ilk__loss_text(const ilk__loss *loss, char text[ILK__LOSS_TEXT])
{
    char at[32];

    switch (loss->cause) {
    case ILK_LOSS_BROKEN:
        if (!loss->by[0])
            return "broken";
        snprintf(text, ILK__LOSS_TEXT, "broken by %s", loss->by);
        return text;
    case ILK_LOSS_EXPIRED:
        return "its lease ended before this process renewed it";
    case ILK_LOSS_UNREACHABLE:
        write_time(at, sizeof at, loss->since_ms);
        snprintf(text, ILK__LOSS_TEXT,
                 "its lease ended while the server was unreachable, since %s",
                 at);
        return text;
    case ILK_LOSS_DELETED:
        return loss->is_vague ? "the store no longer has it"
                              : "its key was deleted, evicted or overwritten";
    case ILK_LOSS_WIPED: return "the server has lost its key and its record";
    case ILK_LOSS_ENDED: return "its lease ended";
    default: return "no longer ours";
    }
}
