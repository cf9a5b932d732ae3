/* SPDX-License-Identifier: MIT */
/* groups.c -- the requests about groups, their replies, and when the store lists. */
#include "groups.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/recent.h"
#include "contention_internal.h"
#include "redis/expected_reply.h"
#include "redis/script.h"

#include <interlock/group.h>

#include <stddef.h>
#include <string.h>

enum { AGAIN_MS = 300 }; /* pause before a list that has failed is repeated */

static const char no_memory[] = "ERR out of memory in the backend of the group";

struct ilk__groups {
    ilk__state_names names; /* first */
    const ilk__group_store *store;
    void *self;
    int64_t version;  /* the greatest of all views */
    ilk__recent over; /* tokens of members that have left */
};

static ilk__groups *owner_of(const ilk__group_name *name)
{
    return (ilk__groups *)name->state.of;
}

/* ---- values -------------------------------------------------------------- */

enum { TOKEN_AT = 2 }; /* behind the version and a space */

ilk_status ilk__group_value(ilk__bytes *out, const ilk__group_member *member)
{
    const size_t data_at = TOKEN_AT + member->token.len + 1;

    out->len = data_at + member->data.len;
    out->data = ilk__malloc(out->len);
    if (!out->data)
        return ILK_ENOMEM;
    memcpy(out->data, "1 ", TOKEN_AT);
    memcpy(out->data + TOKEN_AT, member->token.at, member->token.len);
    out->data[data_at - 1] = ' ';
    if (member->data.len)
        memcpy(out->data + data_at, member->data.at, member->data.len);
    return ILK_OK;
}

int ilk__group_is_value(ilk__span text)
{
    return text.len > TOKEN_AT + 1 && memcmp(text.at, "1 ", TOKEN_AT) == 0
           && text.at[TOKEN_AT] != ' '
           && memchr(text.at + TOKEN_AT, ' ', text.len - TOKEN_AT);
}

int ilk__group_has_token(ilk__span value, ilk__span token)
{
    return value.len > TOKEN_AT + token.len
           && memcmp(value.at, "1 ", TOKEN_AT) == 0
           && memcmp(value.at + TOKEN_AT, token.at, token.len) == 0
           && value.at[TOKEN_AT + token.len] == ' ';
}

/* ---- names --------------------------------------------------------------- */

static void forget(ilk__state_name *state)
{
    ilk__group_name *name = (ilk__group_name *)state;
    const ilk__groups *of = owner_of(name);

    of->store->forget_name(of->self, name);
    if (name->again.fire) {
        ilk__timer_clear(&state->of->timers, &name->again);
        ilk__timers_unreserve(&state->of->timers);
    }
    ilk__view_free(&name->view);
}

/* The store has dealt with a request, or with a list. */
static void settle(ilk__group_name *name)
{
    name->state.requests--;
    ilk__state_name_settle(&name->state);
}

/* ---- lists --------------------------------------------------------------- */

static void append(ilk__group_requests *to, ilk__gateway_request *request)
{
    request->work = NULL;
    *(to->last ? (void **)&to->last->work : (void **)&to->first) = request;
    to->last = request;
}

static ilk__gateway_request *take_first(ilk__group_requests *from)
{
    ilk__gateway_request *request = from->first;

    if (!request)
        return NULL;
    from->first = request->work;
    if (!from->first)
        from->last = NULL;
    return request;
}

static void begin_list(ilk__group_name *name)
{
    const ilk__groups *of = owner_of(name);

    name->listed = name->next;
    name->next = (ilk__group_requests){NULL, NULL};
    name->is_listing = 1;
    name->is_interrupted = name->lacks_memory = 0;
    name->state.requests++;
    of->store->list(of->self, name, name->is_watched);
}

/* Waiters do not notice an interruption of the watch: the store lists for them. */
static void list_again(ilk__timer *timer, void *context)
{
    ilk__group_name *name =
        (ilk__group_name *)((char *)timer - offsetof(ilk__group_name, again));

    (void)context;
    if (!name->is_current && !name->is_listing && name->state.waiters)
        begin_list(name);
}

