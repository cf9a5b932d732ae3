/* SPDX-License-Identifier: MIT */
/* client_server.c -- what the server of a fuzzed client sends. */
#include "client_server.h"

#include "redis/script.h"
#include "wait/secret.h"

#include <stdarg.h>

enum { REQUESTS = 1024, ENTRIES = 8, CODES = 64, RTT_MS = 2, OLD = 16 };

typedef struct request {
    const world_link *link;
    int64_t number;
    int script;
    size_t shown; /* bytes that were delivered on the link before it */
    char *text;   /* its arguments, one after the other */
    size_t len;
} request;

/* An entry of a wait queue that the client sent, and the keys of its list. */
typedef struct entry {
    char kind;
    char waiter[64], token[128], client[64], name[64], list[96];
    int64_t lease_ms;
} entry;

const ilk__shared *server_client;
static request requests[REQUESTS];
static size_t request_count;
static int overflowed; /* requests were forgotten */
static entry entries[ENTRIES];
static size_t entry_count;
static int64_t last_fence, last_id;
static ilk__buf out;

/* ---- RESP --------------------------------------------------------------- */

static void put(const void *data, size_t len)
{
    CHECK(ilk__buf_add(&out, data, len) == ILK_OK);
}

static void put_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static void put_format(const char *format, ...)
{
    char text[512];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(len >= 0 && (size_t)len < sizeof text);
    put(text, (size_t)len);
}

static void put_head(char type, int64_t number)
{
    put_format("%c%lld\r\n", type, (long long)number);
}

static void put_text(const void *data, size_t len)
{
    put_head('$', (int64_t)len);
    put(data, len);
    put("\r\n", 2);
}

static void put_word(const char *text)
{
    put_text(text, strlen(text));
}

/* Send what was put, in order with what is under way on the link. */
static void send_out(world_link *link, int64_t delay_ms, int ends)
{
    world_deliver(link, delay_ms, ilk__buf_data(&out), ilk__buf_len(&out),
                  ends);
    ilk__buf_drop(&out, ilk__buf_len(&out));
}

/* Any bytes of the input. */
static void put_raw(void)
{
    size_t len;
    char *raw = fuzz_text(&world_input, 255, &len);

    put(raw, len);
    free(raw);
}

/* ---- what is believed ---------------------------------------------------- */

static int has_bytes(const char *text, size_t len, const char *part)
{
    return memmem(text, len, part, strlen(part)) != NULL;
}

/* The code behind a request's number that was shown on its link since, or -1. */
static int next_code(const request *r, size_t *at)
{
    const char *text = ilk__buf_data(&r->link->shown);
    size_t len = ilk__buf_len(&r->link->shown);

    while (*at < len) {
        const char *colon = memchr(text + *at, ':', len - *at);
        int64_t value = 0;
        int digits = 0;

        if (!colon)
            break;
        *at = (size_t)(colon - text) + 1;
        for (size_t i = *at;
             i < len && text[i] >= '0' && text[i] <= '9' && digits < 18;
             i++, digits++)
            value = value * 10 + (text[i] - '0');
        if (digits && value / CODES == r->number)
            return (int)(value % CODES);
    }
    return -1;
}

/* code -1: any. */
static int is_answered(const request *r, int code)
{
    size_t at = r->shown;
    int shown;

    while ((shown = next_code(r, &at)) >= 0)
        if (code < 0 || shown == code)
            return 1;
    return 0;
}

int server_published(const char *text)
{
    for (int i = 0; i < LINKS; i++) {
        const world_link *link = &world_links[i];

        if (link->is_subscriber
            && has_bytes(ilk__buf_data(&link->shown),
                         ilk__buf_len(&link->shown), text))
            return 1;
    }
    return 0;
}

/* The code of a refresh is that of the name, and says nothing of the waiter. */
static int code_of_hold(const request *r)
{
    return strstr(ilk__scripts[r->script].name, "refresh") ? -1
                                                           : ILK__CODE_HELD;
}

