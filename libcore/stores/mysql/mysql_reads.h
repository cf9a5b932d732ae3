/* SPDX-License-Identifier: MIT */
/*
 * mysql_reads.h -- lets every byte that the client library reads pass through the check
 * of mysql_frames.h, also over TLS.
 *
 * The library calls a function after each of its reads, for all connections of the
 * process. A thread says before it enters the library which connection is checked. After
 * a fault, or when its time is over, the function makes the rest of the bytes unreadable
 * for the library, and disconnects the socket: the call that is under way ends at once.
 */
#ifndef ILK__MYSQL_READS_H
#define ILK__MYSQL_READS_H

#include "mysql_frames.h"

#include <mysql.h>

/* Once in the process, before the first connection. 0: the library cannot do it. */
int ilk__mysql_reads_begin(void);

/* This thread enters the library with `mysql`, whose reads have an end; and leaves it. */
void ilk__mysql_reads_check(MYSQL *mysql, ilk__mysql_frames *frames,
                            int64_t until);
void ilk__mysql_reads_left(void);

#endif
