/* SPDX-License-Identifier: MIT */
/*
 * fuzz_announcements.c -- any bytes as what a sentinel sends to the client that listens
 * to it: the service's state, its primary, and announcements of switches.
 *
 * The connection is played. A switch is believed only to an address that is one, that
 * hosts= allows, and that the reply or message names; and the listener always is at one
 * of the sentinels in the URL.
 */
/* link: -Wl,--wrap=ilk__async_conn_next,--wrap=ilk__async_conn_send,--wrap=ilk__async_conn_break,--wrap=ilk__primary_switched */
#include "fuzz.h"

#include "client/switch_listener.h"
#include "net/url_sentinels.h"
#include "redis/sentinel.h"

enum { SENTINELS = 3, REPLIES_MOST = 1000 };

static const char text[] = "redis+sentinel://a,b,c/mymaster",
                  narrow[] = "redis+sentinel://a,b,c/mymaster"
                             "?hosts=10.0.*,*.example.com";

static fuzz_input input;
static struct redisReader *reader;
static int replies, switches;
static ilk__url url;

ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *connection,
                                                   ilk__reply **out);
ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *connection,
                                       const ilk__command *command,
                                       ilk__expected_reply *out);
void __wrap_ilk__async_conn_break(ilk__async_conn *connection, const char *why);
void __wrap_ilk__primary_switched(ilk__primary *primary, unsigned sentinel,
                                  const char *host, int port);
void __real_ilk__primary_switched(ilk__primary *primary, unsigned sentinel,
                                  const char *host, int port);

/* The next bytes of the input. ILK_EAGAIN: there are none. */
static ilk_status feed(void)
{
    const size_t len = 1 + fuzz_pick(&input, 200),
                 some = len < input.left ? len : input.left;
    ilk_status st;

    if (!some)
        return ILK_EAGAIN;
    st = ilk__reader_feed(reader, input.at, some, NULL);
    input.at += some;
    input.left -= some;
    return st;
}

/* The connection comes up when it is wanted, and is lost when the bytes are no reply. */
ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *connection,
                                                   ilk__reply **out)
{
    ilk_status st;

    if (++replies > REPLIES_MOST)
        return ILK__ASYNC_CONN_NOTHING;
    if (!connection->up && (!connection->wanted || !input.left))
        return ILK__ASYNC_CONN_NOTHING;
    if (!connection->up) {
        connection->up = 1;
        return ILK__ASYNC_CONN_CAME_UP;
    }
    while ((st = ilk__reader_next(reader, out, NULL)) == ILK_EAGAIN)
        if ((st = feed()) != ILK_OK)
            break;
    if (st == ILK_OK)
        return ILK__ASYNC_CONN_REPLY;
    if (st == ILK_EAGAIN)
        return ILK__ASYNC_CONN_NOTHING;
    __wrap_ilk__async_conn_break(connection, "no reply");
    return ILK__ASYNC_CONN_LOST;
}

ilk_status __wrap_ilk__async_conn_send(ilk__async_conn *connection,
                                       const ilk__command *command,
                                       ilk__expected_reply *out)
{
    (void)command, (void)out;
    CHECK(connection->up);
    return ILK_OK;
}

/* The next connection has none of the bytes that came on this one. */
void __wrap_ilk__async_conn_break(ilk__async_conn *connection, const char *why)
{
    (void)why;
    connection->up = 0;
    ilk__reader_free(reader);
    reader = ilk__reader_new();
    CHECK(reader != NULL);
}

void __wrap_ilk__primary_switched(ilk__primary *primary, unsigned sentinel,
                                  const char *host, int port)
{
    const char *patterns = url.sentinels->patterns;

    CHECK(sentinel < SENTINELS);
    CHECK(ilk__url_is_host(host) && port > 0 && port < 65536);
    CHECK(!patterns || ilk__announced_matches(patterns, host)
          || strspn(host, "abc") == 1);
    switches++;
    __real_ilk__primary_switched(primary, sentinel, host, port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ilk__primary primary;
    ilk__switch_listener *listener;
    ilk__target target = {.url = &url, .name = "n", .primary = &primary};

    input = (fuzz_input){data, size};
    memset(&primary, 0, sizeof primary);
    CHECK(ilk__url_parse(&url, fuzz_pick(&input, 2) ? narrow : text, NULL)
          == ILK_OK);
    primary.announced.patterns = url.sentinels->patterns;
    reader = ilk__reader_new();
    listener = ilk__switch_listener_new(&target);
    CHECK(reader && listener);
    replies = switches = 0;
    while (input.left && replies <= REPLIES_MOST) {
        const int before = switches,
                  is_news = ilk__switch_listener_run(listener);

        CHECK(!is_news || switches > before);
        if (!ilk__switch_listener_connection(listener)->wanted)
            break;
    }
    CHECK(atomic_load(&primary.switches) == (uint32_t)switches);
    ilk__switch_listener_free(listener);
    ilk__reader_free(reader);
    ilk__url_free(&url);
    return 0;
}