int server_granted(const char *token)
{
    if (overflowed || server_published(token))
        return 1;
    for (size_t i = 0; i < request_count; i++)
        if (has_bytes(requests[i].text, requests[i].len, token)
            && is_answered(&requests[i], code_of_hold(&requests[i])))
            return 1;
    return 0;
}

int server_answered(const char *script, int code)
{
    if (overflowed)
        return 1;
    for (size_t i = 0; i < request_count; i++)
        if (strcmp(ilk__scripts[requests[i].script].name, script) == 0
            && is_answered(&requests[i], code))
            return 1;
    return 0;
}

/* ---- requests ------------------------------------------------------------ */

static int64_t number_of(const ilk__reply *item)
{
    return strtoll(item->str, NULL, 10);
}

static int is_word(const ilk__reply *item, const char *word)
{
    return item->len == strlen(word) && memcmp(item->str, word, item->len) == 0;
}

static int script_of(const ilk__reply *command)
{
    const ilk__reply *what = command->items[1];

    for (int i = 0; i < ILK__SCRIPT_COUNT; i++)
        if (is_word(what, ilk__scripts[i].sha1)
            || (what->len == ilk__scripts[i].text_len
                && memcmp(what->str, ilk__scripts[i].text, what->len) == 0))
            return i;
    fuzz_broken("the script is one of the library", __FILE__, __LINE__);
    return 0;
}

static void remember_request(const world_link *link, const ilk__reply *command,
                             int script, int64_t number)
{
    request *r;
    ilk__buf text = {0};

    if (request_count == REQUESTS) {
        overflowed = 1;
        return;
    }
    for (size_t i = 3; i < command->count; i++)
        CHECK(ilk__buf_add(&text, command->items[i]->str,
                           command->items[i]->len + 1)
              == ILK_OK);
    r = &requests[request_count++];
    *r = (request){.link = link,
                   .number = number,
                   .script = script,
                   .shown = ilk__buf_len(&link->shown),
                   .text = fuzz_copy(ilk__buf_data(&text), ilk__buf_len(&text)),
                   .len = ilk__buf_len(&text)};
    ilk__buf_free(&text);
}

/* Whether this argument is an entry; its parts then are in *to. */
static int read_entry(const ilk__reply *item, entry *to)
{
    char version, kind;

    return item->len > 2 && item->str[0] == '1'
           && sscanf(item->str, "%c %c %63s %63s %127s %lld", &version, &kind,
                     to->client, to->waiter, to->token,
                     (long long *)&to->lease_ms)
                  == 6
           && (to->kind = kind) == to->waiter[0];
}

/* "orders" of "ilk:signal:wait:{orders}". */
static void name_of_list(char *to, size_t room, const char *key)
{
    const char *begin = strchr(key, '{');

    if (begin)
        snprintf(to, room, "%.*s", (int)strcspn(begin + 1, "}"), begin + 1);
}

/* The last entry of a command is the one that waits; NULL: it has none. */
static const entry *remember_entry(const ilk__reply *command)
{
    const entry *found = NULL;
    int64_t keys = number_of(command->items[2]);

    for (size_t i = 3 + (size_t)keys; i < command->count; i++) {
        entry *to = &entries[entry_count % ENTRIES];

        if (!read_entry(command->items[i], to) || keys < 3)
            continue;
        snprintf(to->name, sizeof to->name, "%s", command->items[3]->str);
        snprintf(to->list, sizeof to->list, "%s", command->items[5]->str);
        if (to->kind == 's') /* its messages have the name itself */
            name_of_list(to->list, sizeof to->list, command->items[3]->str);
        entry_count++;
        found = to;
    }
    return found;
}

static size_t count_entries(const ilk__reply *command)
{
    size_t count = 0;
    entry scratch;

    for (size_t i = 3; i < command->count; i++)
        count += read_entry(command->items[i], &scratch) != 0;
    return count;
}

/* ---- the reply to a script ----------------------------------------------- */

static int64_t server_us(void)
{
    return INT64_C(1700000000000000) + world_now * 1000;
}

