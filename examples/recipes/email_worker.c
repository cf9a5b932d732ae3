/* SPDX-License-Identifier: MIT */
/* Send the e-mails that others queued, until Ctrl-C.
 *
 *   cc email_worker.c -o email_worker $(pkg-config --cflags --libs interlock)
 *   ./email_worker                    in some terminals
 *   ./email_producer 17 4 97 23       in another
 *
 * When a worker is killed, another one sends its e-mail. One that
 * cannot be sent (try seller 0) goes to `ilk:recipes:dead:{queue:email}`. */
#define _POSIX_C_SOURCE 200112L
#include <interlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t quit;

static void on_interrupt(int number)
{
    (void)number;
    quit = 1;
}

/* A JSON library does this for values that are not all numbers. */
static long field(const char *packed, const char *name)
{
    const char *at = strstr(packed, name);

    at = at ? strchr(at, ':') : NULL;
    return at ? strtol(at + 1, NULL, 10) : 0;
}

/* Where a real program talks to a mail server. */
static int fetch_data_and_send_sold_email(const char *packed)
{
    return field(packed, "\"seller_id\"") != 0;
}

static ilk_status process(ilk_consumer *consumer, ilk_error *err)
{
    ilk_items *found = NULL;
    const char *packed;
    int sent;
    ilk_status st = ilk_consumer_pop(&found, consumer, 1000, err);

    if (st == ILK_ETIMEOUT || st == ILK_EINTR)
        return ILK_OK;
    if (st != ILK_OK)
        return st;
    packed = ilk_items_data(found, 1, NULL);
    sent = fetch_data_and_send_sold_email(packed);
    printf(sent ? "sent item %ld\n" : "failed item %ld: there is no seller 0\n",
           field(packed, "\"item_id\""));
    fflush(stdout);
    ilk_items_free(found);
    return ilk_consumer_settle(consumer,
                               sent ? ILK_RECIPES_DONE : ILK_RECIPES_DEAD, err);
}

int main(void)
{
    const void *queues[] = {"queue:email"};
    const size_t lens[] = {11};
    struct sigaction act;
    ilk_client *client = NULL;
    ilk_consumer *consumer = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);

    memset(&act, 0, sizeof act);
    act.sa_handler = on_interrupt;
    sigaction(SIGINT, &act, NULL);
    if (st == ILK_OK)
        st = ilk_consumer_open(&consumer, client, queues, lens, 1, &err);
    while (!quit && st == ILK_OK)
        st = process(consumer, &err);
    if (consumer)
        ilk_consumer_leave(consumer, NULL);
    if (!quit)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_consumer_free(consumer);
    ilk_client_free(client);
    return quit ? 0 : 1;
}
