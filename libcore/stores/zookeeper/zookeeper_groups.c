/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_groups.c -- groups in ZooKeeper: an ephemeral node for each member.
 *
 *     /path/ilk:group:{web}/10.0.0.1:80         1 <token> <data>
 *
 * The id is encoded as a name is (zookeeper_nodes.c). The node ends with the session, so
 * with the client. A member of a client that lives is removed by the client itself when
 * its lease ends without a renewal.
 *
 *     join     create
 *     renew    sync, get: the own node is there
 *     update   sync, get, set over the version that was read
 *     leave    sync, get, delete
 *
 * A request without an answer is executed or void when the next connection is there
 * (zookeeper_store.h), and all of them are repeated from the beginning. So a join finds
 * its own node, and none comes after the leave.
 *
 * A list is a sync, the names of the children, and the data of each. With a watch, the
 * parent is watched for its children and each child for its data; after that only what
 * an event names is read again, and a list is the sync alone, behind which all events
 * about earlier changes have come. The server executes the requests of a session in their
 * order, and events come before the answers that show later states: so what is read
 * is reported in the order of the answers, without revisions.
 *
 * All watches end with the connection, and when a read has no answer, the view may miss a
 * change. In both cases the list begins anew.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "redis/script.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* at_store of a name. */
struct ilk__zk_group {
    ilk__zk_group *next, *previous;
    ilk__zk *store;
    ilk__group_name *of;
    char *path;
    uint64_t number;   /* of its watches */
    int watches;       /* nodes are read with a watch */
    int is_armed;      /* all that the view has is watched */
    int has_lost;      /* a read, since the list began */
    ilk__zk_job *list; /* under way, or NULL */
    size_t round;      /* counts the beginnings of lists */
    size_t reads;      /* since then, without an answer yet */
};

/* A member of this client. */
struct ilk__zk_member {
    ilk__node by_token; /* first */
    ilk__timer timer;   /* of the end of its lease */
    ilk__zk *store;
    int is_lapsed; /* the lease has ended, and the node is being removed */
    char *path;
    size_t token_len;
    char token[];
};

static const char is_closing[] = "ILKDOWN the client is being closed";

/* ---- names ----------------------------------------------------------------- */

/* NULL: no memory. */
static ilk__zk_group *find_group(ilk__zk *store, ilk__group_name *name)
{
    ilk__zk_group *at = name->at_store;

    if (at)
        return at;
    at = ilk__calloc(1, sizeof *at);
    if (at)
        at->path =
            ilk__zk_path_of(store->path, (ilk__span){name->state.key.data,
                                                     name->state.key.len});
    if (!at || !at->path) {
        ilk__free(at);
        return NULL;
    }
    at->store = store;
    at->of = name;
    at->number = ++store->name_number;
    at->next = store->groups_used;
    if (at->next)
        at->next->previous = at;
    store->groups_used = at;
    name->at_store = at;
    return at;
}

static ilk__zk_group *find_number(const ilk__zk *store, uint64_t number)
{
    ilk__zk_group *at = store->groups_used;

    while (at && at->number != number)
        at = at->next;
    return at;
}

void ilk__zk_group_forget(void *self, ilk__group_name *name)
{
    ilk__zk *store = self;
    ilk__zk_group *at = name->at_store;

    if (!at)
        return;
    *(at->previous ? &at->previous->next : &store->groups_used) = at->next;
    if (at->next)
        at->next->previous = at->previous;
    name->at_store = NULL;
    ilk__free(at->path);
    ilk__free(at);
}

/* ---- the members of this client --------------------------------------------- */

static ilk__zk_member *find_member(const ilk__zk *store, ilk__span token)
{
    return (ilk__zk_member *)ilk__table_find(&store->members, token.at,
                                             token.len);
}

static void forget_member(ilk__zk_member *one)
{
    ilk__zk *store = one->store;

    ilk__table_remove(&store->members, &one->by_token);
    ilk__timer_clear(&store->member_timers, &one->timer);
    ilk__timers_unreserve(&store->member_timers);
    ilk__free(one->path);
    ilk__free(one);
}

