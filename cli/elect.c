/* SPDX-License-Identifier: MIT */
/* elect.c -- `interlock elect`: run a command only while leading. */
#include "hold.h"
#include "signals.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_TTL = CLI_HOLD_KEY, KEY_VALUE, KEY_IDENTITY, KEY_ONCE, KEY_OBSERVE };

static const struct cli_option options[] = {
    {"ttl", "TIME", "the lease; default 20s, renewed while CMD runs", KEY_TTL,
     0},
    {"value", "TEXT", "what to publish while leading", KEY_VALUE, 0},
    {"identity", "TEXT", "stable identity: keeps the term over a restart",
     KEY_IDENTITY, 0},
    {"once", NULL, "exit with 76 when leadership is lost", KEY_ONCE, 0},
    {"observe", NULL, "no candidate: print each change of leader", KEY_OBSERVE,
     0},
    CLI_HOLD_OPTIONS,
};

struct elect_args {
    ilk_election_opts opts;
    int once, observes;
};

static int take_option(struct cli_args *args, void *into, int key,
                       const char *value)
{
    struct elect_args *with = into;

    switch (key) {
    case KEY_TTL: return cli_take_lease(args, "ttl", value, &with->opts.ttl_ms);
    case KEY_VALUE:
        with->opts.value = value;
        with->opts.value_len = strlen(value);
        return CLI_OK;
    case KEY_IDENTITY:
        with->opts.identity = value;
        with->opts.identity_len = strlen(value);
        return CLI_OK;
    case KEY_OBSERVE: with->observes = 1; return CLI_OK;
    default: with->once = 1; return CLI_OK;
    }
}

CLI_HOLD_KIND(election, campaign, resign, term)

static const struct cli_hold_kind kind = {
    .name = "election",
    .noun = "leadership of",
    .kind = ILK_KIND_ELECTION,
    .lost_notification = ILK_NOTIFICATION_LEADERSHIP_LOST,
    CLI_HOLD_FUNCTIONS(election),
};

/* After a loss the candidate stands for election again, and CMD starts anew.
   The pause keeps a leadership that is lost at once, again and again, from
   occupying the machine with starts of CMD. */
static int lead(const struct cli_hold *hold, int once)
{
    int status = cli_hold_take(hold);

    while (status == CLI_LOST && !once) {
        cli_signals_pause(100);
        if (cli_signals_ending())
            break;
        status = cli_hold_take(hold);
    }
    return status;
}

/* ---- observing ---------------------------------------------------------- */

struct observing {
    ilk_observer *observer;
    ilk_leader *leader;
};

static ilk_status next_leader(void *subject, int64_t timeout_ms, ilk_error *err)
{
    struct observing *observing = subject;

    return ilk_observer_next(&observing->leader, observing->observer,
                             timeout_ms, err);
}

static void print_json(struct cli_bytes name, const ilk_leader *leader)
{
    struct cli_json json;
    struct cli_bytes value;

    value.data = ilk_leader_value(leader, &value.len);
    cli_json_begin(&json, "election", &name);
    cli_json_text(&json, "state", value.data ? "led" : "vacant");
    cli_json_int(&json, "term", ilk_leader_term(leader));
    if (value.data) {
        cli_json_bytes(&json, "value", value);
        cli_json_text(&json, "label", ilk_leader_label(leader));
    }
    cli_json_end(&json);
}

static void print_line(const ilk_leader *leader)
{
    struct cli_bytes value;
    const char *label = ilk_leader_label(leader);

    value.data = ilk_leader_value(leader, &value.len);
    printf("%" PRId64 "\t%s", ilk_leader_term(leader),
           value.data ? "led\t" : "vacant");
    if (value.data) {
        cli_put_text(stdout, label, strlen(label));
        putchar('\t');
        cli_put_text(stdout, value.data, value.len);
    }
    putchar('\n');
}

/* Milliseconds that --wait leaves: 0 still prints the present state. */
static int64_t left_to_observe(const struct cli_hold *hold, int64_t began)
{
    int64_t left = hold->wait_ms - (cli_now_ms() - began);

    return hold->wait_ms < 0 ? -1 : left < 0 ? 0 : left;
}

static int observe(const struct cli_hold *hold)
{
    struct observing observing = {NULL, NULL};
    const int64_t began = cli_now_ms();
    ilk_error err = {0, ""};
    ilk_status st = ilk_election_observe(&observing.observer, hold->handle,
                                         ILK_OBSERVE_VACANT, &err);
    int status;

    while (st == ILK_OK) {
        st = cli_wait(hold->client, next_leader, &observing,
                      left_to_observe(hold, began), &err);
        if (st != ILK_OK)
            break;
        if (hold->as_json)
            print_json(hold->name, observing.leader);
        else
            print_line(observing.leader);
        ilk_leader_free(observing.leader);
        if (fflush(stdout) != 0)
            break; /* main() reports that */
    }
    if (st == ILK_EBUSY || st == ILK_ETIMEOUT)
        st = ILK_OK; /* --wait is over */
    status = st == ILK_EINTR ? cli_signals_status(cli_signals_ending())
             : st != ILK_OK  ? cli_fail(st, &err)
                             : CLI_OK;
    ilk_observer_free(observing.observer);
    return status;
}

static int run(struct cli_args *args)
{
    struct cli_hold hold = {.kind = &kind};
    struct elect_args with = {.once = 0};
    ilk_election *election = NULL;
    ilk_error err = {0, ""};
    ilk_status st;
    int status;

    ilk_election_opts_init(&with.opts, sizeof with.opts);
    if (cli_hold_args(args, &hold, take_option, &with) != 0)
        return args->status;
    if (with.observes && hold.argv)
        return cli_usage(args, "--observe takes no CMD");
    status = cli_hold_connect(args, &hold);
    if (status != CLI_OK)
        return status;
    st = ilk_election_open(&election, hold.client, hold.name.data,
                           hold.name.len, &with.opts, &err);
    hold.handle = election;
    if (st != ILK_OK)
        status = cli_fail(st, &err);
    else
        status = with.observes ? observe(&hold) : lead(&hold, with.once);
    ilk_election_free(election);
    ilk_client_free(hold.client);
    return status;
}

const struct cli_command cli_elect = {
    .name = "elect",
    .synopsis = "NAME [[--] CMD [ARG...]]",
    .summary = "Run CMD only while leading in the election NAME.",
    .about =
        "CMD is started when this candidate is elected, ended when the\n"
        "leadership is lost, and started again at its next election. When\n"
        "CMD ends by itself the candidate resigns. INTERLOCK_FENCE is\n"
        "the term. Signals and exit statuses are those of 'interlock\n"
        "lock'; without CMD it waits as 'interlock lock' does.\n"
        "\n"
        "--observe prints a line for the present state and for each\n"
        "change: the term and 'vacant', or the term, 'led', the leader\n"
        "and its value, with tabs between them. It ends after --wait,\n"
        "with --wait 0 after the present state.\n",
    .options = options,
    .run = run,
    .in_order = 1,
};
