/* SPDX-License-Identifier: MIT */
/*
 * conf_signal.h -- the statements of the conformance table about signals.
 *
 *     s = signal <name> | pattern <glob>
 *     s listen | cancel -> STATUS      s wait <ms> -> STATUS | <data>
 *     s one <data> | all <data> -> STATUS | <number reached>
 *     any <ms> <s> <s>... -> STATUS    both <ms> <s> <s>... -> STATUS
 */
#ifndef ILK__CONF_SIGNAL_H
#define ILK__CONF_SIGNAL_H

#include "conformance.h"

#include <interlock.h>

enum { CONF_SIGNAL_HANDLES = 8 };

typedef struct conf_signal {
    char words[CONF_SIGNAL_HANDLES][64];
    ilk_signal *handles[CONF_SIGNAL_HANDLES];
    size_t count;
} conf_signal;

/* Run a line; 0 when it is about something else. A failure fails the test. */
int conf_signal_line(conf_signal *self, ilk_client *client,
                     const conf_word *words, int count);
void conf_signal_free(conf_signal *self);

#endif