static void forget_all(ilk__zk *store)
{
    ilk__node *node;
    size_t cursor = 0;

    while ((node = ilk__table_bucket(&store->members, &cursor)))
        for (ilk__node *next; node; node = next) {
            next = node->next;
            forget_member((ilk__zk_member *)node);
        }
}

static void lapse(ilk__timer *timer, void *context);

/* NULL: no memory. */
static ilk__zk_member *new_member(ilk__zk *store, const char *path,
                                  ilk__span token)
{
    ilk__zk_member *one = ilk__calloc(1, sizeof *one + token.len);

    if (!one)
        return NULL;
    memcpy(one->token, token.at, token.len);
    one->token_len = token.len;
    one->store = store;
    one->timer.fire = lapse;
    one->path = ilk__strdup(path);
    if (!one->path || ilk__timers_reserve(&store->member_timers, NULL)) {
        ilk__free(one->path);
        ilk__free(one);
        return NULL;
    }
    if (ilk__table_add(&store->members, &one->by_token, one->token,
                       token.len)) {
        ilk__timers_unreserve(&store->member_timers);
        ilk__free(one->path);
        ilk__free(one);
        return NULL;
    }
    return one;
}

static void set_end(ilk__zk_member *one, int64_t ends)
{
    if (one->timer.due < ends || !one->timer.slot)
        ilk__timer_set(&one->store->member_timers, &one->timer, ends);
}

/* ---- how a request about a member ends --------------------------------------- */

static int script_of(const ilk__zk_job *job)
{
    return job->request ? job->request->script : ILK__SCRIPT_GROUP_LEAVE;
}

/* A lapse has no request. */
static ilk__span token_of(const ilk__zk_job *job)
{
    return job->request ? job->member.token
                        : (ilk__span){job->token.data, job->token.len};
}

/* A lapse is void when its join was repeated meanwhile. */
static int is_void(const ilk__zk_job *job)
{
    const ilk__zk_member *one = find_member(job->store, token_of(job));

    return !job->request && (!one || !one->is_lapsed);
}

static void forget_own(const ilk__zk_job *job)
{
    ilk__zk_member *one = find_member(job->store, token_of(job));

    if (one && !is_void(job))
        forget_member(one);
}

/* The core repeats what may have been executed. A join that is not repeated lapses. */
static void end_failed(ilk__zk_job *job, const char *error)
{
    const int may_have_run = job->is_unsure || job->is_writing;
    ilk__zk_member *one;

    if (job->request) {
        if (script_of(job) == ILK__SCRIPT_GROUP_JOIN && !may_have_run)
            forget_own(job);
        ilk__group_failed(job->of_group, job->request,
                          may_have_run ? NULL : error);
    } else {
        one = find_member(job->store, token_of(job));
        if (one)
            set_end(one, ilk__now_ms() + ILK__ZK_AGAIN_MS);
    }
    ilk__zk_job_over(job);
}

static void end_for(ilk__zk_job *job, int rc)
{
    char text[200];

    end_failed(job, ilk__zk_error(text, rc));
}

/* The node is not there (any more). */
static void end_gone(ilk__zk_job *job, int has_left)
{
    forget_own(job);
    if (job->request && has_left)
        ilk__group_done(job->of_group, job->request);
    else if (job->request)
        ilk__group_lost(job->of_group, job->request);
    ilk__zk_job_over(job);
}

static void end_refused(ilk__zk_job *job)
{
    forget_own(job);
    ilk__group_refused(job->of_group, job->request);
    ilk__zk_job_over(job);
}

