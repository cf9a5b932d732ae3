/* SPDX-License-Identifier: MIT */
/* started_result.c -- the results that a started operation can have. */
#include "started_result.h"

#include "server_case.h"

static const void *number_of(ilk_op *op)
{
    return ilk_op_number(op) ? op : NULL;
}

static const void *info_of(ilk_op *op)
{
    return ilk_op_info(op);
}

static const void *list_of(ilk_op *op)
{
    return ilk_op_list(op);
}

static const void *value_of(ilk_op *op)
{
    return ilk_op_value(op);
}

static const void *leader_of(ilk_op *op)
{
    return ilk_op_leader(op);
}

static const void *arrival_of(ilk_op *op)
{
    return ilk_op_arrival(op);
}

static const void *batch_of(ilk_op *op)
{
    const ilk_batch *batch = ilk_op_batch(op);

    assert_int_equal(ilk_batch_count(batch) > 0, ilk_op_job(op) != NULL);
    return batch;
}

static const void *queue_info_of(ilk_op *op)
{
    return ilk_op_queue_info(op);
}

static const void *latch_of(ilk_op *op)
{
    return ilk_op_latch_count(op) || ilk_op_latch_left(op) ? op : NULL;
}

static const void *barrier_of(ilk_op *op)
{
    return ilk_op_barrier_parties(op) || ilk_op_barrier_waiting(op) ? op : NULL;
}

static const void *members_of(ilk_op *op)
{
    return ilk_op_members(op);
}

static const void *kv_entry_of(ilk_op *op)
{
    return ilk_op_kv_entry(op);
}

static const void *kv_progress_of(ilk_op *op)
{
    ilk_kv_progress progress = {.size = sizeof progress};

    return ilk_op_kv_progress(op, &progress, NULL) == ILK_OK ? op : NULL;
}

static const struct {
    const char *name;
    const void *(*get)(ilk_op *op);
} results[] = {
    [RESULT_NUMBER] = {"a number", number_of},
    [RESULT_INFO] = {"an inspection", info_of},
    [RESULT_LIST] = {"a list", list_of},
    [RESULT_VALUE] = {"a value", value_of},
    [RESULT_LEADER] = {"a leader", leader_of},
    [RESULT_ARRIVAL] = {"a signal", arrival_of},
    [RESULT_BATCH] = {"messages", batch_of},
    [RESULT_QUEUE_INFO] = {"a queue's inspection", queue_info_of},
    [RESULT_LATCH] = {"a latch's inspection", latch_of},
    [RESULT_BARRIER] = {"a barrier's inspection", barrier_of},
    [RESULT_MEMBERS] = {"members", members_of},
    [RESULT_KV_ENTRY] = {"a replicated value", kv_entry_of},
    [RESULT_KV_PROGRESS] = {"a progress", kv_progress_of},
};

void assert_result_at(started_result expected, ilk_op *op, const char *file,
                      int line)
{
    for (size_t i = 1; i < sizeof results / sizeof *results; i++) {
        const void *first = results[i].get(op), *again = results[i].get(op);

        if ((first != NULL) == (i == expected) && first == again)
            continue;
        print_error("%s: the operation has %s%s\n", row_name ? row_name : "",
                    first ? "" : "not ", results[i].name);
        _fail(file, line);
    }
}
