/* SPDX-License-Identifier: MIT */
/* ear.c -- one of the connections that a client's inbox listens on. */
#include "ear.h"

#include <string.h>

void ilk__ear_init(ilk__ear *ear, unsigned number, const ilk__target *target)
{
    memset(ear, 0, sizeof *ear);
    ear->number = number;
    ilk__link_init(&ear->link, target);
}

void ilk__ear_close(ilk__ear *ear)
{
    ilk__link_close(&ear->link);
    ilk__buf_free(&ear->asked);
}

void ilk__ear_ask(ilk__ear *ear, const char *verb, const void *name, size_t len,
                  ilk__asked asked)
{
    ilk__command command;
    ilk_status st;

    ilk__command_init(&command);
    ilk__command_add_str(&command, verb);
    ilk__command_add(&command, name, len);
    st = ilk__buf_add(&ear->asked, &asked, sizeof asked);
    if (st == ILK_OK)
        st = ilk__link_send(&ear->link, &command);
    ilk__command_free(&command);
    if (st)
        ilk__link_break(&ear->link, "out of memory");
}

int ilk__ear_answered(ilk__ear *ear, ilk__asked *out)
{
    if (!ilk__buf_len(&ear->asked))
        return 0;
    memcpy(out, ilk__buf_data(&ear->asked), sizeof *out);
    ilk__buf_take(&ear->asked, sizeof *out);
    return 1;
}
