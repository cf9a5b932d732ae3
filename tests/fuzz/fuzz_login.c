/* SPDX-License-Identifier: MIT */
/*
 * fuzz_login.c -- any replies to the first commands of a connection.
 *
 * The first byte chooses a URL and whether a broken connection is replaced; the
 * rest is what the server sends. A login that succeeds knows its protocol and,
 * unless the server refused CLIENT ID, got the same id at the end as before; the
 * commands are whole, and no error text has the password.
 */
#include "fuzz.h"

#include "redis/command.h"
#include "redis/login.h"

enum { ROUNDS = 4, OLD_ID = 77 };

#define PASSWORD "sesame-open"

static void open_url(ilk__url *url, uint8_t choice)
{
    static const char *const texts[] = {
        "redis://localhost", "redis://localhost/3",
        "redis://:" PASSWORD "@localhost",
        "redis://user:" PASSWORD "@localhost/3?protocol=2"};

    CHECK(ilk__url_parse(url, texts[choice % 4], NULL) == ILK_OK);
}

/* Whole commands and nothing else; returns how many. */
static int check_commands(ilk__buf *out)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply;
    int count = 0;

    CHECK(reader != NULL);
    CHECK(ilk__reader_feed(reader, ilk__buf_data(out), ilk__buf_len(out), NULL)
          == ILK_OK);
    while (ilk__reader_next(reader, &reply, NULL) == ILK_OK) {
        CHECK(reply->type == ILK__REPLY_ARRAY && reply->count > 0);
        ilk__reply_free(reply);
        count++;
    }
    ilk__reader_free(reader);
    ilk__buf_drop(out, ilk__buf_len(out));
    return count;
}

/* Servers repeat the arguments of a command that they do not know; these must
 * not be shown. A server that has the password elsewhere in its text shows it. */
static int shows_password(const ilk__reply *reply)
{
    const char *text = reply->type == ILK__REPLY_ERROR ? reply->str : "";
    const char *arguments = strstr(text, ", with args beginning with");
    const char *password = strstr(text, PASSWORD);

    return password && (!arguments || password < arguments);
}

static void check_end(const ilk__login *login, ilk_status status,
                      const ilk_error *err, int shown)
{
    CHECK(login->identity.id >= 0);
    if (status == ILK_OK) {
        CHECK(login->protocol == 2 || login->protocol == 3);
        CHECK(login->answered == login->sent_count);
    } else {
        CHECK(err->code == status && err->msg[0] != '\0');
        CHECK(shown || strstr(err->msg, PASSWORD) == NULL);
    }
}

static void run(ilk__login *login, struct redisReader *reader, ilk__buf *out)
{
    ilk_status status = ILK_EAGAIN;
    ilk_error err = {0};
    ilk__reply *reply;
    int rounds = 1, shown = 0;

    while (status == ILK_EAGAIN
           && ilk__reader_next(reader, &reply, NULL) == ILK_OK) {
        login->now += 1000;
        status = ilk__login_reply(login, reply, out, &err);
        shown = shows_password(reply);
        ilk__reply_free(reply);
        if (ilk__buf_len(out) > 0) {
            rounds++;
            CHECK(status == ILK_EAGAIN);
            CHECK(check_commands(out) == login->sent_count);
        }
        CHECK(rounds <= ROUNDS);
    }
    if (status != ILK_EAGAIN)
        check_end(login, status, &err, shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    uint8_t choice = fuzz_byte(&in);
    const ilk__conn_identity old = {.id = OLD_ID, .since = 5000};
    struct redisReader *reader = ilk__reader_new();
    ilk__buf out = {0};
    ilk__login login;
    ilk__url url;

    CHECK(reader != NULL);
    open_url(&url, choice);
    CHECK(ilk__login_start(&login, &url, choice & 8 ? "" : "interlock-1",
                           choice & 4 ? &old : NULL, &out, NULL)
          == ILK_OK);
    login.now = 20000;
    CHECK(check_commands(&out) == login.sent_count);
    if (ilk__reader_feed(reader, in.at, in.left, NULL) == ILK_OK)
        run(&login, reader, &out);
    ilk__buf_free(&out);
    ilk__url_free(&url);
    ilk__reader_free(reader);
    return 0;
}
