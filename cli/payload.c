/* SPDX-License-Identifier: MIT */
/* payload.c -- data of signals and messages, in and out, any bytes. */
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As read(), from standard input. Where signals are caught, one that asks to end ends
   this: -1 and EINTR. */
static ssize_t read_some(char *into, size_t room)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = cli_signals_fd(), .events = POLLIN}};
    ssize_t got = -1;

    do {
        fds[0].revents = 0;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return -1;
        cli_signals_drain();
        errno = EINTR;
        if (cli_signals_ending())
            return -1;
        if (fds[0].revents)
            got = read(STDIN_FILENO, into, room);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Standard input to its end, in new memory; one byte more than `most` is
   enough to see that it is too long. */
static int read_all(size_t most, struct cli_bytes *out)
{
    size_t room = most + 1, len = 0;
    char *data = malloc(room);
    ssize_t got = data ? 1 : -1;

    while (got > 0 && len < room) {
        got = read_some(data + len, room - len);
        if (got > 0)
            len += (size_t)got;
    }
    if (got < 0) {
        free(data);
        if (cli_signals_ending())
            return cli_signals_status(cli_signals_ending());
        cli_say("cannot read standard input: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    out->data = data;
    out->len = len;
    return CLI_OK;
}

int cli_payload_take(const char *word, size_t most, struct cli_bytes *out)
{
    *out = (struct cli_bytes){"", 0};
    if (word && strcmp(word, "-") == 0)
        return read_all(most, out);
    if (word)
        out->len = strlen(word);
    out->data = word ? strdup(word) : strdup("");
    if (out->data)
        return CLI_OK;
    cli_say("out of memory");
    return CLI_SYSTEM;
}

void cli_payload_free(struct cli_bytes *payload)
{
    free((char *)payload->data);
    payload->data = NULL;
}

/* As it is into a file or a pipe; a terminal gets it readable. */
void cli_payload_put(struct cli_bytes payload)
{
    if (isatty(STDOUT_FILENO)) {
        cli_put_text(stdout, payload.data, payload.len);
        putchar('\n');
        return;
    }
    fwrite(payload.data, 1, payload.len, stdout);
}
