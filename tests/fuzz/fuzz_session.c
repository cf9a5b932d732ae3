/* SPDX-License-Identifier: MIT */
/*
 * fuzz_session.c -- two connections of the core to the gateway, on which any bytes come,
 * or commands as the core sends them, while the backend replies in any order, late, with
 * an error, or breaks a connection.
 *
 * The gateway's thread and the store are played. A session sends whole replies
 * and messages; one reply leaves for each command, in order; requests with one token are
 * never at the backend together; nothing is left when all is over.
 */
#include "fuzz.h"

#include "gateway/gateway_internal.h"

#include "base/alloc.h"
#include "base/descriptor.h"
#include "net/dial.h"
#include "redis/script.h"

#include <sys/socket.h>

enum { SESSIONS = 2, PENDING_MOST = 64, STEPS_MOST = 300, BYTES_MOST = 2000 };

static ilk__gateway gateway;
static ilk__gateway_request *pending[PENDING_MOST]; /* at the backend */
static size_t pending_count;
static int peers[SESSIONS]; /* the core's ends */
static struct redisReader *readers[SESSIONS];
static int is_mute; /* at the end the backend replies at once */

/* ---- the store ----------------------------------------------------------- */

static const ilk__reply *token_of(const ilk__gateway_request *request)
{
    const int index = request->script == ILK__SCRIPT_NONE
                          ? 0
                          : ilk__scripts[request->script].token;

    return index ? request->args[index - 1] : NULL;
}

/* In this order nothing that waits for the token is begun. */
static void check_alone(const ilk__gateway_request *request)
{
    const ilk__reply *token = token_of(request), *other;

    for (size_t i = 0; token && token->len && i < pending_count; i++) {
        other = token_of(pending[i]);
        CHECK(!other || other->len != token->len
              || memcmp(other->str, token->str, token->len) != 0);
    }
}

static void call(void *self, ilk__gateway_request *request)
{
    (void)self;
    CHECK(request->script != ILK__SCRIPT_NONE);
    check_alone(request);
    if (is_mute || pending_count == PENDING_MOST)
        ilk__gateway_reply_error(request, "ILKDOWN no room");
    else
        pending[pending_count++] = request;
}

static void command(void *self, ilk__gateway_request *request)
{
    (void)self;
    CHECK(request->arg_count > 0);
    if (is_mute || pending_count == PENDING_MOST)
        ilk__gateway_reply_error(request, "ILKDOWN no room");
    else
        pending[pending_count++] = request;
}

static void subscribe(void *self, ilk__span channel, int is_pattern, int begins)
{
    (void)self, (void)channel, (void)is_pattern, (void)begins;
}

static const ilk__backend store = {.store = "the fuzzed store",
                                   .call = call,
                                   .command = command,
                                   .subscribe = subscribe};

/* ---- the gateway --------------------------------------------------------- */

static void close_session(size_t index)
{
    ilk__session *session = gateway.sessions[index];

    gateway.sessions[index] = NULL;
    ilk__session_free(session);
}

static void open_session(size_t index)
{
    int fds[2];

    CHECK(ilk__dial_pair(fds) == 0);
    peers[index] = fds[0];
    gateway.sessions[index] = ilk__session_new(&gateway, fds[1]);
    readers[index] = ilk__reader_new();
    CHECK(gateway.sessions[index] && readers[index]);
    gateway.sessions[index]->slot = index;
    gateway.sessions[index]->id = ++gateway.last_id;
}