static void list_later(ilk__group_name *name)
{
    if (!name->is_current && !name->is_listing && name->state.waiters)
        ilk__timer_set(&name->state.of->timers, &name->again,
                       ilk__now_ms() + AGAIN_MS);
}

static void note_change(ilk__group_name *name, int has_changed)
{
    if (has_changed < 0) {
        name->lacks_memory = 1;
        ilk__group_interrupted(name);
    }
    name->has_changed |= has_changed > 0;
    if (!name->has_changed || name->is_listing)
        return;
    name->has_changed = 0;
    ilk__state_name_wake(&name->state);
}

/* ---- replies ------------------------------------------------------------- */

enum { READ_CURSOR = 0, WATCH_CURSOR = 5 }; /* then base and count */

/* 0: it makes no sense, and has its reply. */
static int read_place(ilk__view_place *out, ilk__gateway_request *request)
{
    const size_t at =
        request->script == ILK__SCRIPT_GROUP_WATCH ? WATCH_CURSOR : READ_CURSOR;
    const int64_t count = ilk__request_number(request, at + 2, 1);

    out->cursor = ilk__request_number(request, at, 0);
    out->base = ilk__request_number(request, at + 1, 0); /* -1 is no number */
    out->count = (size_t)count;
    if (out->cursor >= 0 && count >= 1)
        return 1;
    ilk__state_misuse(request);
    return 0;
}

static void reply_page(const ilk__group_name *name,
                       ilk__gateway_request *request,
                       const ilk__view_place *place)
{
    ilk__buf reply = {0};

    if (ilk__view_add_page(&reply, &name->view,
                           ilk__reply_head(request->number, ILK__CODE_STATE),
                           place))
        ilk__gateway_break(request);
    else
        ilk__gateway_reply_text(request, ilk__buf_data(&reply),
                                ilk__buf_len(&reply));
    ilk__buf_free(&reply);
}

/* As the view is now. */
static void answer(ilk__group_name *name, ilk__gateway_request *request,
                   const ilk__view_place *place)
{
    const int is_named = request->script == ILK__SCRIPT_GROUP_WATCH
                         && ilk__state_waiter_is_named(request);

    if (request->script == ILK__SCRIPT_GROUP_READ
        || ilk__view_has_changes(&name->view, place)) {
        if (is_named)
            ilk__state_waiter_remove(&name->state, request);
        reply_page(name, request, place);
    } else if (!is_named || ilk__state_waiter_add(&name->state, request)) {
        ilk__gateway_reply(request,
                           is_named ? ILK__CODE_QUEUED : ILK__CODE_BUSY, "iii",
                           (int64_t)-1, ilk__contention_now_us(), (int64_t)1);
    }
}

static void answer_listed(ilk__group_name *name, ilk__gateway_request *request,
                          const char *error)
{
    ilk__view_place place;

    if (error)
        ilk__gateway_reply_error(request, error);
    else if (read_place(&place, request))
        answer(name, request, &place);
    settle(name);
}

void ilk__group_was_listed(ilk__group_name *name, const char *error)
{
    ilk__group_requests answered = name->listed;
    ilk__gateway_request *one;

    name->listed = (ilk__group_requests){NULL, NULL};
    name->is_listing = 0;
    if (!error && name->lacks_memory)
        error = no_memory;
    if (!error && !name->view.floor)
        ilk__view_begin(&name->view);
    name->is_current = !error && name->is_watched && !name->is_interrupted;
    note_change(name, 0);
    while ((one = take_first(&answered)))
        answer_listed(name, one, error);
    if (name->next.first)
        begin_list(name);
    else
        list_later(name);
    settle(name);
}

/* ---- requests ------------------------------------------------------------ */

static void read(ilk__group_name *name, ilk__gateway_request *request)
{
    const int waits = request->script == ILK__SCRIPT_GROUP_WATCH
                      && ilk__state_waiter_is_named(request);
    ilk__view_place place;

    if (!read_place(&place, request))
        return;
    if (ilk__view_continues(&name->view, &place)) {
        answer(name, request, &place);
        return;
    }
    name->is_watched |= waits;
    name->state.requests++;
    append(&name->next, request);
    if (!name->is_listing)
        begin_list(name);
}