/* The node was there with its data when this request was executed. */
static void end_well(ilk__zk_job *job, int64_t sent_at)
{
    ilk__zk *store = job->store;
    ilk__zk_member *one = find_member(store, token_of(job));
    const int64_t ends = sent_at + job->member.lease_ms;
    const int64_t left =
        ilk__sooner(ends, ilk__zk_session_end(store)) - ilk__now_ms();

    if (!one && script_of(job) != ILK__SCRIPT_GROUP_JOIN) {
        ilk__group_lost(job->of_group, job->request); /* with its session */
    } else if (script_of(job) == ILK__SCRIPT_GROUP_UPDATE) {
        ilk__group_done(job->of_group, job->request);
    } else if (one && left > 0) {
        one->is_lapsed = 0; /* it has read the node before the lapse has */
        set_end(one, ends);
        ilk__group_held(job->of_group, job->request, left);
    } else {
        job->is_unsure |= script_of(job) == ILK__SCRIPT_GROUP_JOIN;
        end_failed(job, "ILKDOWN ZooKeeper answers later than the session may "
                        "last");
        return;
    }
    ilk__zk_job_over(job);
}

/* ---- requests about a member ------------------------------------------------- */

/* NULL: no memory, and the job has ended. */
static ilk__zk_op *op_of(ilk__zk_job *job, ilk__zk_then *then)
{
    ilk__zk_op *op = ilk__zk_op_new(job->store, then, NULL, NULL, job);

    if (!op)
        end_failed(job, ilk__zk_no_memory);
    return op;
}

/* The same for a request that writes. */
static ilk__zk_op *write_of(ilk__zk_job *job, ilk__zk_then *then)
{
    ilk__zk_op *op = op_of(job, then);

    job->is_writing = op != NULL;
    return op;
}

/* Whether a write has no answer: the job begins again over the next connection. */
static int repeats_write(ilk__zk_op *op)
{
    op->job->is_writing = 0;
    op->job->is_unsure |= ilk__zk_is_unsure(op->rc);
    return ilk__zk_job_repeats(op->job, op);
}

/* Again at once, because of what another one has done. */
static void again(ilk__zk_job *job)
{
    if (++job->attempts > ILK__ZK_ATTEMPTS)
        end_failed(job, "ERR ZooKeeper: a node changes all the time");
    else
        job->run(job);
}

static int is_own(const ilk__zk_job *job, const ilk__zk_op *op)
{
    return op->rc == ILK__ZK_OK
           && ilk__group_has_token((ilk__span){op->text, op->text_len},
                                   token_of(job));
}

/* Behind a sync, it shows all that was done before the request came. */
static void read_node(ilk__zk_job *job, ilk__zk_then *then)
{
    ilk__zk_op *op;

    if (!ilk__zk_sync(job->store)) {
        end_failed(job, ilk__zk_no_memory);
        return;
    }
    op = op_of(job, then);
    if (op)
        ilk__zk_get(op, job->path, 0);
}

/* 0: there is no answer, or an error, and the job goes on or has ended. */
static int is_read(ilk__zk_op *op)
{
    if (ilk__zk_job_repeats(op->job, op))
        return 0;
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_NODE)
        return 1;
    end_for(op->job, op->rc);
    return 0;
}

static void was_set(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;

    if (repeats_write(op))
        return;
    if (op->rc == ILK__ZK_OK)
        end_well(job, op->sent_at);
    else if (op->rc == ILK__ZK_BAD_VERSION || op->rc == ILK__ZK_NO_NODE)
        again(job);
    else
        end_for(job, op->rc);
}

/* A join or an update has read the own node, which is to have this data. */
static void write_over(ilk__zk_job *job, const ilk__zk_op *found)
{
    ilk__bytes value = {NULL, 0};
    ilk__zk_op *op;

    if (ilk__group_value(&value, &job->member)) {
        end_failed(job, ilk__zk_no_memory);
        return;
    }
    if (value.len == found->text_len
        && memcmp(value.data, found->text, value.len) == 0) {
        end_well(job, found->sent_at);
    } else {
        op = write_of(job, was_set);
        if (op)
            ilk__zk_set(op, job->path, (ilk__span){value.data, value.len},
                        found->stat.version);
    }
    ilk__free(value.data);
}

/* ---- join -------------------------------------------------------------------- */

