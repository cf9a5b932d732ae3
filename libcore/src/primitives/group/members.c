/* SPDX-License-Identifier: MIT */
/* members.c -- a handle's copy of a group's members, and their changes. */
#include "members.h"

#include "base/alloc.h"
#include "redis/script.h"

#include <string.h>

/* A member's value as the server has it, `1 <token> <data>`. */
typedef struct value {
    size_t token_len, data_at, len;
    char text[]; /* then a NUL */
} value;

struct ilk__known_member {
    ilk__node node;
    ilk__known_member *next_changed;
    int is_changed;
    value *shown, *now; /* or NULL; the same one when nothing changed */
    size_t id_len;
    char id[]; /* then a NUL */
};

typedef struct entry {
    int32_t change;
    const char *id, *data;
    size_t id_len, data_len;
} entry;

struct ilk_members {
    size_t count;
    entry entries[]; /* then their bytes */
};

enum { TOKEN_AT = 2 }; /* behind the version and a space */

/* The elements of a page, after the code. */
enum { AT_FULL, AT_BASE, AT_REACHED, AT_MORE, AT_COUNT, AT_MEMBERS };

/* ---- the table ---------------------------------------------------------- */

void ilk__known_init(ilk__known *known)
{
    memset(known, 0, sizeof *known);
    known->base = -1;
}

static void drop_values(ilk__known_member *member)
{
    if (member->now != member->shown)
        ilk__free(member->now);
    ilk__free(member->shown);
}

static void forget(ilk__known *known, ilk__known_member *member)
{
    ilk__table_remove(&known->members, &member->node);
    drop_values(member);
    ilk__free(member);
}

void ilk__known_free(ilk__known *known)
{
    ilk__node *node, *next;
    size_t cursor = 0;

    while ((node = ilk__table_bucket(&known->members, &cursor)))
        for (; node; node = next) {
            next = node->next;
            drop_values((ilk__known_member *)node);
            ilk__free(node);
        }
    ilk__table_free(&known->members);
}

static ilk__known_member *find(const ilk__known *known, const ilk__reply *id)
{
    return (ilk__known_member *)ilk__table_find(&known->members, id->str,
                                                id->len);
}

static ilk__known_member *add(ilk__known *known, const ilk__reply *id)
{
    ilk__known_member *member = ilk__calloc(1, sizeof *member + id->len + 1);

    if (!member)
        return NULL;
    memcpy(member->id, id->str, id->len);
    member->id_len = id->len;
    if (ilk__table_add(&known->members, &member->node, member->id, id->len)) {
        ilk__free(member);
        return NULL;
    }
    return member;
}

/* The member has this value now; NULL: it is not in. */
static void set(ilk__known *known, ilk__known_member *member, value *now)
{
    if (member->now != member->shown)
        ilk__free(member->now);
    member->now = now;
    if (member->is_changed)
        return;
    member->is_changed = 1;
    if (known->last_changed)
        known->last_changed->next_changed = member;
    else
        known->first_changed = member;
    known->last_changed = member;
}

/* ---- pages -------------------------------------------------------------- */

static ilk_status no_memory(ilk_error *err)
{
    return ilk__fail(err, ILK_ENOMEM, "out of memory");
}

static ilk_status no_sense(ilk_error *err)
{
    return ilk__fail(err, ILK_EREPLY, "members that make no sense");
}

static ilk_status parse(value **out, const ilk__reply *text, ilk_error *err)
{
    const char *end = text->len > TOKEN_AT ? memchr(text->str + TOKEN_AT, ' ',
                                                    text->len - TOKEN_AT)
                                           : NULL;
    value *one;

    if (!end || memcmp(text->str, "1 ", TOKEN_AT) != 0)
        return no_sense(err);
    one = ilk__malloc(sizeof *one + text->len + 1);
    if (!one)
        return no_memory(err);
    memcpy(one->text, text->str, text->len + 1);
    one->len = text->len;
    one->token_len = (size_t)(end - text->str) - TOKEN_AT;
    one->data_at = TOKEN_AT + one->token_len + 1;
    *out = one;
    return ILK_OK;
}

static ilk_status put(ilk__known *known, const ilk__reply *id,
                      const ilk__reply *text, ilk_error *err)
{
    ilk__known_member *member = find(known, id);
    value *now = NULL;
    ilk_status st = parse(&now, text, err);

    if (st)
        return st;
    if (!member)
        member = add(known, id);
    if (!member) {
        ilk__free(now);
        return no_memory(err);
    }
    set(known, member, now);
    return ILK_OK;
}

/* The page begins a list of all members: members that are not in it have
 * left. */
static void begin_anew(ilk__known *known)
{
    ilk__node *node;
    size_t cursor = 0;

    known->base = -1; /* until the page was applied */
    known->cursor = 0;
    while ((node = ilk__table_bucket(&known->members, &cursor)))
        for (; node; node = node->next)
            set(known, (ilk__known_member *)node, NULL);
}

/* Whether the page has the members it announces, and comes to an end. */
static int is_sound(const ilk__known *known, const ilk__reply *reply)
{
    int64_t count = ilk__script_int(reply, AT_COUNT);
    int64_t reached = ilk__script_int(reply, AT_REACHED);
    int64_t from = ilk__script_int(reply, AT_FULL) ? 0 : known->cursor;
    size_t rest = reply->count - 1 - AT_MEMBERS;

    if (count < 0 || (uint64_t)count > rest / 2)
        return 0;
    for (size_t i = 0; i < rest; i++)
        if (ilk__script_item(reply, AT_MEMBERS + i)->type != ILK__REPLY_STR)
            return 0;
    return ilk__script_int(reply, AT_MORE) ? reached > from : reached >= from;
}

