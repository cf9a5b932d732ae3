/* SPDX-License-Identifier: MIT */
/*
 * slot.h -- the slot of a key in a cluster: CRC16 of its hash tag, modulo the
 * number of slots. The hash tag is the text between the first '{' and the first '}'
 * behind it, if it is not empty; otherwise the whole key is hashed.
 */
#ifndef ILK__SLOT_H
#define ILK__SLOT_H

#include "net/url_text.h"

enum { ILK__SLOTS = 16384 };

/* The part of a key that is hashed. It points into the key. */
ilk__span ilk__slot_tag(ilk__span key);
int ilk__slot_of(ilk__span key);

#endif
