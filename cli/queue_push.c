/* SPDX-License-Identifier: MIT */
/* queue_push.c -- `interlock queue push`: one message, or one per line. */
#include "queue.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_id(const struct cli_queue *with, int64_t id)
{
    struct cli_json json;

    if (!with->args->json)
        return;
    cli_json_begin(&json, "queue", &with->name);
    cli_json_int(&json, "id", id);
    cli_json_end(&json);
}

int cli_queue_push(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    struct cli_bytes data;
    int64_t id = 0;
    ilk_status st;
    int status;

    if (with->lines)
        return cli_queue_push_lines(with);
    status = cli_payload_take(with->word ? with->word : "-", ILK_QUEUE_DATA_MAX,
                              &data);
    if (status != CLI_OK)
        return status;
    st = ilk_queue_push(&id, with->queue, data.data, data.len, &with->push,
                        &err);
    cli_payload_free(&data);
    if (st != ILK_OK)
        return cli_fail(st, &err);
    print_id(with, id);
    return CLI_OK;
}

/* ---- line by line ------------------------------------------------------- */

struct input {
    char *data;
    size_t len, room; /* bytes read, and room for them */
    size_t taken;     /* of them: the lines before */
    int at_end;
};

/* Read more behind what is there. 0, or an exit status; a signal ends it. */
static int read_more(struct input *input)
{
    struct cli_signal came;
    ssize_t got;

    if (input->taken > 0) {
        input->len -= input->taken;
        memmove(input->data, input->data + input->taken, input->len);
        input->taken = 0;
    }
    if (input->len == input->room) {
        size_t room = input->room ? input->room * 2 : 65536;
        char *data = realloc(input->data, room);

        if (!data) {
            cli_say("out of memory");
            return CLI_SYSTEM;
        }
        input->data = data;
        input->room = room;
    }
    do {
        while (cli_signals_next(&came)) {
            if (came.number == SIGTSTP)
                cli_signals_stop();
        }
        if (cli_signals_ending())
            return cli_signals_status(cli_signals_ending());
        got = read(STDIN_FILENO, input->data + input->len,
                   input->room - input->len);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        cli_say("cannot read standard input: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    input->len += (size_t)got;
    input->at_end = got == 0;
    return CLI_OK;
}

/* The next line without its newline, which the last line may lack; data is NULL
   after the last. 0, or an exit status. */
static int next_line(struct input *input, struct cli_bytes *out)
{
    size_t searched = 0;
    int status;

    for (;;) {
        size_t left = input->len - input->taken;
        const char *line = left ? input->data + input->taken : NULL;
        const char *end =
            line ? memchr(line + searched, '\n', left - searched) : NULL;

        if (end || (input->at_end && line)) {
            *out = (struct cli_bytes){line, end ? (size_t)(end - line) : left};
            input->taken += out->len + (end != NULL);
            return CLI_OK;
        }
        *out = (struct cli_bytes){NULL, 0};
        if (input->at_end)
            return CLI_OK;
        if (left > ILK_QUEUE_DATA_MAX) {
            cli_say("a line is longer than %d bytes", ILK_QUEUE_DATA_MAX);
            return CLI_USAGE;
        }
        searched = left;
        status = read_more(input);
        if (status != CLI_OK)
            return status;
    }
}

/* Each line is pushed as soon as it is read, because standard input may be a
   pipe that never ends. After a failure the lines before are in the queue. */
int cli_queue_push_lines(struct cli_queue *with)
{
    struct input input = {NULL, 0, 0, 0, 0};
    struct cli_bytes line;
    ilk_error err = {0, ""};
    int64_t id = 0, number = 0;
    ilk_status st = ILK_OK;
    int status;

    if (with->word)
        return cli_usage(with->args, "--lines reads standard input");
    while ((status = next_line(&input, &line)) == CLI_OK && line.data) {
        number++;
        st = ilk_queue_push(&id, with->queue, line.data, line.len, &with->push,
                            &err);
        if (st != ILK_OK)
            break;
        print_id(with, id);
    }
    if (st != ILK_OK) {
        status = cli_fail(st, &err);
        cli_say("line %" PRId64 " is not in the queue", number);
    }
    free(input.data);
    return status;
}
