/* SPDX-License-Identifier: MIT */
/* lane_case.h -- what the tests of lanes share: a lane, and those who ask. */
#ifndef ILK__LANE_CASE_H
#define ILK__LANE_CASE_H

#include "fixture.h"
#include "redis/lane.h"

#include <pthread.h>

extern ilk__lane *lane;

void lane_case_open(const char *url);
void lane_case_close(void);
ilk__traffic lane_case_traffic(void);

/* One call, in a thread of its own when started. */
typedef struct asker {
    const char *words; /* the command, parted by spaces */
    const char *much;  /* one more argument, or NULL */
    size_t much_len;
    int64_t timeout_ms;  /* the caller's */
    int64_t patience_ms; /* with the server; 0: 5 s */
    pthread_t thread;
    ilk_status status;
    int may_have_run;
    int64_t took_ms;
    char answer[256]; /* a number as text; "" when there is none */
    ilk_error err;
} asker;

void asker_run(asker *self);
void asker_start(asker *self);
/* returns when its command is appended */
void asker_start_in_turn(asker *self);
void asker_join(asker *self);

/* One call of the test's own thread: what came back, or the status' name. */
const char *lane_ask(const char *words);

ilk_status lane_tell(const char *words);

#endif
