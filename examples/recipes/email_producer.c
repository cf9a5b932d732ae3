/* SPDX-License-Identifier: MIT */
/* Have an e-mail sent by one of the workers.
 *
 *   cc email_producer.c -o email_producer \
 *       $(pkg-config --cflags --libs interlock)
 *   ./email_worker                    in a terminal
 *   ./email_producer 17 4 97 23       in another: seller item price buyer
 *
 * It is put on a list as JSON, for a worker of any kind. */
#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char QUEUE[] = "queue:email";

static ilk_status send_sold_email_via_queue(ilk_client *client, long seller,
                                            long item, long price, long buyer,
                                            ilk_error *err)
{
    char data[256];

    /* A JSON library does this for values that are not all numbers. */
    snprintf(data, sizeof data,
             "{\"seller_id\": %ld, \"item_id\": %ld, \"price\": %ld,"
             " \"buyer_id\": %ld, \"time\": %lld}",
             seller, item, price, buyer, (long long)time(NULL));
    return ilk_recipes_push(NULL, client, QUEUE, sizeof QUEUE - 1,
                            ILK_RECIPES_TAIL, data, strlen(data), err);
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st;
    long ids[4];
    int i;

    if (argc != 5)
        return 2;
    for (i = 0; i < 4; i++)
        ids[i] = strtol(argv[i + 1], NULL, 10);
    st = ilk_client_open(&client, NULL, NULL, &err);
    if (st == ILK_OK)
        st = send_sold_email_via_queue(client, ids[0], ids[1], ids[2], ids[3],
                                       &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
