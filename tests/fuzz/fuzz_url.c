/* SPDX-License-Identifier: MIT */
/*
 * fuzz_url.c -- any text as a URL.
 *
 * A URL that is accepted is written again from its parts, with all bytes
 * encoded that need not stand for themselves, and the parser must find the same
 * parts. No text that the parser returns has the password: neither `shown` nor
 * an error message.
 */
#include "fuzz.h"

#include "net/url_sentinels.h"

#include <interlock/base.h>

typedef struct writer {
    char text[40000];
    size_t len;
} writer;

static void put(writer *out, const char *text)
{
    size_t len = strlen(text);

    CHECK(out->len + len < sizeof out->text);
    memcpy(out->text + out->len, text, len + 1);
    out->len += len;
}

static void put_encoded(writer *out, const char *text)
{
    char digits[4];

    for (; *text; text++) {
        snprintf(digits, sizeof digits, "%%%02X", (unsigned)(uint8_t)*text);
        put(out, digits);
    }
}

static void put_number(writer *out, const char *before, int64_t number)
{
    char text[64];

    snprintf(text, sizeof text, "%s%lld", before, (long long)number);
    put(out, text);
}

static int is_tcp(const ilk__url *url)
{
    return url->scheme == ILK__SCHEME_TCP || url->scheme == ILK__SCHEME_TLS;
}

static void put_host(writer *out, const char *host, int port)
{
    put(out, strchr(host, ':') ? "[" : "");
    put_encoded(out, host);
    put(out, strchr(host, ':') ? "]" : "");
    put_number(out, ":", port);
}

static void put_authority(writer *out, const ilk__url *url)
{
    if (url->user)
        put_encoded(out, url->user);
    if (url->password) {
        put(out, ":");
        put_encoded(out, url->password);
    }
    if (url->user || url->password)
        put(out, "@");
    if (!is_tcp(url))
        return;
    if (!url->sentinels)
        put_host(out, url->host, url->port);
    for (size_t i = 0; url->sentinels && i < url->sentinels->count; i++) {
        put(out, i ? "," : "");
        put_host(out, url->sentinels->hosts[i], url->sentinels->ports[i]);
    }
}

/* Paths keep their first slash, which is not decoded. */
static void put_path(writer *out, const ilk__url *url)
{
    if (url->sentinels) {
        put(out, "/");
        put_encoded(out, url->sentinels->service);
    }
    if (is_tcp(url))
        put_number(out, "/", url->db);
    if (url->path) {
        put(out, "/");
        put_encoded(out, url->path + 1);
    }
}

static void put_query(writer *out, const ilk__url *url)
{
    const ilk__url_sentinels none = {0};
    const ilk__url_sentinels *sentinels =
        url->sentinels ? url->sentinels : &none;
    const struct {
        const char *key, *text;
        int64_t number;
    } all[] = {{"label", url->label, 0},
               {"listen", url->listen, 0},
               {"ca", url->ca, 0},
               {"cert", url->cert, 0},
               {"sentinel_user", sentinels->user, 0},
               {"hosts", sentinels->patterns, 0},
               {"sentinel_password_file", sentinels->password_file, 0},
               {"key", url->key, 0},
               {"connect_timeout_ms", NULL, url->connect_timeout_ms},
               {"reply_timeout_ms", NULL, url->reply_timeout_ms},
               {"protocol", NULL, url->protocol},
               {"db", NULL, is_tcp(url) ? 0 : url->db}};
    const char *separator = "?";

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i].text && !all[i].number)
            continue;
        put(out, separator);
        put(out, all[i].key);
        if (all[i].text) {
            put(out, "=");
            put_encoded(out, all[i].text);
        } else {
            put_number(out, "=", all[i].number);
        }
        separator = "&";
    }
}

static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_same_sentinels(const ilk__url_sentinels *a,
                                 const ilk__url_sentinels *b)
{
    CHECK(!a == !b);
    if (!a)
        return;
    CHECK(same_text(a->service, b->service) && a->count == b->count);
    CHECK(same_text(a->user, b->user));
    CHECK(same_text(a->password_file, b->password_file));
    for (size_t i = 0; i < a->count; i++)
        CHECK(same_text(a->hosts[i], b->hosts[i])
              && a->ports[i] == b->ports[i]);
}