/* A number that makes sense at this place. */
static int64_t sound_number(int code, size_t place)
{
    static const int64_t waits[] = {5000, 0, 1};

    switch (code) {
    case ILK__CODE_HELD:
        return place == 0 ? 30000 : place == 1 ? ++last_fence : server_us();
    case ILK__CODE_QUEUED:
    case ILK__CODE_BUSY:
    case ILK__CODE_FREE:
    case ILK__CODE_MORE:
        return place == 1 ? server_us() : place < 3 ? waits[place] : 1;
    case ILK__CODE_JOBS:
        return place == 1 ? 0 : place == 2 ? 30000 : server_us();
    case ILK__CODE_EMPTY: return place == 1 ? -1 : server_us();
    case ILK__CODE_WRITTEN:
    case ILK__CODE_SIGNALLED: return place == 0;
    case ILK__CODE_STATE: return 1;
    default: return 0;
    }
}

static void put_number(int64_t sound)
{
    put_head(':',
             fuzz_byte(&world_input) < 224 ? sound : fuzz_number(&world_input));
}

static void put_string(void)
{
    size_t len;
    char *text;

    if (fuzz_byte(&world_input) < 224) {
        put_word("");
        return;
    }
    text = fuzz_text(&world_input, 64, &len);
    put_text(text, len);
    free(text);
}

/* The elements behind those that a reply declares: what became of each entry,
 * messages of a queue, tickets. Returns how many. */
static size_t put_rest(ilk__buf *rest, const ilk__script *script, int code,
                       size_t named)
{
    static const int states[] = {ILK__CODE_QUEUED, ILK__CODE_HELD,
                                 ILK__CODE_GONE, ILK__CODE_QUEUED};
    ilk__buf kept = out;
    size_t count = 0;

    out = (ilk__buf){0};
    if (code == ILK__CODE_JOBS) {
        for (size_t n = 1 + fuzz_pick(&world_input, 3); count < n; count++) {
            char text[64];

            snprintf(text, sizeof text, "1 %lld %u 1700000000000 data",
                     (long long)++last_id, fuzz_pick(&world_input, 3));
            put_word(text);
        }
    } else if (strstr(script->name, "refresh")) {
        for (; count < 3 * named; count += 3) {
            put_number(states[fuzz_pick(&world_input, 4)]);
            put_number(30000);
            put_number(++last_fence);
        }
    } else {
        for (; count < 1 + fuzz_pick(&world_input, 4); count++)
            put_number(server_us());
    }
    if (fuzz_byte(&world_input) >= 240) {
        put_string();
        count++;
    }
    *rest = out;
    out = kept;
    return count;
}

/* One of the declared replies, or one with another shape. */
static void put_reply(const ilk__reply *command, int number_of_script,
                      int64_t number)
{
    const ilk__script *script = &ilk__scripts[number_of_script];
    const ilk__shape *shape =
        &script->shapes[fuzz_pick(&world_input, (unsigned)script->shape_count)];
    size_t fixed = strcspn(shape->types, "*"), more = 0;
    ilk__buf rest = {0};

    if (!shape->types[0] && fuzz_pick(&world_input, 2)) {
        put_head(':', number * CODES + shape->code);
        return;
    }
    if (shape->types[fixed] == '*')
        more = put_rest(&rest, script, shape->code, count_entries(command));
    put_head('*', (int64_t)(1 + fixed + more));
    put_head(':', number * CODES + shape->code);
    for (size_t i = 0; i < fixed; i++)
        if (shape->types[i] == 'i')
            put_number(sound_number(shape->code, i));
        else
            put_string();
    put(ilk__buf_data(&rest), ilk__buf_len(&rest));
    ilk__buf_free(&rest);
}

static const char *const errors[] = {
    "-NOSCRIPT No matching script. Please use EVAL.\r\n",
    "-BUSY Redis is busy running a script.\r\n",
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-NOPERM this user has no permissions\r\n",
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
    "-ERR ILKARG lease must be a number\r\n",
    "-MOVED 3999 127.0.0.1:6381\r\n"};

static void put_error(void)
{
    const char *text =
        errors[fuzz_pick(&world_input, sizeof errors / sizeof errors[0])];

    put(text, strlen(text));
}