static void was_deleted_before(ilk__zk_op *op)
{
    if (repeats_write(op))
        return;
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_NODE)
        again(op->job);
    else
        end_for(op->job, op->rc);
}

/* The node is of an earlier copy, or of another member. An own one of an earlier
 * session is deleted: the server would do that later. */
static void has_other(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    ilk__zk_op *delete;

    if (!is_read(op))
        return;
    if (op->rc == ILK__ZK_NO_NODE) {
        again(job);
    } else if (!ilk__group_is_value((ilk__span){op->text, op->text_len})) {
        end_failed(job, "WRONGTYPE the node of the member has data of another "
                        "kind");
    } else if (!is_own(job, op)) {
        end_refused(job);
    } else if (op->stat.owner == job->store->session_id) {
        write_over(job, op);
    } else {
        delete = write_of(job, was_deleted_before);
        if (delete)
            ilk__zk_delete(delete, job->path);
    }
}

static void made_parent(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    ilk__zk *store = job->store;

    if (ilk__zk_job_repeats(job, op))
        return;
    if (op->rc == ILK__ZK_UNIMPLEMENTED && !store->has_no_containers) {
        store->has_no_containers = 1;       /* an old server */
    } else if (op->rc == ILK__ZK_NO_NODE) { /* the path is gone */
        job->is_running = 0;
        store->made = 0;
        ilk__zk_prepare_path(store); /* which resumes all */
        return;
    } else if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NODE_EXISTS) {
        end_for(job, op->rc);
        return;
    }
    again(job);
}

static void make_parent(ilk__zk_job *job)
{
    const ilk__zk_group *at = job->of_group->at_store;
    ilk__zk *store = job->store;
    ilk__zk_op *op = op_of(job, made_parent);

    if (op)
        ilk__zk_create(op, at->path, (ilk__span){"", 0},
                       store->has_no_containers ? ILK__ZK_PERSISTENT
                                                : ILK__ZK_CONTAINER,
                       ilk__zk_acl(store));
}

static void was_created(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;

    if (repeats_write(op))
        return;
    if (op->rc == ILK__ZK_OK)
        end_well(job, op->sent_at);
    else if (op->rc == ILK__ZK_NODE_EXISTS)
        read_node(job, has_other);
    else if (op->rc == ILK__ZK_NO_NODE)
        make_parent(job);
    else
        end_for(job, op->rc);
}

/* The member is noted down before its node can exist, and lapses if its join is not
 * repeated after a failure. */
static void run_join(ilk__zk_job *job)
{
    ilk__zk *store = job->store;
    ilk__zk_member *one = find_member(store, job->member.token);
    ilk__bytes value = {NULL, 0};
    ilk__zk_op *op;

    if (!one)
        one = new_member(store, job->path, job->member.token);
    if (!one || ilk__group_value(&value, &job->member)) {
        end_failed(job, ilk__zk_no_memory);
        return;
    }
    one->is_lapsed = 0;
    set_end(one, ilk__now_ms() + job->member.lease_ms);
    op = write_of(job, was_created);
    if (op)
        ilk__zk_create(op, job->path, (ilk__span){value.data, value.len},
                       ILK__ZK_EPHEMERAL, ilk__zk_acl(store));
    ilk__free(value.data);
}

/* ---- renew, update ----------------------------------------------------------- */

static void has_own(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;

    if (!is_read(op))
        return;
    if (!is_own(job, op))
        end_gone(job, 0);
    else if (script_of(job) == ILK__SCRIPT_GROUP_UPDATE)
        write_over(job, op);
    else
        end_well(job, op->sent_at);
}

/* One that is not noted down has gone with an earlier session. */
static void run_for_own(ilk__zk_job *job)
{
    const ilk__zk_member *one = find_member(job->store, job->member.token);

    if (!one || one->is_lapsed) {
        ilk__group_lost(job->of_group, job->request);
        ilk__zk_job_over(job);
        return;
    }
    read_node(job, has_own);
}