static void check_same(const ilk__url *a, const ilk__url *b)
{
    check_same_sentinels(a->sentinels, b->sentinels);
    CHECK(a->scheme == b->scheme && a->port == b->port && a->db == b->db);
    CHECK(same_text(a->host, b->host));
    CHECK(same_text(a->path, b->path));
    CHECK(same_text(a->user, b->user));
    CHECK(same_text(a->label, b->label));
    CHECK(same_text(a->ca, b->ca) && same_text(a->cert, b->cert));
    CHECK(same_text(a->key, b->key) && same_text(a->listen, b->listen));
    CHECK(a->connect_timeout_ms == b->connect_timeout_ms);
    CHECK(a->reply_timeout_ms == b->reply_timeout_ms);
    CHECK(a->protocol == b->protocol);
}

static void check_written(const ilk__url *url)
{
    static const char *const schemes[] = {"redis://", "rediss://", "unix://",
                                          "embedded://"};
    static writer out;
    ilk__url again;

    out.len = 0;
    if (url->sentinels)
        put(&out, url->scheme == ILK__SCHEME_TLS ? "rediss+sentinel://"
                                                 : "redis+sentinel://");
    else
        put(&out, schemes[url->scheme]);
    put_authority(&out, url);
    put_path(&out, url);
    put_query(&out, url);
    if (out.len > 4096) /* the most that the parser accepts */
        return;
    CHECK(ilk__url_parse(&again, out.text, NULL) == ILK_OK);
    check_same(url, &again);
    CHECK(same_text(url->password, again.password));
    ilk__url_free(&again);
}

/* `shown` is a URL, too: with the same parts, but for the password. */
static void check_shown(const ilk__url *url)
{
    ilk__url again;

    if (strlen(url->shown) > 4096)
        return;
    CHECK(ilk__url_parse(&again, url->shown, NULL) == ILK_OK);
    check_same(url, &again);
    CHECK(same_text(again.password, url->password ? "***" : NULL));
    ilk__url_free(&again);
}

static void check_accepted(const ilk__url *url)
{
    CHECK(url->db >= 0 && url->connect_timeout_ms >= 0);
    CHECK(url->reply_timeout_ms >= 0);
    CHECK(!is_tcp(url) || url->sentinels
          || (url->host && url->port > 0 && url->port < 65536));
    CHECK(url->scheme != ILK__SCHEME_UNIX || url->path[0] == '/');
    CHECK((url->cert == NULL) == (url->key == NULL));
    check_written(url);
    check_shown(url);
}

/*
 * The text before an '@' may be a password, whole or in part. The message of
 * a refusal must not depend on it: it stays the same when letters that have no
 * meaning for the parser, G to Z, are exchanged there.
 */
static void check_refused(char *text, const char *message)
{
    char *begin = strstr(text, "://"), *end = strrchr(text, '@');
    ilk_error err = {0};
    ilk__url url;

    CHECK(message[0] != '\0' && strchr(message, '\n') == NULL);
    if (!begin || !end)
        return;
    for (begin += 3; begin < end; begin++)
        if (*begin >= 'G' && *begin <= 'Z')
            *begin = *begin == 'Z' ? 'G' : (char)(*begin + 1);
    CHECK(ilk__url_parse(&url, text, &err) == ILK_EINVAL);
    CHECK(strcmp(err.msg, message) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    ilk_error err = {0};
    ilk__url url;
    ilk_status status = ilk__url_parse(&url, text, &err);

    CHECK(status == ILK_OK || status == ILK_EINVAL);
    CHECK(err.code == status);
    if (status == ILK_OK)
        check_accepted(&url);
    else
        check_refused(text, err.msg);
    CHECK(status == ILK_OK || (!url.host && !url.password && !url.shown));
    ilk__url_free(&url);
    free(text);
    return 0;
}