/* ---- messages ------------------------------------------------------------ */

static void put_message(const char *channel, const char *text, size_t len)
{
    put_head('>', 3);
    put_word("message");
    put_word(channel);
    put_text(text, len);
}

static world_link *subscriber(void)
{
    for (int i = 0; i < LINKS; i++)
        if (world_links[i].is_subscriber && world_links[i].is_open
            && !world_links[i].ended)
            return &world_links[i];
    return NULL;
}

enum { NO_CHANGE, WRONG_SECRET, WRONG_NUMBER, SHORTENED, ANY_BYTE };

/* Spoil a message in one place. */
static size_t spoil(char *text, size_t len, const entry *to)
{
    char *secret = strstr(text, strchr(to->waiter, '.') + 1);

    switch (fuzz_pick(&world_input, 8)) {
    case WRONG_SECRET:
        if (secret)
            *secret = *secret == 'a' ? 'b' : 'a';
        return len;
    case WRONG_NUMBER: text[strlen("1 grant ") + 1] ^= 1; return len;
    case SHORTENED: return len - 1 - fuzz_byte(&world_input) % len;
    case ANY_BYTE:
        text[fuzz_byte(&world_input) % len] = (char)fuzz_byte(&world_input);
        return len;
    default: return len;
    }
}

static void list_secret(char text[ILK__SECRET_LEN + 1], const char *list)
{
    ilk__secret_of_list(text, server_client, list, strlen(list));
}

/* Grant, wake (k), signal, change or notify: usually what ends a wait of this
 * kind. */
static char message_type(const entry *to)
{
    unsigned other = fuzz_pick(&world_input, 16);

    if (other > 0 && other <= 5)
        return "gkscn"[other - 1];
    if (strchr(to->client, '.')) /* it gets changes */
        return 'c';
    switch (to->kind) {
    case 's': return 's';
    case 'o':
    case 'q':
    case 'w': return 'k';
    default: return 'g';
    }
}

static void send_message(const entry *to, int64_t delay_ms)
{
    char text[512], secret[ILK__SECRET_LEN + 1], channel[64];
    char type = message_type(to);
    world_link *link = subscriber();
    int len;

    if (!link || !strchr(to->waiter, '.'))
        return;
    list_secret(secret, to->list);
    if (type == 'g')
        len = snprintf(text, sizeof text, "1 grant %s %s %lld %d %lld %s",
                       to->waiter, to->token, (long long)++last_fence, 5000,
                       (long long)server_us(), to->name);
    else if (type == 'k')
        len = snprintf(text, sizeof text, "1 wake %s %s", to->waiter, to->name);
    else if (type == 'c')
        len = snprintf(text, sizeof text, "1 change %s %s", secret, to->list);
    else if (type == 's')
        len = snprintf(text, sizeof text, "1 signal %.*s.%s id%lld %zu %sdata",
                       (int)strcspn(to->waiter, "."), to->waiter, secret,
                       (long long)++last_id, strlen(to->list), to->list);
    else
        len = snprintf(text, sizeof text, "1 notify %lld.%s id%lld %zu %sdata",
                       (long long)server_us(), secret, (long long)++last_id,
                       strlen(to->list), to->list);
    snprintf(channel, sizeof channel, "ilk:inbox:%s", server_client->client_id);
    put_message(channel, text, spoil(text, (size_t)len, to));
    send_out(link, delay_ms, 0);
}

/* ---- commands ------------------------------------------------------------ */

enum {
    REPLIES = 8, /* choices below are a reply as declared */
    FOREIGN = 8,
    ERROR,
    RAW,
    SILENT,
    END,
    TWICE,
    LATE,
    SURROUNDED,
    CHOICES
};

