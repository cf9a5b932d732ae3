/* SPDX-License-Identifier: MIT */
/* errand_internal.h -- what the two files of errands share. */
#ifndef ILK__ERRAND_INTERNAL_H
#define ILK__ERRAND_INTERNAL_H

#include "errand.h"

/* The one at this place on the wire. */
ilk__awaited *ilk__errands_at(const ilk__errands *errands, uint64_t place);
ilk__errand *ilk__errands_take_all(ilk__errand_list *list);
ilk__errand *ilk__errand_of(ilk__timer *timer);

/* Until it waits for something that is not here yet, or is done. */
void ilk__errand_run(ilk__errands *errands, ilk__errand *errand,
                     ilk__input input);
/* 1: it is on the wire, or held; 0: `input` says why not. */
int ilk__errand_send(ilk__errands *errands, ilk__errand *errand,
                     ilk__input *input);
void ilk__errands_start_next(ilk__errands *errands);

#endif