/* ---- leave ------------------------------------------------------------------- */

static void was_deleted(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;

    if (repeats_write(op))
        return;
    if (op->rc == ILK__ZK_OK || op->rc == ILK__ZK_NO_NODE)
        end_gone(job, op->rc == ILK__ZK_OK || job->is_unsure);
    else
        end_for(job, op->rc);
}

static void has_node(ilk__zk_op *op)
{
    ilk__zk_job *job = op->job;
    ilk__zk_op *delete;

    if (!is_read(op))
        return;
    if (is_void(job)) {
        ilk__zk_job_over(job);
    } else if (!is_own(job, op)) {
        end_gone(job, job->is_unsure); /* by an earlier copy */
    } else {
        delete = write_of(job, was_deleted);
        if (delete)
            ilk__zk_delete(delete, job->path);
    }
}

static void run_leave(ilk__zk_job *job)
{
    if (is_void(job))
        ilk__zk_job_over(job);
    else
        read_node(job, has_node);
}

static void lapse(ilk__timer *timer, void *context)
{
    ilk__zk_member *one =
        (ilk__zk_member *)((char *)timer - offsetof(ilk__zk_member, timer));
    ilk__zk *store = context;
    ilk__zk_job *job =
        ilk__zk_job_new(store, NULL, NULL, run_leave, end_failed);

    if (job) {
        job->is_of_group = 1;
        job->path = ilk__strdup(one->path);
        job->token = (ilk__bytes){ilk__memdup(one->token, one->token_len),
                                  one->token_len};
    }
    if (!job || !job->path || !job->token.data) {
        ilk__zk_job_unref(job);
        ilk__timer_set(&store->member_timers, &one->timer,
                       ilk__now_ms() + ILK__ZK_AGAIN_MS);
        return;
    }
    one->is_lapsed = 1;
    ilk__zk_job_start(job);
}

void ilk__zk_members_fire(ilk__zk *store, int64_t now)
{
    ilk__timer *timer;

    while ((timer = ilk__timers_pop(&store->member_timers, now)))
        timer->fire(timer, store);
}

/* ---- the store's functions ---------------------------------------------------- */

static void start(ilk__zk *store, ilk__zk_run *run, ilk__group_name *name,
                  const ilk__group_member *member,
                  ilk__gateway_request *request)
{
    const ilk__zk_group *at = find_group(store, name);
    ilk__zk_job *job = ilk__zk_job_new(store, NULL, request, run, end_failed);

    if (job && at)
        job->path = ilk__zk_path_of(at->path, member->id);
    if (!job || !job->path) {
        ilk__zk_job_unref(job);
        ilk__group_failed(name, request, ilk__zk_no_memory);
        return;
    }
    job->is_of_group = 1;
    job->of_group = name;
    job->member = *member;
    ilk__zk_job_start(job);
}

void ilk__zk_group_join(void *self, ilk__group_name *name,
                        const ilk__group_member *member,
                        ilk__gateway_request *request)
{
    start(self, run_join, name, member, request);
}

void ilk__zk_group_renew(void *self, ilk__group_name *name,
                         const ilk__group_member *member,
                         ilk__gateway_request *request)
{
    start(self, run_for_own, name, member, request);
}

void ilk__zk_group_update(void *self, ilk__group_name *name,
                          const ilk__group_member *member,
                          ilk__gateway_request *request)
{
    start(self, run_for_own, name, member, request);
}

void ilk__zk_group_leave(void *self, ilk__group_name *name,
                         const ilk__group_member *member,
                         ilk__gateway_request *request)
{
    start(self, run_leave, name, member, request);
}

/* ---- the list ----------------------------------------------------------------- */

static void end_list(ilk__zk_group *at, const char *error)
{
    ilk__zk_job *job = at->list;

    at->list = NULL;
    at->is_armed = !error && at->watches && !at->has_lost;
    ilk__zk_job_over(job);
    ilk__group_was_listed(at->of, error);
}

