/* SPDX-License-Identifier: MIT */
/* error.c -- names and texts of statuses, and the caller's error text. */
#include "error.h"

#include "printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

/* For the version string; base.h has the same numbers as an enum. */
#define MAJOR 0
#define MINOR 1
#define PATCH 0

_Static_assert(MAJOR == ILK_VERSION_MAJOR && MINOR == ILK_VERSION_MINOR
                   && PATCH == ILK_VERSION_PATCH,
               "ilk_version() and base.h have different versions");

/* Indexed by the negated status. There must be no gaps. */
static const struct {
    const char *name, *text;
} statuses[] = {
    [-ILK_OK] = {"ILK_OK", "success"},
    [-ILK_EINVAL] = {"ILK_EINVAL", "an argument is not acceptable"},
    [-ILK_ENOMEM] = {"ILK_ENOMEM", "out of memory"},
    [-ILK_ESYSTEM] = {"ILK_ESYSTEM", "the operating system refused"},
    [-ILK_EBUSY] = {"ILK_EBUSY", "held elsewhere"},
    [-ILK_ETIMEOUT] = {"ILK_ETIMEOUT", "the time given ran out"},
    [-ILK_EINTR] = {"ILK_EINTR", "interrupted"},
    [-ILK_ECANCELLED] = {"ILK_ECANCELLED", "the wait was cancelled"},
    [-ILK_ELOST] = {"ILK_ELOST", "no longer ours"},
    [-ILK_ENOTOWNER] = {"ILK_ENOTOWNER", "the handle holds nothing"},
    [-ILK_EHELD] = {"ILK_EHELD", "the handle holds or waits already"},
    [-ILK_ESTALE] = {"ILK_ESTALE", "a newer fence or version is on record"},
    [-ILK_ENOQUORUM] = {"ILK_ENOQUORUM", "too few servers agreed"},
    [-ILK_EUNKNOWN] = {"ILK_EUNKNOWN", "the outcome is unknown"},
    [-ILK_EFORKED] = {"ILK_EFORKED", "belongs to the parent process"},
    [-ILK_ECLOSED] = {"ILK_ECLOSED", "the client was closed"},
    [-ILK_EAGAIN] = {"ILK_EAGAIN", "nothing to fetch at the moment"},
    [-ILK_ECONN] = {"ILK_ECONN", "the server cannot be reached"},
    [-ILK_EAUTH] = {"ILK_EAUTH", "the server refuses this user"},
    [-ILK_ETYPE] = {"ILK_ETYPE", "the key holds another type or layout"},
    [-ILK_EREPLY] = {"ILK_EREPLY", "the server's answer makes no sense"},
    [-ILK_ESERVERBUSY] = {"ILK_ESERVERBUSY", "the server is busy"},
    [-ILK_ESERVERLOADING] = {"ILK_ESERVERLOADING",
                             "the server is loading its data"},
    [-ILK_ESERVERREADONLY] = {"ILK_ESERVERREADONLY",
                              "the server takes no writes"},
    [-ILK_ESERVERMEMORY] = {"ILK_ESERVERMEMORY", "the server is out of memory"},
    [-ILK_ESERVER] = {"ILK_ESERVER", "the server answered an error"},
    [-ILK_ECLUSTER] = {"ILK_ECLUSTER", "the server is part of a cluster"},
    [-ILK_EDIFFERS] = {"ILK_EDIFFERS", "it exists, set up in another way"},
    [-ILK_EBROKEN] = {"ILK_EBROKEN",
                      "a round of a barrier broke: a party is gone"},
    [-ILK_EUNSUPPORTED] = {"ILK_EUNSUPPORTED",
                           "the store behind the URL does not offer it"},
    [-ILK_ECONFLICT] = {"ILK_ECONFLICT", "another transaction was first"},
};

static int is_status(int32_t status)
{
    const int32_t count = (int32_t)(sizeof statuses / sizeof statuses[0]);

    return status <= 0 && status > -count;
}

const char *ilk_status_name(int32_t status)
{
    return is_status(status) ? statuses[-status].name : "ILK_?";
}

const char *ilk_strerror(int32_t status)
{
    return is_status(status) ? statuses[-status].text : "unknown status";
}

const char *ilk_version(void)
{
    return TEXT(MAJOR) "." TEXT(MINOR) "." TEXT(PATCH);
}

ilk_status ilk__fail(ilk_error *err, ilk_status status, const char *format, ...)
{
    char text[ILK_ERROR_MAX]; /* since an argument may point into err->msg */
    va_list args;

    if (err == NULL)
        return status;

    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);

    ilk__make_printable(text);
    err->code = status;
    memcpy(err->msg, text, sizeof text);
    return status;
}

void ilk__error_clear(ilk_error *err)
{
    if (err == NULL)
        return;
    err->code = ILK_OK;
    err->msg[0] = '\0';
}