static ilk__span span_of(const ilk__gateway_request *request, size_t index)
{
    const ilk__bytes word = ilk__gateway_arg(request, index);

    return (ilk__span){word.data ? word.data : "", word.len};
}

/* 0: it makes no sense, and has its reply. */
static int read_member(ilk__group_member *out, ilk__gateway_request *request)
{
    const int is_join = request->script == ILK__SCRIPT_GROUP_JOIN;
    const int has_lease = is_join || request->script == ILK__SCRIPT_GROUP_RENEW;

    *out = (ilk__group_member){.id = span_of(request, 0),
                               .token = span_of(request, 1)};
    if (is_join || request->script == ILK__SCRIPT_GROUP_UPDATE)
        out->data = span_of(request, 2);
    if (has_lease)
        out->lease_ms = ilk__request_number(request, is_join ? 3 : 2, 1);
    if (out->id.len && out->id.len <= ILK_MEMBER_ID_MAX && out->token.len
        && !memchr(out->token.at, ' ', out->token.len)
        && out->data.len <= ILK_MEMBER_DATA_MAX && out->lease_ms >= has_lease)
        return 1;
    ilk__state_misuse(request);
    return 0;
}

/* A join whose connection broke before it was read may come after its leave. */
static int is_over(ilk__groups *of, const ilk__group_member *member,
                   ilk__gateway_request *request)
{
    const uint64_t mark =
        ilk__hash(ILK__HASH_START, member->token.at, member->token.len);

    if (request->script == ILK__SCRIPT_GROUP_LEAVE)
        (void)ilk__recent_seen(&of->over, mark);
    if (request->script != ILK__SCRIPT_GROUP_JOIN
        || !ilk__recent_has(&of->over, mark))
        return 0;
    ilk__gateway_reply_error(request, "ERR this member has left before");
    return 1;
}

static void work_on_member(ilk__group_name *name, ilk__gateway_request *request)
{
    ilk__groups *of = owner_of(name);
    ilk__group_member member;

    if (!read_member(&member, request) || is_over(of, &member, request))
        return;
    name->state.requests++;
    switch (request->script) {
    case ILK__SCRIPT_GROUP_JOIN:
        of->store->join(of->self, name, &member, request);
        break;
    case ILK__SCRIPT_GROUP_RENEW:
        of->store->renew(of->self, name, &member, request);
        break;
    case ILK__SCRIPT_GROUP_UPDATE:
        of->store->update(of->self, name, &member, request);
        break;
    default: of->store->leave(of->self, name, &member, request); break;
    }
}

/* NULL: no memory, and the request has its reply. */
static ilk__group_name *find_name(ilk__groups *groups,
                                  ilk__gateway_request *request)
{
    ilk__group_name *name =
        (ilk__group_name *)ilk__state_name_find(&groups->names, request);

    if (!name || name->again.fire)
        return name;
    name->view.last_version = &groups->version; /* it is new */
    if (ilk__timers_reserve(&groups->names.timers, NULL)) {
        ilk__gateway_break(request);
        ilk__state_name_settle(&name->state);
        return NULL;
    }
    name->again.fire = list_again;
    return name;
}

static void call_for_name(ilk__groups *groups, ilk__gateway_request *request)
{
    ilk__group_name *name = find_name(groups, request);

    if (!name)
        return;
    if (request->script == ILK__SCRIPT_GROUP_READ
        || request->script == ILK__SCRIPT_GROUP_WATCH)
        read(name, request);
    else
        work_on_member(name, request);
    ilk__state_name_settle(&name->state);
}

int ilk__groups_call(ilk__groups *groups, ilk__gateway_request *request)
{
    switch (request->script) {
    case ILK__SCRIPT_GROUP_JOIN:
    case ILK__SCRIPT_GROUP_RENEW:
    case ILK__SCRIPT_GROUP_UPDATE:
    case ILK__SCRIPT_GROUP_LEAVE:
    case ILK__SCRIPT_GROUP_READ:
    case ILK__SCRIPT_GROUP_WATCH: call_for_name(groups, request); return 1;
    case ILK__SCRIPT_GROUP_REFRESH:
        ilk__state_names_refresh(&groups->names, request);
        return 1;
    case ILK__SCRIPT_STATE_CANCEL:
        return ilk__state_names_cancel(&groups->names, request);
    default: return 0;
    }
}