static void fail_list(ilk__zk_job *job, const char *error)
{
    end_list(job->of_group->at_store, error);
}

/* A read without an answer, or with an error: the view may have missed a change. */
static void lose_track(ilk__zk_group *at, size_t round, int rc)
{
    char text[200];

    at->is_armed = 0;
    at->has_lost = 1;
    if (!at->list || round != at->round)
        ilk__group_interrupted(at->of);
    else if (ilk__zk_is_unsure(rc))
        at->list->is_running = 0; /* again over the next connection */
    else
        end_list(at, ilk__zk_error(text, rc));
}

/* The group that an answer is for, or NULL. Answers from before the list was begun anew
 * are not counted. */
static ilk__zk_group *group_of(const ilk__zk_op *op)
{
    ilk__zk_group *at =
        op->store->is_closing ? NULL : find_number(op->store, op->watch_for);

    if (at && op->index == at->round)
        at->reads--;
    return at;
}

static void note_read(ilk__zk_group *at)
{
    if (at->list && at->list->is_running && !at->reads)
        end_list(at, NULL);
}

/* NULL: no memory. */
static ilk__zk_op *reading(ilk__zk_group *at, ilk__zk_then *then)
{
    ilk__zk_op *op = ilk__zk_op_new(at->store, then, NULL, NULL, NULL);

    if (!op)
        return NULL;
    op->watch_for = at->number;
    op->index = at->round;
    at->reads++;
    return op;
}

static void has_child(ilk__zk_op *op)
{
    ilk__zk_group *at = group_of(op);
    const ilk__span id = {op->child, op->child_len};

    if (!at)
        return;
    if (op->rc == ILK__ZK_OK) {
        ilk__group_has(at->of, id, (ilk__span){op->text, op->text_len}, 0);
    } else if (op->rc == ILK__ZK_NO_NODE) {
        ilk__group_has_left(at->of, id, 0);
    } else {
        lose_track(at, op->index, op->rc);
        return;
    }
    note_read(at);
}

/* 0: no memory. */
static int read_child(ilk__zk_group *at, const char *child)
{
    const size_t len = strlen(at->path) + strlen(child) + 2;
    ilk__zk_op *op = reading(at, has_child);
    char *path = ilk__malloc(len);

    if (op)
        op->child = ilk__malloc(strlen(child) + 1);
    if (op && op->child && path) {
        op->child_len =
            ilk__zk_decode(op->child, (ilk__span){child, strlen(child)});
        (void)snprintf(path, len, "%s/%s", at->path, child);
        ilk__zk_get(op, path, at->watches);
        ilk__free(path);
        return 1;
    }
    ilk__zk_op_free(op);
    ilk__free(path);
    return 0;
}

/* Those that are known need no reading while they are watched. */
static int take_children(ilk__zk_group *at, const ilk__zk_op *op)
{
    int is_good = 1;

    ilk__group_list_begins(at->of);
    for (size_t i = 0; i < op->child_count; i++) {
        const char *child = op->children[i];
        char *id = ilk__malloc(strlen(child) + 1);
        const ilk__span encoded = {child, strlen(child)};

        is_good &=
            id
            && ((ilk__group_lists(at->of,
                                  (ilk__span){id, ilk__zk_decode(id, encoded)})
                 && at->is_armed)
                || read_child(at, child));
        ilk__free(id);
    }
    if (is_good)
        ilk__group_list_ends(at->of, 0);
    return is_good;
}

static void read_children(ilk__zk_group *at);

/* A missing node has no children to watch. */
static void has_existence(ilk__zk_op *op)
{
    ilk__zk_group *at = group_of(op);

    if (!at)
        return;
    if (op->rc == ILK__ZK_OK) {
        read_children(at); /* it was created meanwhile */
    } else if (op->rc != ILK__ZK_NO_NODE) {
        lose_track(at, op->index, op->rc);
        return;
    }
    note_read(at);
}

