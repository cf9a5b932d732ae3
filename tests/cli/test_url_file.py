# SPDX-License-Identifier: MIT
"""`--url-file`: a URL with a password that no list of processes shows."""

from pathlib import Path

import pytest


@pytest.fixture
def secret(own_server, tmp_path):
    """A server with a password, and a file with its URL."""
    own_server.call("CONFIG", "SET", "requirepass", "hush-hush")
    file = tmp_path / "url"
    file.write_text(f"unix://:hush-hush@{own_server.socket}\nmore\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def nowhere(own_shell, tmp_path):
    """An environment that leads nowhere."""
    return {**own_shell.env, "INTERLOCK_URL": f"unix://{tmp_path}/none"}


def test_the_url_is_the_first_line_of_the_file(own_shell, secret, nowhere, name):
    words = ("lock", name, "--url-file", secret, "true")

    assert own_shell.run(*words, env=nowhere).returncode == 0
    assert own_shell.run("--url-file", secret, "ls", env=nowhere).returncode == 0


def test_a_dash_is_standard_input_and_leaves_the_rest(own_shell, secret, nowhere, name):
    url = secret.read_text().splitlines()[0]
    words = ("lock", name, "--url-file", "-", "cat")

    done = own_shell.run(*words, env=nowhere, input=f"{url}\nfor CMD\n".encode())

    assert (done.returncode, done.stdout) == (0, b"for CMD\n")


def test_no_argument_has_the_password(own_shell, secret, nowhere, name):
    words = ("lock", name, "--url-file", secret, "--", "sh", "-c", "echo; read line")
    holder = own_shell.start(*words, env=nowhere, stdin=-1)
    holder.stdout.readline()

    assert b"hush" not in Path(f"/proc/{holder.pid}/cmdline").read_bytes()
    holder.communicate(b"\n", timeout=20)


@pytest.mark.parametrize("content", [b"", b"\nunix:///x", None])
def test_a_file_without_a_url_is_usage(own_shell, tmp_path, content):
    file = tmp_path / "url"
    if content is not None:
        file.write_bytes(content)

    done = own_shell.run("ls", "--url-file", file)

    assert (done.returncode, done.stdout) == (64, b"")
    assert b"--url-file" in done.stderr


def test_a_refused_password_is_not_said(own_shell, secret, nowhere):
    secret.write_text(secret.read_text().replace("hush-hush", "wrong-one"))

    done = own_shell.run("ls", "--url-file", secret, env=nowhere)

    assert done.returncode == 69
    assert b"wrong-one" not in done.stderr
