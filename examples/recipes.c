/* SPDX-License-Identifier: MIT */
/*
 * The well-known functions in a program: each verb is one side of an example.
 * See recipes.py for the verbs; this one takes the same and prints the same.
 *
 *     cc recipes.c -o recipes $(pkg-config --cflags --libs interlock)
 */
#define _POSIX_C_SOURCE 200809L

#include <interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STR(text) text, strlen(text)

static ilk_client *client;
static ilk_error err;

/* End the program unless it worked. */
static void must(ilk_status status)
{
    if (status == ILK_OK)
        return;
    fprintf(stderr, "recipes: %s\n", err.msg);
    exit(1);
}

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

/* Print one of the values, or that there is none. */
static void show(ilk_items *items, size_t index)
{
    const char *data = ilk_items_data(items, index, NULL);

    say(data ? data : "nothing");
    ilk_items_free(items);
}

static void pause_for(double seconds)
{
    struct timespec left = {(time_t)seconds,
                            (long)((seconds - (time_t)seconds) * 1e9)};

    nanosleep(&left, NULL);
}

/* ---- signals ------------------------------------------------------------ */

static void wait_for(const char *channel, const char *id)
{
    ilk_listener *listener;
    ilk_items *items;

    must(ilk_listener_open(&listener, client, STR(channel), id,
                           id ? strlen(id) : 0, &err));
    must(ilk_listener_wait(&items, listener, -1, &err));
    must(ilk_listener_leave(NULL, NULL, listener, 0, &err));
    show(items, 1);
    ilk_listener_free(listener);
}

static void signal_to(const char *channel, int single, const char *data)
{
    int64_t heard;

    must(ilk_recipes_signal(&heard, client, STR(channel), single, STR(data),
                            &err));
    printf("%d\n", (int)heard);
}

/* ---- queues ------------------------------------------------------------- */

static void push(const char *kind, const char *queue, const char *data)
{
    int end = strcmp(kind, "task") == 0 ? ILK_RECIPES_TAIL : ILK_RECIPES_HEAD;

    if (strcmp(kind, "delayed") == 0)
        must(ilk_recipes_delay(client, STR(queue), 200, STR(data), &err));
    else
        must(ilk_recipes_push(NULL, client, STR(queue), end, STR(data), &err));
}

static void pop_safely(const char *queue)
{
    char cache[256], token[64];
    ilk_items *items;

    snprintf(cache, sizeof cache, "%s:cache", queue);
    must(ilk_recipes_park(&items, client, STR(queue), STR(cache), &err));
    if (ilk_items_count(items) == 0) {
        ilk_items_free(items);
        return;
    }
    snprintf(token, sizeof token, "%s", ilk_items_data(items, 1, NULL));
    show(items, 0);
    must(ilk_recipes_unpark(client, STR(cache), STR(token), &err));
}

static void pop(const char *kind, const char *queue)
{
    int end = strcmp(kind, "fifo") == 0 ? ILK_RECIPES_TAIL : ILK_RECIPES_HEAD;
    ilk_items *items;

    if (strcmp(kind, "safe") == 0) {
        pop_safely(queue);
    } else if (strcmp(kind, "delayed") == 0) {
        must(ilk_recipes_due(&items, NULL, client, STR(queue), &err));
        for (size_t i = 0; i < ilk_items_count(items); i++)
            say(ilk_items_data(items, i, NULL));
        ilk_items_free(items);
    } else {
        must(ilk_recipes_pop(&items, client, STR(queue), end, &err));
        show(items, 0);
    }
}

/* ---- master and semaphore ----------------------------------------------- */

static void master(int times)
{
    int64_t selector = 0;

    while (times--) {
        must(ilk_recipes_master(&selector, client, STR("master_selector"), NULL,
                                0, selector, 20000, &err));
        say(selector ? "leads" : "follows");
        pause_for(0.2);
    }
}

static void semaphore(const char *name, int limit, double seconds)
{
    ilk_items *permit;
    const char *id;
    ilk_status st =
        ilk_recipes_permit(&permit, client, STR(name), limit, 10000, &err);

    if (st == ILK_EBUSY) {
        say("full");
        return;
    }
    must(st);
    say("holds");
    id = ilk_items_data(permit, 0, NULL);
    pause_for(seconds);
    must(ilk_recipes_permit_refresh(client, STR(name), STR(id), &err));
    must(ilk_recipes_permit_release(client, STR(name), STR(id), &err));
    say("released 1");
    ilk_items_free(permit);
}

/* ---- workers ------------------------------------------------------------ */

