/* SPDX-License-Identifier: MIT */
/* inspect.c -- `interlock inspect`: who holds names, and who waits. */
#include "info.h"

#include <string.h>

enum { KEY_KIND = CLI_KEY };

static const struct cli_option options[] = {
    {"kind", "KIND", "what NAME is; default all kinds", KEY_KIND, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    CLI_OPTION_URL,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

struct inspecting {
    ilk_client *client;
    const struct cli_kind *kind; /* NULL: all */
    int as_json, printed;
};

static void print(struct inspecting *with, const struct cli_finding *found)
{
    if (with->as_json) {
        cli_info_json(found);
        return;
    }
    if (with->printed++)
        putchar('\n');
    cli_info_text(found);
}

static int inspect_one(struct inspecting *with, struct cli_finding *found)
{
    ilk_error err = {0, ""};
    ilk_status st =
        ilk_inspect_kind(&found->info, with->client, found->kind->bit,
                         found->name.data, found->name.len, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    print(with, found);
    ilk_info_free(found->info);
    return CLI_OK;
}

/* All kinds that have something under this name. Without any the first kind that the store
 * keeps is printed, a lock that is free for example. */
static int inspect_all(struct inspecting *with, struct cli_bytes name)
{
    struct cli_finding first = {.name = name};
    ilk_error err = {0, ""};
    int found_any = 0;
    ilk_status st = ILK_OK;

    for (size_t i = 0; cli_kind_at(i) && st == ILK_OK; i++) {
        struct cli_finding found = {.kind = cli_kind_at(i), .name = name};

        if (!found.kind->offer
            || !ilk_client_offers(with->client, found.kind->offer))
            continue;
        st = ilk_inspect_kind(&found.info, with->client, found.kind->bit,
                              name.data, name.len, &err);
        found.is_another = st == ILK_ETYPE;
        if (found.is_another)
            st = ILK_OK;
        if (st == ILK_OK && ilk_info_in_use(found.info)) {
            print(with, &found);
            found_any = 1;
        }
        if (!first.kind)
            first = found;
        else
            ilk_info_free(found.info);
    }
    if (st == ILK_OK && !found_any && first.kind) {
        if (first.is_another)
            st = ILK_ETYPE;
        else
            print(with, &first);
    }
    ilk_info_free(first.info);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

static int inspect_name(struct inspecting *with, struct cli_bytes name)
{
    struct cli_finding found = {.kind = with->kind, .name = name};

    return with->kind ? inspect_one(with, &found) : inspect_all(with, name);
}

static int inspect_names(struct cli_args *args, struct inspecting *with)
{
    char *word = cli_args_word(args);
    struct cli_bytes name;
    int status = CLI_OK;

    do {
        if (cli_args_name(args, word, &name))
            return args->status;
        if (!with->client)
            status = cli_connect(args, &with->client);
        if (status == CLI_OK)
            status = inspect_name(with, name);
        word = cli_args_word(args);
    } while (word && status == CLI_OK);
    return status;
}

static int run(struct cli_args *args)
{
    struct inspecting with = {.as_json = args->json};
    const char *value;
    int key, status;

    while ((key = cli_args_next(args, &value)) > 0) {
        with.kind = cli_take_kind(args, value); /* the only option of its own */
        if (!with.kind)
            return args->status;
        if (!with.kind->offer)
            return cli_usage(args, "a %s has no state of its own",
                             ilk_kind_name(with.kind->bit));
    }
    if (key < 0)
        return args->status;
    with.as_json = args->json;
    status = inspect_names(args, &with);
    ilk_client_free(with.client);
    return status;
}

const struct cli_command cli_inspect = {
    .name = "inspect",
    .synopsis = "NAME...",
    .summary = "Show who holds NAME and who waits for it.",
    .about =
        "Without --kind all that is under NAME is shown, of each kind: a\n"
        "held semaphore or an election that is led as well as a lock. The\n"
        "state of a lock is free, held, readers, foreign (held by another\n"
        "library) or redisson. Times are the server's. KIND is lock,\n"
        "semaphore, election, signal, event, barrier, latch, queue, group\n"
        "or register.\n",
    .options = options,
    .run = run,
};
