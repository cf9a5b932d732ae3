/* SPDX-License-Identifier: MIT */
/*
 * embedded_case.h -- what tests of the embedded server share: a directory in
 * place of the user's, because TMPDIR points there, and questions to it.
 */
#ifndef ILK__EMBEDDED_CASE_H
#define ILK__EMBEDDED_CASE_H

#include "embedded/embedded.h"

#include <interlock/server.h>
#include <sys/types.h>

enum { PATIENCE = 10000 }; /* milliseconds for what must happen */

extern char tmp[64]; /* the directory of this test */

int embedded_setup(void);
int embedded_teardown(void); /* ends what still runs */

/* A path below tmp; valid until the next call. */
const char *in_tmp(const char *name);

ilk__embedded *attach(const char *dir);
void assert_fails(const char *dir, int64_t timeout_ms, ilk_status expected,
                  const char *why);

/* The state of the user's server. */
ilk_server_info look(void);

/* The first line that it answers; valid until the next call. */
const char *ask(ilk__embedded *embedded, const char *command);
int has_value(ilk__embedded *embedded, const char *key);

void await_end(pid_t pid);

/* The lock of a killed server ends with the last of its threads. */
void await_no_server(void);

#endif