static void sell(char **word)
{
    char data[512];

    snprintf(data, sizeof data,
             "{\"seller_id\": \"%s\", \"item_id\": \"%s\", \"price\": \"%s\", "
             "\"buyer_id\": \"%s\", \"time\": %ld}",
             word[0], word[1], word[2], word[3], (long)time(NULL));
    push("task", "queue:email", data);
}

/* A JSON library's work; enough for what these programs write. */
static const char *field(const char *packed, const char *name, char *out)
{
    char mark[64];
    const char *at;

    snprintf(mark, sizeof mark, "\"%s\": \"", name);
    at = strstr(packed, mark);
    if (!at || sscanf(at + strlen(mark), "%63[^\"]", out) != 1)
        strcpy(out, "?");
    return out;
}

/* 1 when it could be handled. */
static int send_mail(const char *queue, const char *packed)
{
    char seller[64], buyer[64], item[64];

    (void)queue;
    printf("to %s: %s bought %s\n", field(packed, "seller_id", seller),
           field(packed, "buyer_id", buyer), field(packed, "item_id", item));
    return 1;
}

static int greet(const char *queue, const char *packed)
{
    char who[64];

    (void)queue;
    if (sscanf(packed, "[\"greet\", [\"%63[^\"]\"]]", who) != 1)
        return 0; /* an unknown name */
    printf("hello %s\n", who);
    return 1;
}

static int tell(const char *queue, const char *message)
{
    printf("%s %s\n", queue, message);
    return 1;
}

/* Handle so many messages of the first list that has one. */
static void consume(const char *const *queues, size_t count, int messages,
                    int (*handle)(const char *queue, const char *message))
{
    const void *names[3];
    size_t lens[3];
    ilk_consumer *consumer;

    for (size_t i = 0; i < count; i++) {
        names[i] = queues[i];
        lens[i] = strlen(queues[i]);
    }
    must(ilk_consumer_open(&consumer, client, names, lens, count, &err));
    while (messages > 0) {
        ilk_items *items;
        int handled;

        must(ilk_consumer_pop(&items, consumer, -1, &err));
        handled = handle(ilk_items_data(items, 0, NULL),
                         ilk_items_data(items, 1, NULL));
        fflush(stdout);
        ilk_items_free(items);
        /* Only now is it gone from the server. */
        must(ilk_consumer_settle(
            consumer, handled ? ILK_RECIPES_DONE : ILK_RECIPES_DEAD, &err));
        messages -= handled;
    }
    must(ilk_consumer_leave(consumer, &err));
    ilk_consumer_free(consumer);
}

static void job(char **word)
{
    char data[256];

    snprintf(data, sizeof data, "[\"%s\", [\"%s\"]]", word[1], word[2]);
    push("task", word[0], data);
}

static int run(const char *verb, char **word)
{
    static const char *const levels[] = {"queue:high", "queue:medium",
                                         "queue:low"};
    static const char *const email = "queue:email";
    const char *queue = word[0];

    if (strcmp(verb, "wait") == 0)
        wait_for(word[0], NULL);
    else if (strcmp(verb, "wait-single") == 0)
        wait_for(word[0], word[1]);
    else if (strcmp(verb, "signal") == 0)
        signal_to(word[0], 0, word[1]);
    else if (strcmp(verb, "signal-single") == 0)
        signal_to(word[0], 1, word[1]);
    else if (strcmp(verb, "push") == 0)
        push(word[0], word[1], word[2]);
    else if (strcmp(verb, "pop") == 0)
        pop(word[0], word[1]);
    else if (strcmp(verb, "master") == 0)
        master(atoi(word[0]));
    else if (strcmp(verb, "semaphore") == 0)
        semaphore(word[0], atoi(word[1]), atof(word[2]));
    else if (strcmp(verb, "sell") == 0)
        sell(word);
    else if (strcmp(verb, "mail") == 0)
        consume(&email, 1, atoi(word[0]), send_mail);
    else if (strcmp(verb, "job") == 0)
        job(word);
    else if (strcmp(verb, "work") == 0)
        consume(&queue, 1, atoi(word[1]), greet);
    else if (strcmp(verb, "urgent") == 0)
        consume(levels, 3, atoi(word[0]), tell);
    else
        return 64;
    return 0;
}

int main(int argc, char **argv)
{
    int status;

    if (argc < 3)
        return 64;
    must(ilk_client_open(&client, NULL, NULL, &err));
    status = run(argv[1], argv + 2);
    ilk_client_free(client);
    return status;
}
