/* SPDX-License-Identifier: MIT */
/* started.c -- an event loop for the tests of started operations. */
#include "started.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { TOLD = 32768, LIMIT_MS = 10000, A_WHILE_MS = 100 };

/* The client is known by its identity: the address of a freed one is used
 * again. */
typedef struct told {
    char client[24];
    int64_t id;
    int32_t status;
} told;

/* Ends that were reported, and that nobody has read yet. */
static told ends[TOLD];
static size_t end_count;

/* The beginning of a message about a row. */
static const char *of_row(void)
{
    static char text[80];

    snprintf(text, sizeof text, "%s%s", row_name ? row_name : "",
             row_name ? ": " : "");
    return text;
}

static void keep(const ilk_client *client, const ilk_notification *notification)
{
    assert_in_range(end_count, 0, TOLD - 1);
    snprintf(ends[end_count].client, sizeof ends->client, "%s",
             ilk_client_id(client));
    ends[end_count].id = notification->id;
    ends[end_count++].status = notification->status;
}

/* How often it was reported, which is forgotten then. */
static int take(const ilk_client *client, int64_t id, int32_t *out_status)
{
    size_t left = 0;
    int taken = 0;

    for (size_t i = 0; i < end_count; i++)
        if (ends[i].id == id
            && strcmp(ends[i].client, ilk_client_id(client)) == 0) {
            *out_status = ends[i].status;
            taken++;
        } else {
            ends[left++] = ends[i];
        }
    end_count = left;
    return taken;
}

static int fetch(ilk_client *client)
{
    ilk_notification notification = {.size = sizeof notification};
    int ended = 0;

    while (ilk_client_next_notification(client, &notification, NULL) == ILK_OK)
        if (notification.kind == ILK_NOTIFICATION_DONE) {
            keep(client, &notification);
            ended++;
        }
    return ended;
}

int turn(ilk_client *client, int timeout_ms)
{
    struct pollfd pfd = {.events = POLLIN};

    /* A closed client has none, but ends to be fetched. */
    if (ilk_client_notification_fd(client, &pfd.fd, NULL) == ILK_OK)
        (void)poll(&pfd, 1, timeout_ms);
    return fetch(client);
}

void turn_for(ilk_client *client, int64_t ms)
{
    int64_t end = fixture_now_ms() + ms, left;

    while ((left = end - fixture_now_ms()) > 0)
        (void)turn(client, (int)left);
}

void turn_until(ilk_client *client, const char *expected, const char *format,
                ...)
{
    int64_t limit = fixture_now_ms() + patience(LIMIT_MS);
    char command[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    while (strcmp(fixture_command(&fx, "%s", command), expected) != 0) {
        if (fixture_now_ms() > limit)
            fail_msg("%s%s: expected %s, got %s", of_row(), command, expected,
                     fx.reply);
        (void)turn(client, 5);
    }
}

void assert_ended_at(ilk_status expected, ilk_client *client, ilk_op *op,
                     const char *file, int line)
{
    int64_t limit = fixture_now_ms() + patience(LIMIT_MS);
    ilk_error err = {0};
    ilk_status st;
    int32_t how = ILK_OK;
    int times = 0;

    while (!(times = take(client, ilk_op_id(op), &how))
           && fixture_now_ms() < limit)
        (void)turn(client, 20);
    st = ilk_op_status(op, &err);
    if (times == 1 && st == expected && how == (int32_t)expected)
        return;
    print_error("%sexpected %s, got %s: %s; notified %d times: %s\n", of_row(),
                ilk_status_name(expected), ilk_status_name(st), err.msg, times,
                ilk_status_name((ilk_status)how));
    _fail(file, line);
}

void assert_under_way_at(ilk_client *client, ilk_op *op, const char *file,
                         int line)
{
    int32_t how;

    turn_for(client, A_WHILE_MS);
    if (ilk_op_status(op, NULL) == ILK_EAGAIN
        && take(client, ilk_op_id(op), &how) == 0)
        return;
    print_error("%snot under way any more: %s\n", of_row(),
                ilk_status_name(ilk_op_status(op, NULL)));
    _fail(file, line);
}
