/* SPDX-License-Identifier: MIT */
/*
 * loss.h -- why a hold was lost: the evidence in the server's reply, the cause that
 * follows from it, and its text.
 */
#ifndef ILK__LOSS_H
#define ILK__LOSS_H

#include "redis/script.h"

#include <interlock/notification.h>

enum { ILK__LOSS_BY = 64, ILK__LOSS_TEXT = 160 };

/* The elements of LOST: the record of the hold (scripts/include/evidence.lua). */
typedef struct ilk__evidence {
    int is_there; /* 0: the reply has none, as those of stores without scripts */
    int64_t born;   /* when the record was created, server us; 0: no record */
    int64_t broken; /* the fence at the last break; 0: none; -1: this hold's */
    char by[ILK__LOSS_BY]; /* the label of the client that broke it, or "" */
} ilk__evidence;

typedef struct ilk__loss {
    ilk_loss cause;
    int64_t since_ms; /* UNREACHABLE: wall-clock ms; else 0 */
    int is_vague;     /* DELETED: by whatever means, the store does not say */
    char by[ILK__LOSS_BY];
} ilk__loss;

void ilk__evidence_read(ilk__evidence *out, const ilk__reply *reply);

/* The cause by evidence, which may be NULL, of a hold with this fence whose lease was
 * not over; ILK_LOSS_BROKEN also if it was. */
void ilk__loss_judge(ilk__loss *out, const ilk__evidence *evidence,
                     int64_t fence);

/* The cause as part of a sentence: "broken by web-1:4312". */
const char *ilk__loss_text(const ilk__loss *loss, char text[ILK__LOSS_TEXT]);

#endif