static void answer(world_link *link, const ilk__reply *command, int script,
                   int64_t number)
{
    unsigned choice = fuzz_pick(&world_input, CHOICES);
    int64_t delay = RTT_MS;

    if (choice == FOREIGN)
        put_reply(command, script, number + 1 - fuzz_pick(&world_input, OLD));
    else if (choice == ERROR)
        put_error();
    else if (choice == RAW)
        put_raw();
    else if (choice != SILENT && choice != END)
        put_reply(command, script, number);
    if (choice == TWICE)
        put_reply(command, script, number);
    if (choice == SURROUNDED)
        put_raw();
    if (choice == LATE)
        delay += 20 * fuzz_byte(&world_input);
    if (choice != SILENT)
        send_out(link, delay, choice == END);
}

static void run_script(world_link *link, const ilk__reply *command)
{
    int script = script_of(command);
    const ilk__reply *last = command->items[command->count - 1];
    int64_t number = number_of(last);
    const entry *waits;

    remember_request(link, command, script, number);
    waits = remember_entry(command);
    answer(link, command, script, number);
    if (waits && fuzz_pick(&world_input, 4) != 3)
        send_message(waits, 10 + 8 * fuzz_byte(&world_input));
}

static void put_hello(void)
{
    put_head('%', 3);
    put_word("server");
    put_word("redis");
    put_word("proto");
    put_head(':', 3);
    put_word("id");
    put_head(':', 7);
}

/* A healthy server's replies to the login, of which one in 16 is spoilt. */
static void put_login(world_link *link, const ilk__reply *command)
{
    const ilk__reply *first = command->items[0];

    if (fuzz_byte(&world_input) >= 240)
        put_raw();
    else if (is_word(first, "HELLO") && fuzz_pick(&world_input, 4) == 3)
        put_format("-ERR unknown command 'HELLO'\r\n");
    else if (is_word(first, "HELLO"))
        put_hello();
    else if (is_word(first, "CLIENT") && is_word(command->items[1], "ID"))
        put_head(':', 7);
    else if (is_word(first, "CLIENT") && is_word(command->items[1], "LIST"))
        put_word("id=7 name=interlock age=0 idle=0\n");
    else if (is_word(first, "CLIENT") && is_word(command->items[1], "KILL"))
        put_head(':', 1);
    else if (is_word(first, "PING"))
        put_format("+PONG\r\n");
    else
        put_format("+OK\r\n");
    send_out(link, RTT_MS, 0);
}

static void confirm(world_link *link, const ilk__reply *command, char *word)
{
    link->is_subscriber = 1;
    for (char *c = word; *c; c++)
        *c |= 0x20;
    put_head(fuzz_pick(&world_input, 4) ? '*' : '>', 3);
    put_word(word);
    if (fuzz_byte(&world_input) < 240)
        put_text(command->items[1]->str, command->items[1]->len);
    else
        put_string();
    put_head(':', 1);
    send_out(link, RTT_MS, 0);
}

void server_command(world_link *link, const ilk__reply *command)
{
    char word[32];

    snprintf(word, sizeof word, "%s", command->items[0]->str);
    if (strncmp(word, "EVAL", 4) == 0 && command->count >= 4)
        run_script(link, command);
    else if (strstr(word, "SUBSCRIBE") && command->count >= 2)
        confirm(link, command, word);
    else
        put_login(link, command);
}

void server_disturb(void)
{
    world_link *link = &world_links[fuzz_pick(&world_input, LINKS)];

    switch (fuzz_pick(&world_input, 4)) {
    case 0:
        if (entry_count > 0)
            send_message(&entries[fuzz_byte(&world_input) % ENTRIES],
                         fuzz_byte(&world_input));
        return;
    case 1:
        if (link->is_open)
            send_out(link, fuzz_byte(&world_input), 1);
        return;
    case 2: put_raw(); break;
    default: put_error(); break;
    }
    if (link->is_open)
        send_out(link, fuzz_byte(&world_input), 0);
    ilk__buf_drop(&out, ilk__buf_len(&out));
}

void server_begin(void)
{
    request_count = entry_count = 0;
    overflowed = 0;
    last_fence = INT64_C(1700000000000000);
    last_id = 0;
    memset(entries, 0, sizeof entries);
}

void server_end(void)
{
    while (request_count > 0)
        free(requests[--request_count].text);
    ilk__buf_free(&out);
    out = (ilk__buf){0};
}
