/* SPDX-License-Identifier: MIT */
/*
 * ear.h -- one of the connections that a client's inbox listens on: the
 * server's own, number 0, and those to replicas that the URL names.
 *
 * A replica passes on what is published on its server, but the server counts
 * only who listens to it. So what a replica alone tells is second hand: it
 * may have been taken back since, when the server found nobody there.
 *
 * Only the keeper's thread touches it, with the shared state's mutex held.
 */
#ifndef ILK__EAR_H
#define ILK__EAR_H

#include "redis/link.h"

enum { ILK__EARS_MAX = 8 };

typedef struct ilk__channel ilk__channel;

/* What a subscribing command was for: each is answered, in order. */
typedef enum ilk__asked_what {
    ILK__ASKED_OWN,     /* SUBSCRIBE to the client's own channel */
    ILK__ASKED_WATCH,   /* to one on which others publish releases */
    ILK__ASKED_CHANNEL, /* to a listener's channel or pattern */
    ILK__ASKED_END      /* of one of these */
} ilk__asked_what;

typedef struct ilk__asked {
    ilk__asked_what what;
    ilk__channel *channel; /* CHANNEL */
} ilk__asked;

typedef struct ilk__ear {
    ilk__link link;
    unsigned number;
    int hears;      /* the client's own channel is confirmed */
    int refused;    /* a replica that will not have us */
    ilk__buf asked; /* of ilk__asked, without an answer yet */
} ilk__ear;

void ilk__ear_init(ilk__ear *ear, unsigned number, const ilk__target *target);
void ilk__ear_close(ilk__ear *ear);

/* Send `<verb> <name>`. Without memory the link is broken, and comes again. */
void ilk__ear_ask(ilk__ear *ear, const char *verb, const void *name, size_t len,
                  ilk__asked asked);
/* What the next answer is for; 0 when nothing was asked. */
int ilk__ear_answered(ilk__ear *ear, ilk__asked *out);

#endif
