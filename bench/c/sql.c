/* SPDX-License-Identifier: MIT */
/*
 * sql.c -- the limit of a lock in MariaDB or MySQL: its two statements, sent by
 * libmariadb's blocking calls, and nothing else.
 * sql HOST PORT USER PASSWORD DATABASE; the table must be there.
 */
#include "lines.h"

#include <mysql.h>

#define NOW "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"

enum { TEXT = 1024, LEASE_US = 30000000 };

static MYSQL *server;

static void send(const char *text)
{
    if (mysql_query(server, text))
        die("sql", mysql_error(server));
}

static void expect_one_row(const char *text)
{
    send(text);
    if (mysql_affected_rows(server) != 1)
        die("sql: not one row", text);
}

static void acquire(const char *name, size_t number)
{
    char text[TEXT];

    snprintf(
        text, sizeof text,
        "UPDATE ilk_lock SET fence=LAST_INSERT_ID(IF(token='%032zx',fence,"
        "GREATEST(fence+1,1," NOW "))),since=IF(token='%032zx',since," NOW
        "),token='%032zx',who='bench',session=CONNECTION_ID(),until=" NOW
        "+%d WHERE kind='l' AND name='%s' AND ((token='%032zx' AND until>" NOW
        ") OR IF(token='' OR until<=" NOW
        ",IF(GET_LOCK('bench:%s',0)=1,1,0),0))",
        number, number, number, LEASE_US, name, number, name);
    expect_one_row(text);
}

static void release(const char *name, size_t number)
{
    char text[TEXT];

    snprintf(
        text, sizeof text,
        "UPDATE ilk_lock SET released=token,token='',until=LEAST(until," NOW
        ")+0*COALESCE(RELEASE_LOCK('bench:%s'),0) WHERE kind='l' AND "
        "name='%s' AND token='%032zx'",
        name, name, number);
    expect_one_row(text);
}

static void pairs(const line *asked)
{
    diary times = {NULL, 0, 0};
    char text[TEXT];
    int64_t began, ends, ended;
    double cpu;

    if (strcmp(asked->word[2], "1") != 0)
        die("sql: one caller only", asked->word[2]);
    snprintf(text, sizeof text,
             "INSERT IGNORE INTO ilk_lock (kind,name,value) "
             "VALUES ('l','%s','')",
             asked->word[1]);
    send(text);
    cpu = cpu_seconds();
    began = now_ns();
    ends = began + ns_of(asked->word[3]);
    for (int64_t from = began; from < ends; from = ended) {
        acquire(asked->word[1], times.count);
        release(asked->word[1], times.count);
        ended = now_ns();
        note(&times, ended - from);
    }
    print_pairs(&times, times.count, (double)(now_ns() - began) / 1e9,
                cpu_seconds() - cpu);
}

int main(int argc, char **argv)
{
    line asked;

    if (argc != 6)
        die("usage", "sql HOST PORT USER PASSWORD DATABASE");
    server = mysql_init(NULL);
    if (!server
        || !mysql_real_connect(server, argv[1], argv[3], argv[4], argv[5],
                               (unsigned)atoi(argv[2]), NULL, 0))
        die("sql", server ? mysql_error(server) : "out of memory");
    answer("\"ready\"");
    while (hear(&asked)) {
        if (!says(&asked, "pairs"))
            die("sql: unknown verb", asked.word[0]);
        pairs(&asked);
    }
    mysql_close(server);
    return 0;
}
