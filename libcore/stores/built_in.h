/* SPDX-License-Identifier: MIT */
/*
 * built_in.h -- the stores that are part of the library. All others are shared objects:
 * gateway/backend.h.
 */
#ifndef ILK__BUILT_IN_H
#define ILK__BUILT_IN_H

#include "base/error.h"

/* Make their schemes known. Any thread, any number of times. ILK_ENOMEM. */
ilk_status ilk__built_in_stores_register(ilk_error *err);

#endif
