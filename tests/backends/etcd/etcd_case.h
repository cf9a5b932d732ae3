/* SPDX-License-Identifier: MIT */
/*
 * etcd_case.h -- an etcd for all tests of a program, and what etcdctl says of it.
 *
 *     AROUND_ALL(etcd_setup, etcd_teardown);
 */
#ifndef ILK__ETCD_CASE_H
#define ILK__ETCD_CASE_H

#include "etcd_server.h"

#include "lock_thread.h"

enum { CTL_TEXT = 8192 };

extern etcd_server etcd; /* the one of most tests */

int etcd_setup(void); /* where there is none: the program ends with 77 */
int etcd_teardown(void);

ilk_client *open_etcd(void);

/* Run etcdctl with these arguments, at most `seconds`; what it writes. Valid until
 * the next call. */
const char *ctl(int seconds, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same in the background; its pid, for end_ctl(). */
pid_t begin_ctl(const char *format, ...) __attribute__((format(printf, 1, 2)));
void end_ctl(pid_t pid);

/* How many keys begin with this. */
int count_keys(const char *prefix);
void await_keys(const char *prefix, int count);

/* Three members of one cluster. */
typedef struct etcd_cluster {
    etcd_server members[3];
    char url[160], endpoints[96];
} etcd_cluster;

void start_cluster(etcd_cluster *cluster);
void stop_cluster(etcd_cluster *cluster);
int find_leader(const etcd_cluster *cluster);

#endif
