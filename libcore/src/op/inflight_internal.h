/* SPDX-License-Identifier: MIT */
/* inflight_internal.h -- for inflight.c and inflight_connection.c. */
#ifndef ILK__INFLIGHT_INTERNAL_H
#define ILK__INFLIGHT_INTERNAL_H

#include "inflight.h"

/* The slot at this position on the wire. */
ilk__pipeline_slot *ilk__pipeline_at(const ilk__pipeline *pipeline,
                                     uint64_t position);
ilk__inflight *ilk__inflight_list_detach(ilk__inflight_list *list);
ilk__inflight *ilk__inflight_of(ilk__timer *timer);

/* Step it until it waits for something, or is done. */
void ilk__inflight_run(ilk__pipeline *pipeline, ilk__inflight *inflight,
                       ilk__input input);
/* 1: its command is on the wire or in `unsent`; 0: `input` says why not. */
int ilk__inflight_send(ilk__pipeline *pipeline, ilk__inflight *inflight,
                       ilk__input *input);
void ilk__pipeline_start_next(ilk__pipeline *pipeline);

#endif
