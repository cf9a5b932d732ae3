/* SPDX-License-Identifier: MIT */
/* inspect.c -- `interlock inspect`: who holds a name, and who waits. */
#include "facts.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_KIND = CLI_KEY };

static const struct cli_option options[] = {
    {"kind", "KIND", "what NAME is; default lock", KEY_KIND, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

const char *cli_state_name(int32_t state)
{
    switch (state) {
    case ILK_INFO_FREE: return "free";
    case ILK_INFO_HELD: return "held";
    case ILK_INFO_FOREIGN: return "foreign";
    case ILK_INFO_READERS: return "readers";
    case ILK_INFO_REDISSON: return "redisson";
    default: return "unknown";
    }
}

static void json_waiters(struct cli_json *json, const ilk_info *info)
{
    size_t i, listed = (size_t)ilk_info_listed(info);

    cli_json_open(json, "wait_queue", '[');
    for (i = 0; i < listed; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "label", ilk_info_waiter_label(info, i));
        cli_json_text(json, "token", ilk_info_waiter_token(info, i));
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void print_json(struct cli_bytes name, const ilk_info *info)
{
    struct cli_json json;
    struct cli_bytes holder;

    holder.data = ilk_info_holder(info, &holder.len);
    cli_json_begin(&json, "lock", &name);
    cli_json_text(&json, "state", cli_state_name(ilk_info_get_state(info)));
    cli_json_bytes(&json, "token", holder);
    cli_json_text(&json, "label", ilk_info_label(info));
    cli_json_int(&json, "since_ms", ilk_info_since_ms(info));
    cli_json_int(&json, "ttl_ms", ilk_info_ttl_ms(info));
    cli_json_int(&json, "fence", ilk_info_fence(info));
    cli_json_int(&json, "readers", ilk_info_readers(info));
    cli_json_int(&json, "waiters", ilk_info_waiters(info));
    json_waiters(&json, info);
    cli_json_end(&json);
}

static void print_since(int64_t since_ms)
{
    char text[CLI_TIME_MAX];

    cli_time_text(text, since_ms);
    if (text[0])
        printf("since    %s\n", text);
}

static void print_holder(const ilk_info *info)
{
    struct cli_bytes holder;
    const char *label = ilk_info_label(info);

    holder.data = ilk_info_holder(info, &holder.len);
    if (label[0]) {
        fputs("holder   ", stdout);
        cli_put_text(stdout, label, strlen(label));
        fputc('\n', stdout);
    }
    fputs("token    ", stdout);
    cli_put_text(stdout, holder.data, holder.len);
    fputc('\n', stdout);
    print_since(ilk_info_since_ms(info));
    fputs("lease    ", stdout);
    if (ilk_info_ttl_ms(info) < 0)
        fputs("no end", stdout);
    else
        cli_put_duration(stdout, ilk_info_ttl_ms(info));
    fputc('\n', stdout);
    if (ilk_info_readers(info) > 0)
        printf("readers  %" PRId64 "\n", ilk_info_readers(info));
}

static void print_line(const ilk_info *info)
{
    size_t i, listed = (size_t)ilk_info_listed(info);

    printf("waiters  %" PRId64 "\n", ilk_info_waiters(info));
    for (i = 0; i < listed; i++) {
        const char *label = ilk_info_waiter_label(info, i);
        const char *token = ilk_info_waiter_token(info, i);

        printf("%7zu  ", i + 1);
        cli_put_text(stdout, label, strlen(label));
        fputs("  ", stdout);
        cli_put_text(stdout, token, strlen(token));
        fputc('\n', stdout);
    }
}

static void print_text(struct cli_bytes name, const ilk_info *info)
{
    fputs("name     ", stdout);
    cli_put_text(stdout, name.data, name.len);
    printf("\nstate    %s\n", cli_state_name(ilk_info_get_state(info)));
    if (ilk_info_get_state(info) != ILK_INFO_FREE)
        print_holder(info);
    printf("fence    %" PRId64 "\n", ilk_info_fence(info));
    print_line(info);
}

int cli_inspect_lock(ilk_client *client, struct cli_bytes name, int as_json)
{
    ilk_error err = {0, ""};
    ilk_info *info = NULL;
    ilk_status st = ilk_inspect(&info, client, name.data, name.len, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (as_json)
        print_json(name, info);
    else
        print_text(name, info);
    ilk_info_free(info);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    const struct cli_kind *kind = cli_kind_named("lock");
    ilk_client *client = NULL;
    struct cli_bytes name;
    const char *value;
    int key, status;

    while ((key = cli_args_next(args, &value)) > 0) {
        kind = cli_take_kind(args, value); /* the only option of its own */
        if (!kind)
            return args->status;
        if (!kind->inspect)
            return cli_usage(args, "a %s has no state of its own", kind->name);
    }
    if (key < 0)
        return args->status;
    if (cli_args_name(args, cli_args_word(args), &name) || cli_args_done(args))
        return args->status;
    status = cli_connect(args, &client);
    if (status == CLI_OK)
        status = kind->inspect(client, name, args->json);
    ilk_client_free(client);
    return status;
}

const struct cli_command cli_inspect = {
    .name = "inspect",
    .synopsis = "NAME",
    .summary = "Show who holds NAME and who waits for it.",
    .about = "The state of a lock is free, held, readers, foreign (held by\n"
             "another library) or redisson. Times are the server's. KIND is\n"
             "lock, semaphore, election, signal, event, barrier, latch,\n"
             "queue, group or register.\n",
    .options = options,
    .run = run,
};
