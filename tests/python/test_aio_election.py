# SPDX-License-Identifier: MIT
"""Elections for tasks: who leads, who is notified, and what a cancelled task leaves."""

from __future__ import annotations

import time

import anyio
import interlock
import pytest
from aio_case import cancelled, on_both_kinds, until
from interlock import aio


async def until_in_line(client, name, count):
    """Wait until so many stand in line."""

    async def there():
        return (await client.election(name).inspect()).waiting == count

    await until(there)


async def until_vacant(client, name):
    """Wait until nobody leads; nobody may stand in line then."""

    async def vacant():
        return await client.election(name).leader() is None

    await until(vacant)
    assert (await client.election(name).inspect()).waiting == 0


def campaigning(one):
    """A task's work: campaign, and resign when that was in time."""

    async def work():
        await one.campaign()
        with anyio.CancelScope(shield=True):
            await one.resign()

    return work


# ---- leading ----------------------------------------------------------------


@on_both_kinds
async def test_one_leads_and_publishes(url, name):
    async with aio.connect(url) as client:
        mine = client.election(name, value=b"me\0\xff", identity="node")
        theirs = client.election(name, value=b"they")
        assert (mine.name, mine.identity) == (name, "node")
        assert await theirs.leader() is None
        assert await mine.campaign()
        assert mine.is_leader and 15 < mine.remaining() <= 20 and mine.term > 0
        assert not await theirs.campaign(0)
        began = time.monotonic()
        assert not await theirs.campaign(timeout=0.1)
        assert time.monotonic() - began >= 0.1
        assert await theirs.leader() == b"me\0\xff"
        assert await mine.campaign()  # it leads already
        await mine.check()
        assert await mine.resign()
        assert not mine.is_leader and await mine.leader() is None
        with pytest.raises(interlock.NotOwnedError):
            await mine.resign()


@on_both_kinds
async def test_the_next_leads_in_a_greater_term_when_one_resigns(url, name):
    async with aio.connect(url) as client:
        mine, theirs = client.election(name), client.election(name, value=b"b")
        assert await mine.campaign(0)
        async with anyio.create_task_group() as group:
            group.start_soon(theirs.campaign)
            await until_in_line(client, name, 1)
            assert await mine.resign()
        assert theirs.is_leader and theirs.term > mine.term
        assert await mine.leader() == b"b"


@on_both_kinds
async def test_a_hundred_candidates_lead_one_after_the_other(url, name):
    terms, leading = [], 0

    async def lead(client):
        nonlocal leading
        async with client.election(name) as one:
            leading += 1
            assert leading == 1
            await anyio.sleep(0)
            terms.append(one.term)
            leading -= 1

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(lead, client)

    assert len(terms) == 100 and terms == sorted(set(terms))


@on_both_kinds
async def test_a_thousand_candidates_share_three_connections(url, name):
    async with aio.connect(url) as client:
        async with client.election(name, value=b"first") as first:
            async with anyio.create_task_group() as group:
                for _ in range(1000):
                    group.start_soon(client.election(name).campaign)
                await until_in_line(client, name, 1000)
                assert client.stats().connections <= 3
                group.cancel_scope.cancel()
            assert first.is_leader and await first.leader() == b"first"
        await until_vacant(client, name)


@on_both_kinds
async def test_proclaim_and_renew_by_hand(url, server, name):
    async with aio.connect(url) as client:
        one = client.election(name, value=b"old", renew=False)
        with pytest.raises(interlock.NotOwnedError):
            await one.proclaim(b"x")
        assert await one.campaign(0)
        assert await one.proclaim(b"new") and await one.leader() == b"new"
        assert await one.renew(40)
        assert 35 < one.remaining() <= 40
        with pytest.raises(TypeError, match="value must be bytes"):
            await one.proclaim("text")
        server.call("DEL", f"ilk:election:{{{name}}}")
        assert not await one.proclaim(b"late")
        assert not one.is_leader and not await one.resign()


@on_both_kinds
async def test_inspect_has_the_leader_and_the_waiters(url, name):
    async with aio.connect(url, label="standby-1") as client:
        one = client.election(name, value=b"v")
        await one.campaign()
        async with anyio.create_task_group() as group:
            group.start_soon(client.election(name).campaign)
            await until_in_line(client, name, 1)
            found = await one.inspect()
            group.cancel_scope.cancel()
    assert isinstance(found, interlock.Leader)
    assert (found.value, found.term) == (b"v", one.term)
    assert (found.candidates, found.waiting) == (["standby-1"], 1)
    assert abs(found.since - time.time()) < 60


@on_both_kinds
async def test_the_same_identity_leads_on_in_the_same_term(url, name):
    async with aio.connect(url) as client:
        before = client.election(name, identity="node-7", ttl=2, value=b"1")
        assert await before.campaign(0)
        after = client.election(name, identity="node-7", ttl=2, value=b"2")
        assert await after.campaign(0)
        assert after.term == before.term and await after.leader() == b"2"


# ---- cancelling -------------------------------------------------------------


@on_both_kinds
async def test_a_task_cancelled_in_line_leaves_no_place_behind(url, name):
    async with aio.connect(url) as client, client.election(name):
        for _ in range(20):
            one = client.election(name)
            async with anyio.create_task_group() as group:
                group.start_soon(one.campaign)
                await until_in_line(client, name, 1)
                group.cancel_scope.cancel()
            assert (await one.inspect()).waiting == 0
            assert not one.is_leader


