/* SPDX-License-Identifier: MIT */
/* announced.c -- which of the addresses that servers announce a client connects to. */
#include "announced.h"

#include "base/clock.h"
#include "base/token.h"
#include "url_text.h"

#include <string.h>
#include <strings.h>

enum { HOST_ROOM = 256 };

/* ---- patterns ------------------------------------------------------------ */

ilk_status ilk__announced_check_patterns(const char *patterns, ilk_error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._:%*";
    ilk__span rest = {patterns, strlen(patterns)};
    int more = 1;

    while (more) {
        const ilk__span one = ilk__text_cut(&rest, ',', &more);

        if (!one.len || strspn(one.at, allowed) < one.len)
            return ilk__fail(err, ILK_EINVAL,
                             "URL: hosts must be patterns of hosts such as "
                             "10.0.*,*.example.com, got \"%.100s\"",
                             patterns);
    }
    return ILK_OK;
}

/* Each '*' takes as little as it can; when the rest does not match, only the last one
 * takes more. So the time is bounded by the product of the lengths. */
static int matches(ilk__span pattern, const char *host)
{
    size_t at = 0, behind_star = 0;
    const char *retry = NULL;

    while (*host) {
        if (at < pattern.len && pattern.at[at] == '*') {
            behind_star = ++at;
            retry = host;
        } else if (at < pattern.len
                   && strncasecmp(&pattern.at[at], host, 1) == 0) {
            at++;
            host++;
        } else if (retry) {
            at = behind_star;
            host = ++retry;
        } else {
            return 0;
        }
    }
    while (at < pattern.len && pattern.at[at] == '*')
        at++;
    return at == pattern.len;
}

int ilk__announced_matches(const char *patterns, const char *host)
{
    ilk__span rest = {patterns, strlen(patterns)};
    int more = 1;

    while (more)
        if (matches(ilk__text_cut(&rest, ',', &more), host))
            return 1;
    return 0;
}

/* ---- new addresses ------------------------------------------------------- */

ilk_status ilk__announced_init(ilk__announced *announced, const char *patterns,
                               int64_t at_once, int64_t each_ms, ilk_error *err)
{
    announced->patterns = patterns;
    announced->at_once = at_once;
    announced->each_ms = each_ms;
    return ilk__random(announced->key, sizeof announced->key, err);
}

/* Keyed, since a server could choose names with the mark of a known address. */
static uint64_t mark_of(const ilk__announced *announced, const char *host,
                        int port)
{
    char text[HOST_ROOM + sizeof port] = {0};
    const size_t len = strnlen(host, HOST_ROOM);

    memcpy(text, &port, sizeof port);
    memcpy(text + sizeof port, host, len);
    return ilk__siphash(announced->key, text, sizeof port + len) | 1;
}

static int is_known(ilk__announced *announced, uint64_t mark)
{
    for (size_t i = 0; i < ILK__ANNOUNCED_KNOWN; i++)
        if (atomic_load(&announced->known[i]) == mark)
            return 1;
    return 0;
}

static int take(ilk__announced *announced)
{
    const int64_t now = ilk__now_ms(),
                  most = now + announced->at_once * announced->each_ms;
    int64_t until = atomic_load(&announced->taken_until), next;

    do {
        next = (until > now ? until : now) + announced->each_ms;
        if (next > most)
            return 0;
    } while (
        !atomic_compare_exchange_weak(&announced->taken_until, &until, next));
    return 1;
}

ilk_status ilk__announced_check(ilk__announced *announced, const char *host,
                                int port, ilk_error *err)
{
    const uint64_t mark = mark_of(announced, host, port);

    if (announced->patterns)
        return ilk__announced_matches(announced->patterns, host)
                   ? ILK_OK
                   : ilk__fail(err, ILK_ECONN,
                               "the announced address %.150s:%d matches no "
                               "pattern of hosts=%.150s",
                               host, port, announced->patterns);
    if (!announced->at_once || is_known(announced, mark))
        return ILK_OK;
    if (!take(announced))
        return ilk__fail(err, ILK_ECONN,
                         "too many new addresses were announced: %.150s:%d is "
                         "not used, unless the URL's hosts= allows it",
                         host, port);
    atomic_store(&announced->known[atomic_fetch_add(&announced->turn, 1)
                                   % ILK__ANNOUNCED_KNOWN],
                 mark);
    return ILK_OK;
}