/* All that was sent consists of whole replies, once the session has sent it all. */
static void read_replies(size_t index)
{
    char bytes[4096];
    ilk__reply *reply;
    ssize_t n;

    while ((n = recv(peers[index], bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        CHECK(ilk__reader_feed(readers[index], bytes, (size_t)n, NULL)
              == ILK_OK);
    for (;;) {
        const ilk_status st = ilk__reader_next(readers[index], &reply, NULL);

        CHECK(st == ILK_OK || st == ILK_EAGAIN);
        if (st != ILK_OK)
            return;
        ilk__reply_free(reply);
    }
}

static void run(void)
{
    do {
        ilk__gateway_run_ready(&gateway);
        for (size_t i = 0; i < SESSIONS; i++)
            if (gateway.sessions[i])
                ilk__session_collect(gateway.sessions[i]);
        for (size_t i = 0; i < SESSIONS; i++) {
            ilk__session *session = gateway.sessions[i];

            if (session && !session->broken && ilk__session_send(session))
                i = (size_t)-1; /* it has taken more commands */
            else if (session)
                read_replies(i);
        }
        for (size_t i = 0; i < SESSIONS; i++)
            if (gateway.sessions[i] && gateway.sessions[i]->broken)
                close_session(i);
    } while (gateway.ready);
}

/* ---- the input ----------------------------------------------------------- */

static void send_text(size_t index, const char *text, size_t len)
{
    ilk__session *session = gateway.sessions[index];

    if (session->request_count == ILK__SESSION_REQUESTS)
        return;
    (void)!send(peers[index], text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    ilk__session_receive(session, POLLIN);
}

static size_t put_word(char *out, size_t room, const char *word, size_t len)
{
    const int head = snprintf(out, room, "$%zu\r\n", len);

    memcpy(out + head, word, len);
    memcpy(out + head + len, "\r\n", 2);
    return (size_t)head + len + 2;
}

/* EVALSHA of any script, with as many keys and arguments as it takes: short words, so
 * that some are equal. */
static void send_call(size_t index, fuzz_input *in)
{
    const ilk__script *script =
        &ilk__scripts[fuzz_byte(in) % ILK__SCRIPT_COUNT];
    const int sets = script->keys_multiple ? 1 + (int)fuzz_pick(in, 3) : 1;
    const int keys = script->keys * sets, args = script->args;
    char text[BYTES_MOST], word[8];
    size_t len =
        (size_t)snprintf(text, sizeof text, "*%d\r\n", keys + args + 4);

    if (keys + args > 60)
        return;
    len += put_word(text + len, sizeof text - len, "EVALSHA", 7);
    len += put_word(text + len, sizeof text - len, script->sha1,
                    strlen(script->sha1));
    snprintf(word, sizeof word, "%d", keys);
    len += put_word(text + len, sizeof text - len, word, strlen(word));
    for (int i = 0; i < keys + args; i++) {
        snprintf(word, sizeof word, "w%u", fuzz_pick(in, 4));
        len += put_word(text + len, sizeof text - len, word, strlen(word));
    }
    snprintf(word, sizeof word, "%u", fuzz_pick(in, 100));
    len += put_word(text + len, sizeof text - len, word, strlen(word));
    send_text(index, text, len);
}

static void send_line(size_t index, fuzz_input *in)
{
    static const char *const lines[] = {
        "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
        "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n",
        "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n",
        "*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$2\r\nID\r\n$1\r\n1\r\n",
        "*4\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n$2\r\nID\r\n$1\r\n2\r\n",
        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$4\r\na\r\nb\r\n",
        "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n",
        "*2\r\n$10\r\nPSUBSCRIBE\r\n$1\r\np\r\n",
        "*3\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\nc\r\n$1\r\nd\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "*1\r\n$4\r\nSCAN\r\n",
        "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n"};
    const char *line = lines[fuzz_pick(in, sizeof lines / sizeof lines[0])];

    send_text(index, line, strlen(line));
}

static void end_one(fuzz_input *in)
{
    const size_t at = fuzz_pick(in, (unsigned)pending_count);
    ilk__gateway_request *request = pending[at];

    pending[at] = pending[--pending_count];
    switch (fuzz_pick(in, 4)) {
    case 0: ilk__gateway_reply_error(request, "ERR any\r\ntext"); break;
    case 1: ilk__gateway_break(request); break;
    case 2: ilk__gateway_reply_text(request, "*1\r\n:7\r\n", 8); break;
    default: ilk__gateway_contact_made(request); break;
    }
}

static void publish(fuzz_input *in)
{
    const ilk__span channel = {"c", 1}, none = {NULL, 0}, pattern = {"p", 1};
    size_t len;
    char *message = fuzz_text(in, 100, &len);

    ilk__gateway_publish(&gateway, fuzz_pick(in, 2) ? pattern : none, channel,
                         (ilk__span){message, len});
    free(message);
}

static void step(fuzz_input *in)
{
    const size_t index = fuzz_pick(in, SESSIONS);
    size_t len;
    char *text;

    switch (fuzz_pick(in, 7)) {
    case 0:
        text = fuzz_text(in, 255, &len);
        if (gateway.sessions[index])
            send_text(index, text, len);
        free(text);
        break;
    case 1:
    case 2:
        if (gateway.sessions[index])
            send_call(index, in);
        break;
    case 3:
        if (gateway.sessions[index])
            send_line(index, in);
        break;
    case 4:
    case 5:
        if (pending_count)
            end_one(in);
        break;
    default: publish(in); break;
    }
    run();
}

static void end(void)
{
    is_mute = 1;
    for (size_t i = 0; i < SESSIONS; i++)
        if (gateway.sessions[i])
            close_session(i);
    while (pending_count)
        ilk__gateway_reply_error(pending[--pending_count], "ILKDOWN");
    ilk__gateway_run_ready(&gateway);
    CHECK(!gateway.orphans && !gateway.ready && !gateway.tokens.count);
    ilk__table_free(&gateway.tokens);
    for (size_t i = 0; i < SESSIONS; i++) {
        ilk__reader_free(readers[i]);
        ilk__descriptor_close(peers[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};

    memset(&gateway, 0, sizeof gateway);
    gateway.backend = &store;
    gateway.wakeup.fds[0] = gateway.wakeup.fds[1] = -1;
    is_mute = 0;
    for (size_t i = 0; i < SESSIONS; i++)
        open_session(i);
    for (int i = 0; in.left && i < STEPS_MOST; i++)
        step(&in);
    end();
    return 0;
}