static void has_children(ilk__zk_op *op)
{
    ilk__zk_group *at = group_of(op);
    ilk__zk_op *exists = NULL;

    if (!at)
        return;
    if (op->rc != ILK__ZK_OK && op->rc != ILK__ZK_NO_NODE) {
        lose_track(at, op->index, op->rc);
        return;
    }
    if (op->rc == ILK__ZK_NO_NODE && at->watches) {
        exists = reading(at, has_existence);
        if (exists)
            ilk__zk_exists(exists, at->path, 1);
    }
    if ((op->rc == ILK__ZK_NO_NODE && at->watches && !exists)
        || !take_children(at, op)) {
        lose_track(at, op->index, ILK__ZK_NO_MEMORY);
        return;
    }
    note_read(at);
}

static void read_children(ilk__zk_group *at)
{
    ilk__zk_op *op = reading(at, has_children);

    if (op)
        ilk__zk_children(op, at->path, at->watches);
    else
        lose_track(at, at->round, ILK__ZK_NO_MEMORY);
}

/* The events about earlier changes have come, and their reads are counted. */
static void has_synced(ilk__zk_op *op)
{
    ilk__zk_group *at = group_of(op);

    if (at && op->rc != ILK__ZK_OK)
        lose_track(at, op->index, op->rc);
    else if (at)
        note_read(at);
}

/* 0: no memory. */
static int sync_list(ilk__zk_group *at)
{
    ilk__zk_op *op = reading(at, has_synced);

    if (op)
        ilk__zk_sync_for(op);
    return op != NULL;
}

static void run_list(ilk__zk_job *job)
{
    ilk__zk_group *at = job->of_group->at_store;

    at->round++;
    at->reads = 0;
    at->has_lost = 0;
    if (!sync_list(at))
        end_list(at, ilk__zk_no_memory);
    else if (!at->is_armed)
        read_children(at);
}

void ilk__zk_group_list(void *self, ilk__group_name *name, int watches)
{
    ilk__zk *store = self;
    ilk__zk_group *at = store->is_closing ? NULL : find_group(store, name);
    ilk__zk_job *job =
        at ? ilk__zk_job_new(store, NULL, NULL, run_list, fail_list) : NULL;

    if (!job) {
        ilk__group_was_listed(name, store->is_closing ? is_closing
                                                      : ilk__zk_no_memory);
        return;
    }
    at->watches = watches;
    at->list = job;
    job->is_of_group = 1;
    job->of_group = name;
    ilk__zk_job_start(job);
}

/* ---- events ------------------------------------------------------------------- */

void ilk__zk_group_watch_fired(ilk__zk *store, uint64_t number,
                               const char *path)
{
    ilk__zk_group *at = find_number(store, number);
    const size_t len = at ? strlen(at->path) : 0;

    if (!at || !at->watches)
        return;
    if (strncmp(path, at->path, len) != 0)
        lose_track(at, at->round, ILK__ZK_NO_MEMORY);
    else if (path[len] != '/')
        read_children(at);
    else if (!read_child(at, path + len + 1))
        lose_track(at, at->round, ILK__ZK_NO_MEMORY);
}

void ilk__zk_groups_list_again(ilk__zk *store)
{
    for (ilk__zk_group *at = store->groups_used; at; at = at->next) {
        at->is_armed = 0;
        at->has_lost = 1;
        ilk__group_interrupted(at->of);
    }
}

void ilk__zk_groups_session_lost(ilk__zk *store)
{
    forget_all(store);
    ilk__zk_groups_list_again(store);
}

void ilk__zk_group_break(ilk__zk_job *job)
{
    ilk__zk_group *at = job->of_group ? job->of_group->at_store : NULL;

    if (job->request) {
        ilk__group_failed(job->of_group, job->request, NULL);
    } else if (at) {
        at->list = NULL;
        ilk__group_was_listed(at->of, is_closing);
    }
}

void ilk__zk_groups_close(ilk__zk *store)
{
    forget_all(store);
    ilk__table_free(&store->members);
    ilk__timers_free(&store->member_timers);
}