@on_both_kinds
async def test_a_task_cancelled_at_any_moment_leads_nothing(url, name):
    async with aio.connect(url) as client:
        for step in range(40):
            one = client.election(name)
            await cancelled(campaigning(one), step * 0.00005)
            await until_vacant(client, name)
            assert not one.is_leader


@on_both_kinds
async def test_a_leadership_that_comes_as_the_task_is_cancelled_is_passed_on(
    url, client, name
):
    """It is elected, and the task is cancelled before it runs again."""
    former = client.election(name)
    former.campaign()
    async with aio.connect(url) as tasks:
        one = tasks.election(name, value=b"new")
        async with anyio.create_task_group() as group:
            group.start_soon(campaigning(one))
            await until_in_line(tasks, name, 1)
            former.resign()  # meanwhile the loop does nothing
            assert former.leader() == b"new"
            time.sleep(0.05)
            group.cancel_scope.cancel()
        assert not one.is_leader
        await until_vacant(tasks, name)


@on_both_kinds
async def test_a_leader_whose_campaign_is_cancelled_leads_on(url, name):
    async with aio.connect(url) as client:
        one = client.election(name, value=b"me")
        await one.campaign()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await one.campaign()
        await client.ping()
        assert one.is_leader and await one.leader() == b"me"


@on_both_kinds
async def test_a_resignation_that_is_cancelled_is_done(url, name):
    async with aio.connect(url) as client:
        one = client.election(name)
        await one.campaign()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await one.resign()
        assert not one.is_leader
        assert await client.election(name).campaign(1)


@on_both_kinds
async def test_cancel_ends_the_campaign_of_another_task(url, name):
    async with aio.connect(url) as client, client.election(name):
        one = client.election(name)

        async def wait():
            with pytest.raises(interlock.CancelledError):
                await one.campaign()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until_in_line(client, name, 1)
            with pytest.raises(interlock.HeldError):
                await one.campaign()
            one.cancel()
        assert (await one.inspect()).waiting == 0


# ---- losing it, and the server ----------------------------------------------


@on_both_kinds
async def test_a_leader_that_is_deposed_stops_what_it_does(url, server, name):
    reached = False
    async with aio.connect(url) as client:
        notifications = client.notifications()
        with pytest.raises(interlock.LostError):
            async with client.election(name, ttl=1.5) as one:
                server.call("DEL", f"ilk:election:{{{name}}}")
                await anyio.sleep(10)
                reached = True
        assert not reached
        seen = [(await notifications.get(5)).kind for _ in range(2)]
        assert seen == ["leadership_won", "leadership_lost"]
        assert not one.is_leader


@on_both_kinds
async def test_a_deposed_leader_learns_it_at_the_end_of_its_block(url, server, name):
    async with aio.connect(url) as client:
        with pytest.raises(interlock.LostError, match="leadership of"):
            async with client.election(name):
                server.call("DEL", f"ilk:election:{{{name}}}")


@on_both_kinds
async def test_closing_ends_campaigns_and_observers(url, name):
    async with aio.connect(url) as keeper, keeper.election(name):
        client, ended = await aio.connect(url), []

        async def campaign():
            with pytest.raises(interlock.ClosedError):
                await client.election(name).campaign()
            ended.append("campaign")

        async def observe():
            observer = client.election(name).observe()
            assert await observer.get() is not None
            with pytest.raises(interlock.ClosedError):
                await observer.get()
            ended.append("observer")

        async with anyio.create_task_group() as group:
            group.start_soon(campaign)
            group.start_soon(observe)
            await until_in_line(keeper, name, 1)
            await anyio.sleep(0.05)
            await client.close()
        assert sorted(ended) == ["campaign", "observer"]


@on_both_kinds
async def test_all_goes_on_when_the_server_is_killed_and_restarted(own_server, name):
    async with aio.connect(own_server.unix_url) as client:
        await client.election(name, value=b"old", renew=False).campaign()
        one, seen = client.election(name, value=b"new"), []

        async def observe():
            async for value, _ in client.election(name).observe():
                seen.append(value)
                if value == b"new":
                    return

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(observe)
                group.start_soon(one.campaign)
                await until_in_line(client, name, 1)
                own_server.kill()
                await anyio.sleep(0.05)
                own_server.start()  # it has forgotten everything
        assert one.is_leader
        assert seen[-1] == b"new"


@on_both_kinds
async def test_senseless_arguments_are_refused(url, server, name):
    async with aio.connect(url) as client:
        for options in ({"ttl": 0}, {"value": bytes(65537)}, {"identity": ""}):
            with pytest.raises(interlock.InvalidError):
                client.election(name, **options)
        with pytest.raises(TypeError):
            client.election(name, value="text")
        server.call("RPUSH", f"ilk:election:{{{name}}}", "x")
        for verb in ("campaign", "leader", "inspect"):
            with pytest.raises(interlock.WrongTypeError):
                await getattr(client.election(name), verb)()


@on_both_kinds
async def test_break_election_ends_the_term(url, name):
    async with aio.connect(url) as client:
        assert await client.break_election(name) is False
        leader = client.election(name)
        assert await leader.campaign(0)
        assert await client.break_election(name, leader.token) is True
        assert await leader.resign() is False
