# SPDX-License-Identifier: MIT
"""A database server that lies ends, hangs and bloats no process of its clients.

The client library trusts its server (libcore/stores/mysql/mysql_frames.h). These
tests need the backend, and no server of a database.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

import interlock
import store_calls
from cluster import PATIENCE
from fake_mysql import FakeMySql
from lying_mysql import (
    LIES,
    GreetsNot,
    KeepsNoRow,
    NamesAnotherServer,
    SendsElsewhere,
    SwitchesToSha256,
    SwitchesToThePassword,
    TimeOfNone,
    WantsThePassword,
    WritesNothing,
)
from store_kinds import backends

WAIT_S = 1.0
LATE_S = 1.0  # how much longer than its limit a call may take
RSS_MB = 48.0
OTHER_USER = 4242

pytestmark = pytest.mark.skipif(
    not (backends() / "libinterlock-mysql.so").exists(),
    reason="SKIPPED STORE: there is no backend for MySQL",
)


def calls(server: FakeMySql, *names: str, wait_s: float = WAIT_S) -> store_calls.Report:
    limits = (len(names) + 3) * 3 * (wait_s + LATE_S)
    return store_calls.run(server.url(), names, wait_s, limits * PATIENCE)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_each_call_ends_in_time_and_the_process_stays_small(
    lie: type[FakeMySql],
) -> None:
    with lie() as server:
        report = calls(server, "acquire", "campaign", "set", "wait", "inspect")

    assert report.status == 0, report
    assert not report.late(LATE_S * PATIENCE), report.late(LATE_S * PATIENCE)
    assert report.rss_mb < RSS_MB, report.rss_mb


def test_an_honest_server_of_the_same_kind_is_used() -> None:
    with FakeMySql() as server:
        report = calls(server, "acquire", "extend", "release", "campaign", "set")

    assert report.status == 0, report
    assert [one.result for one in report.calls[1:5]] == ["True"] * 4, report.calls
    assert server.connections <= 4


def test_a_time_that_is_none_is_refused() -> None:
    with TimeOfNone() as server:
        report = calls(server)

    assert "the server's time is none" in report.of("connect").result, report.calls


# ---- pauses between statements ---------------------------------------------------


@pytest.mark.parametrize(
    ("lie", "names", "most"),
    [
        (WritesNothing, ("acquire",), 80),
        (WritesNothing, ("campaign",), 80),
        (KeepsNoRow, ("acquire",), 80),
        (KeepsNoRow, ("set",), 80),
        (WritesNothing, ("set",), 80),
    ],
)
def test_a_server_that_changes_nothing_gets_few_statements(
    lie: type[FakeMySql], names: tuple[str, ...], most: int
) -> None:
    with lie() as server:
        report = calls(server, *names, wait_s=2.0)

    assert report.status == 0, report
    assert not report.late(LATE_S * PATIENCE), report.calls
    assert len(server.statements) <= most, len(server.statements)


def test_a_server_that_greets_nobody_is_tried_with_pauses() -> None:
    with GreetsNot() as server:
        calls(server, "acquire", wait_s=2.0)

    assert server.connections <= 12


# ---- another server ----------------------------------------------------------------


def test_a_server_that_is_named_after_the_login_is_not_followed() -> None:
    server = NamesAnotherServer()
    with server:
        report = calls(server, "acquire", "release")

        assert not server.was_followed()
    assert report.status == 0, report
    assert report.of("acquire").result == "True", report.calls


def test_a_server_that_is_named_instead_of_a_login_is_not_followed() -> None:
    server = SendsElsewhere()
    with server:
        report = calls(server)

        assert not server.was_followed()
    assert report.of("connect").result.startswith("ConnectionError"), report.calls


# ---- the password ----------------------------------------------------------------


@pytest.mark.parametrize(
    "lie", [WantsThePassword, SwitchesToThePassword, SwitchesToSha256]
)
def test_a_password_is_not_encrypted_with_a_key_that_the_server_sends(
    lie: type[WantsThePassword], tmp_path: Path
) -> None:
    server = lie(tmp_path)
    with server:
        report = calls(server)

    assert server.password == ""
    assert all(len(one) < 256 for one in server.received), server.received
    assert report.status == 0, report
    said = report.of("connect").result
    if lie.asked_in_greeting:  # which does not say how this user logs in
        assert said.startswith("ConnectionError"), said
    else:
        assert said.startswith("AuthError"), said
        assert f"{lie.asks.decode()}, which needs TLS: mysql+tls://" in said


# ---- programs with more rights than their caller -----------------------------------

PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
import interlock
assert os.getuid() != os.geteuid()
try:
    interlock.connect("mysql://a:b@127.0.0.1:1/c", connect_timeout=0.2)
except interlock.Error as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def privileged() -> Iterator[Path]:
    """A copy of Python that anybody runs with the rights of its owner, root."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="ilk-") as home:
        os.chmod(home, 0o755)
        program = Path(home, "python")
        shutil.copy(os.path.realpath(sys.executable), program)
        os.chmod(program, 0o4755)
        yield program


@pytest.mark.parametrize("variable", ["LIBMYSQL_PLUGINS", "MARIADB_PLUGIN_DIR", ""])
def test_a_callers_environment_loads_no_plug_in(
    privileged: Path, variable: str
) -> None:
    packages = Path(interlock.__file__).parents[1]
    environment = {"PYTHONHOME": sys.base_prefix, "HOME": "/nowhere"}
    if variable:
        environment[variable] = "/nowhere"
    done = subprocess.run(
        [privileged, "-c", PROGRAM, packages],
        env=environment,
        user=OTHER_USER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    if variable:
        assert done.stdout.startswith("InvalidError"), done.stdout
        assert f"unset {variable}" in done.stdout
    else:
        assert done.stdout.startswith("ConnectionError"), done.stdout
