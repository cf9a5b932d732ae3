/* SPDX-License-Identifier: MIT */
/* register.h -- the register's handle. */
#ifndef ILK__REGISTER_H
#define ILK__REGISTER_H

#include "handle/state.h"

#include <interlock/register.h>

struct ilk_register {
    ilk__state state;
    int64_t known; /* the current wait ends at any other version */

    /* from the last reply */
    int64_t version;
    char *value; /* NULL: none */
    size_t value_len;
};

extern const ilk__state_kind ilk__register_kind;

#endif
