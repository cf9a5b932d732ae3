/* SPDX-License-Identifier: MIT */
/* outage.c -- notes the beginning, the cause and the end of an outage. */
#include "outage.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

enum {
    SHORT_MS = 100 /* an outage that is not mentioned */
};

void ilk__outage_init(ilk__outage *outage)
{
    atomic_init(&outage->since, 0);
    pthread_mutex_init(&outage->mutex, NULL);
    outage->wait_ms = 0;
    outage->cap_ms = ILK__FOREVER;
    outage->fails_over = 0;
}

void ilk__outage_destroy(ilk__outage *outage)
{
    pthread_mutex_destroy(&outage->mutex);
}

static const char *text_of(const ilk_error *why)
{
    return why && why->msg[0] ? why->msg : "the server does not reply";
}

int64_t ilk__outage_note(ilk__outage *outage, int64_t since, ilk_status status,
                         const ilk_error *why)
{
    int64_t before = 0;

    pthread_mutex_lock(&outage->mutex);
    if (why || !outage->cause.code)
        ilk__fail(&outage->cause, status, "%s", text_of(why));
    pthread_mutex_unlock(&outage->mutex);
    if (!atomic_compare_exchange_strong(&outage->since, &before, since))
        return before;
    ilk__log(ILK__LOG_INFO, "the server cannot be reached: %.200s",
             text_of(why));
    return since;
}

void ilk__outage_end(ilk__outage *outage, int64_t now)
{
    int64_t since = atomic_exchange(&outage->since, 0);

    if (!since)
        return;
    pthread_mutex_lock(&outage->mutex);
    ilk__error_clear(&outage->cause);
    pthread_mutex_unlock(&outage->mutex);
    ilk__log(ILK__LOG_INFO, "the server is reached again, after %.1f s",
             (double)(now - since) / 1000);
}

int64_t ilk__outage_patience(const ilk__outage *outage,
                             int64_t reply_timeout_ms)
{
    return ilk__deadline(outage->wait_ms > reply_timeout_ms ? outage->wait_ms
                                                            : reply_timeout_ms);
}

int64_t ilk__outage_silence_ms(const ilk__outage *outage)
{
    return outage->cap_ms > 0 && outage->cap_ms < ILK__CONTACT_LOST_MS
               ? outage->cap_ms
               : ILK__CONTACT_LOST_MS;
}

ilk_status ilk__outage_status(ilk__outage *outage, int64_t now, ilk_error *err)
{
    int64_t since = atomic_load(&outage->since);
    ilk_error cause;

    if (!since)
        return ILK_OK;
    pthread_mutex_lock(&outage->mutex);
    cause = outage->cause;
    pthread_mutex_unlock(&outage->mutex);
    if (!cause.code) /* it ended just now */
        return ILK_OK;
    ilk__outage_tell(&cause, since, now);
    return ilk__fail(err, (ilk_status)cause.code, "%s", cause.msg);
}

void ilk__outage_tell(ilk_error *err, int64_t since, int64_t now)
{
    ilk_error cause;

    if (!err || now - since < SHORT_MS)
        return;
    cause = *err;
    ilk__fail(err, (ilk_status)cause.code, "unreachable for %.1f s: %.200s",
              (double)(now - since) / 1000, text_of(&cause));
}