/* ---- reports about a request --------------------------------------------- */

void ilk__group_held(ilk__group_name *name, ilk__gateway_request *request,
                     int64_t lease_ms)
{
    const int renews = request->script == ILK__SCRIPT_GROUP_RENEW;

    ilk__gateway_reply(request, ILK__CODE_HELD, "iii", lease_ms, (int64_t)0,
                       renews ? ilk__contention_now_us() : 0);
    settle(name);
}

void ilk__group_refused(ilk__group_name *name, ilk__gateway_request *request)
{
    ilk__gateway_reply(request, ILK__CODE_BUSY, "i", (int64_t)-1);
    settle(name);
}

/* The store's watch notifies those who wait. */
void ilk__group_done(ilk__group_name *name, ilk__gateway_request *request)
{
    ilk__gateway_reply(request,
                       request->script == ILK__SCRIPT_GROUP_UPDATE
                           ? ILK__CODE_WRITTEN
                           : ILK__CODE_RELEASED,
                       "ii", (int64_t)0, (int64_t)0);
    settle(name);
}

void ilk__group_lost(ilk__group_name *name, ilk__gateway_request *request)
{
    ilk__gateway_reply(request, ILK__CODE_LOST, "");
    settle(name);
}

void ilk__group_failed(ilk__group_name *name, ilk__gateway_request *request,
                       const char *error)
{
    if (error)
        ilk__gateway_reply_error(request, error);
    else
        ilk__gateway_break(request);
    settle(name);
}

/* ---- reports about members ----------------------------------------------- */

void ilk__group_has(ilk__group_name *name, ilk__span id, ilk__span value,
                    int64_t revision)
{
    const ilk__span nobody = {NULL, 0};

    note_change(name, ilk__view_set(&name->view, id,
                                    ilk__group_is_value(value) ? value : nobody,
                                    revision));
}

void ilk__group_has_left(ilk__group_name *name, ilk__span id, int64_t revision)
{
    const ilk__span nobody = {NULL, 0};

    note_change(name, ilk__view_set(&name->view, id, nobody, revision));
}

void ilk__group_list_begins(ilk__group_name *name)
{
    ilk__view_list_begins(&name->view);
}

int ilk__group_lists(ilk__group_name *name, ilk__span id)
{
    return ilk__view_lists(&name->view, id);
}

void ilk__group_list_ends(ilk__group_name *name, int64_t revision)
{
    note_change(name, ilk__view_list_ends(&name->view, revision));
}

size_t ilk__group_count(const ilk__group_name *name)
{
    return name->view.members.count;
}

int ilk__group_lacks_report(const ilk__group_name *name)
{
    return name->lacks_memory;
}

void ilk__group_interrupted(ilk__group_name *name)
{
    name->is_current = 0;
    name->is_interrupted = 1;
    list_later(name);
}

/* ---- the whole ----------------------------------------------------------- */

ilk__groups *ilk__groups_new(ilk__gateway *gateway,
                             const ilk__group_store *store, void *self)
{
    ilk__groups *groups = ilk__calloc(1, sizeof *groups);

    if (groups) {
        groups->names = (ilk__state_names){.gateway = gateway,
                                           .name_size = sizeof(ilk__group_name),
                                           .forget = forget};
        groups->store = store;
        groups->self = self;
        (void)ilk__recent_seen(&groups->over, 0); /* it needs memory once */
    }
    return groups;
}

void ilk__groups_free(ilk__groups *groups)
{
    if (!groups)
        return;
    ilk__state_names_free(&groups->names);
    ilk__recent_free(&groups->over);
    ilk__free(groups);
}

int64_t ilk__groups_due(const ilk__groups *groups)
{
    return ilk__timers_next(&groups->names.timers);
}

void ilk__groups_fire(ilk__groups *groups, int64_t now)
{
    ilk__state_names_fire(&groups->names, now);
}