ilk_status ilk__known_apply(ilk__known *known, const ilk__reply *reply,
                            ilk_error *err)
{
    size_t count = (size_t)ilk__script_int(reply, AT_COUNT);
    ilk_status st;

    if (!is_sound(known, reply))
        return no_sense(err);
    if (ilk__script_int(reply, AT_FULL))
        begin_anew(known);
    for (size_t i = AT_MEMBERS; i < AT_MEMBERS + count; i++) {
        st = put(known, ilk__script_item(reply, i),
                 ilk__script_item(reply, i + count), err);
        if (st)
            return st;
    }
    for (size_t i = AT_MEMBERS + 2 * count; i < reply->count - 1; i++) {
        ilk__known_member *member = find(known, ilk__script_item(reply, i));

        if (member)
            set(known, member, NULL);
    }
    known->cursor = ilk__script_int(reply, AT_REACHED);
    known->more = (int)ilk__script_int(reply, AT_MORE);
    known->base = known->more ? ilk__script_int(reply, AT_BASE) : known->cursor;
    return ILK_OK;
}

/* ---- reports ------------------------------------------------------------ */

static int is_same_member(const value *a, const value *b)
{
    return a->token_len == b->token_len
           && memcmp(a->text + TOKEN_AT, b->text + TOKEN_AT, a->token_len) == 0;
}

static int is_equal(const value *a, const value *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Copies the id and the data, each with a NUL behind it, to `to`. */
static char *write_entry(entry *out, char *to, ilk_member_change change,
                         const ilk__known_member *member, const value *of)
{
    *out = (entry){.change = (int32_t)change,
                   .id = to,
                   .data = to + member->id_len + 1,
                   .id_len = member->id_len,
                   .data_len = of->len - of->data_at};
    memcpy(to, member->id, member->id_len + 1);
    to += member->id_len + 1;
    memcpy(to, of->text + of->data_at, out->data_len + 1);
    return to + out->data_len + 1;
}

/* The changes of one member: at most two entries. */
typedef struct news {
    ilk_member_change change[2];
    const value *of[2];
    size_t count;
} news;

static void say(news *out, ilk_member_change change, const value *of)
{
    out->change[out->count] = change;
    out->of[out->count++] = of;
}

static news news_of(const ilk__known_member *member)
{
    const value *shown = member->shown, *now = member->now;
    news found = {.count = 0};

    if (shown && now && is_same_member(shown, now)) {
        if (!is_equal(shown, now))
            say(&found, ILK_MEMBER_UPDATED, now);
        return found;
    }
    if (shown)
        say(&found, ILK_MEMBER_LEFT, shown);
    if (now)
        say(&found, ILK_MEMBER_JOINED, now);
    return found;
}

static ilk_members *allocate(const ilk__known *known)
{
    size_t count = 0, bytes = 0;
    ilk_members *members;

    for (const ilk__known_member *m = known->first_changed; m;
         m = m->next_changed) {
        news found = news_of(m);

        for (size_t i = 0; i < found.count; i++)
            bytes += m->id_len + found.of[i]->len + 2;
        count += found.count;
    }
    members = ilk__malloc(sizeof *members + count * sizeof(entry) + bytes);
    if (members)
        members->count = count;
    return members;
}

/* The member was reported as it is now. */
static void settle(ilk__known *known, ilk__known_member *member)
{
    member->is_changed = 0;
    member->next_changed = NULL;
    if (member->shown != member->now)
        ilk__free(member->shown);
    member->shown = member->now;
    if (!member->now)
        forget(known, member);
}

ilk_status ilk__known_report(ilk_members **out, ilk__known *known,
                             ilk_error *err)
{
    ilk_members *members = allocate(known);
    entry *to;
    char *text;

    if (!members)
        return no_memory(err);
    to = members->entries;
    text = (char *)(to + members->count);
    for (ilk__known_member *m = known->first_changed, *next; m; m = next) {
        news found = news_of(m);

        next = m->next_changed;
        for (size_t i = 0; i < found.count; i++)
            text = write_entry(to++, text, found.change[i], m, found.of[i]);
        settle(known, m);
    }
    known->first_changed = known->last_changed = NULL;
    *out = members;
    return ILK_OK;
}

/* ---- getters ------------------------------------------------------------ */

static const entry *at(const ilk_members *members, size_t index)
{
    return members && index < members->count ? &members->entries[index] : NULL;
}

size_t ilk_members_count(const ilk_members *members)
{
    return members ? members->count : 0;
}

int32_t ilk_members_change(const ilk_members *members, size_t index)
{
    const entry *one = at(members, index);

    return one ? one->change : 0;
}

const char *ilk_members_id(const ilk_members *members, size_t index,
                           size_t *out_len)
{
    const entry *one = at(members, index);

    if (out_len)
        *out_len = one ? one->id_len : 0;
    return one ? one->id : NULL;
}

const char *ilk_members_data(const ilk_members *members, size_t index,
                             size_t *out_len)
{
    const entry *one = at(members, index);

    if (out_len)
        *out_len = one ? one->data_len : 0;
    return one ? one->data : NULL;
}

void ilk_members_free(ilk_members *members)
{
    ilk__free(members);
}
