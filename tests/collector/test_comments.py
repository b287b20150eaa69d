"""`kaiku-collector comments`: what may reach sacctmgr, and what happens when the portal, Slurm or the disk fails."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from collector import statefile
from collector.__main__ import main
from collector.comments import slurm, state
from collector.comments.command import comments
from collector.comments.settings import Settings
from collector.comments.texts import Refused, Wanted, grouped, id_list, modification, read_page
from tests.collector.fake_slurm import STARTED, FakeSlurm
from tests.processes import wait_until

A, B, UNKNOWN = "kaiku:class=inefficient;util=24;v=1", "kaiku:class=efficient;util=100;v=1", "kaiku:class=unknown;v=1"
STARTED_S = 1_795_168_800


def page(*comments: Any, next_since: Any = 1) -> bytes:
    return json.dumps({"comments": list(comments), "next_since": next_since}).encode()


def comment(job_id: Any, text: Any = A, cluster: Any = "lumi", started_at: Any = f"{STARTED}Z") -> dict[str, Any]:
    return {"cluster": cluster, "job_id": job_id, "started_at": started_at, "text": text}


class Portal:
    """Answers with what changed behind `since`, as a portal, or with `answer`: status and content."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.answer: tuple[int, bytes] | None = None
        portal = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, content = portal.answer or portal.page_of(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def page_of(self, path: str) -> tuple[int, bytes]:
        query = parse_qs(urlsplit(path).query)
        since, limit = int(query["since"][0]), int(query["limit"][0])
        shown = self.comments[since : since + limit]
        return 200, page(*shown, next_since=since + len(shown))


@pytest.fixture
def portal() -> Iterator[Portal]:
    made = Portal()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def fake(tmp_path: Path) -> FakeSlurm:
    done = {job_id: (str(job_id), "COMPLETED", "") for job_id in range(1, 6)}
    return FakeSlurm(tmp_path / "slurm", done)


@pytest.fixture
def settings(tmp_path: Path, portal: Portal, fake: FakeSlurm) -> Settings:
    made = Settings()
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("kaiku_comments_secret")
    made.token_file, made.state_dir, made.cluster = str(token), str(tmp_path / "state"), "lumi"
    made.portal_url = f"http://127.0.0.1:{portal.server.server_port}"
    made.sacct, made.sacctmgr = f"{fake.folder}/sacct", f"{fake.folder}/sacctmgr"
    made.request_max_s, made.command_max_s, made.page = 5.0, 5.0, 2.0
    return made


@pytest.mark.parametrize("ids", [[], [0], [-1], [True], ["1"], ["1,2"], [1.0], [2**32], range(1, 502)])
def test_a_command_names_one_to_five_hundred_jobs_by_number_or_is_refused(ids: Any) -> None:
    with pytest.raises(Refused):
        modification("sacctmgr", "lumi", A, ids)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", A + "\n", A.upper(), f"{A} ", A + "'", A + "|", A.replace("24", "101"), A.replace("24", "-1")),
        *("kaiku:class=unknown;util=3;v=1", "kaiku:class=efficient;v=1", A.replace("v=1", "v=2"), A.replace("24", "٢")),
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        modification("sacctmgr", "lumi", text, [1])
    with pytest.raises(Refused):
        read_page(page(comment(1, text)), "lumi")


def test_the_command_always_has_where_with_numbers() -> None:
    assert modification("sacctmgr", "lumi", A, [1, 22]) == [
        *("sacctmgr", "-i", "modify", "job", "where", "cluster=lumi", "jobid=1,22", "set"),
        "admincomment=kaiku:class=inefficient;util=24;v=1",
    ]
    with pytest.raises(Refused):
        modification("sacctmgr", "lumi jobid=1", A, [1])


def test_equal_texts_share_a_command_of_five_hundred_at_most() -> None:
    groups = grouped(dict.fromkeys(range(1, 1002), A) | {7: B})
    assert [(text, len(ids)) for text, ids in groups] == [(B, 1), (A, 500), (A, 500)]
    assert len(id_list(groups[1][1]).split(",")) == 500


@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            b"<html>",
            b"[]",
            b"{}",
            b"[" * 100_000,
            page(next_since="1"),
            page(next_since=-1),
            page(next_since=True),
        ),
        *(page(1), page(comment("1; rm -rf /")), page(comment(True)), page(comment(0)), page(comment(2**32))),
        *(
            page(comment(1, cluster="mahti")),
            page(comment(1, text=None)),
            page(comment(1, started_at=None)),
            page(*[comment(1)] * 1001),
        ),
        page(comment(1, started_at=STARTED)),
        page(comment(1, started_at="2026-13-20T10:00:00Z")),
        page(comment(1), comment(2, "kaiku:class=efficient;util=1;v=1 where")),
    ],
)
def test_a_page_with_anything_else_is_refused_as_a_whole(content: bytes) -> None:
    with pytest.raises(Refused):
        read_page(content, "lumi")


def test_what_is_decided_about_each_job() -> None:
    printed = (
        "1#1#COMPLETED#@#\n2#2#RUNNING#@#\n"
        + f"3#3#FAILED#@#{A}\n4#4#TIMEOUT#@#kaiku:class=wasted;util=3.5;v=7\n5#5#CANCELLED by 0#@#jobstats: {{}}\n6#\n"
        + "10#10_3#COMPLETED#@#\n11#10_1#COMPLETED#@#\n20#20+0#COMPLETED#@#\n21#20+1#COMPLETED#@#\n"
    )
    rows = slurm.parse(printed.replace("@", STARTED), "#")
    wanted = dict.fromkeys((1, 2, 3, 4, 5, 6, 10, 11, 20, 21), Wanted(A, STARTED_S))
    assert slurm.decide(wanted, rows) == {
        **{1: slurm.WRITE, 2: slurm.LATER, 3: slurm.THERE, 4: slurm.WRITE, 5: slurm.FOREIGN, 6: slurm.LATER},
        # The numbers that stand for the whole array and all components, and those of one member.
        **{10: slurm.SHARED, 11: slurm.WRITE, 20: slurm.SHARED, 21: slurm.WRITE},
    }


@pytest.mark.parametrize(
    ("state", "started", "decided"),
    [
        # Requeued and waiting, running and ended again; the start of the first attempt; no start at all.
        ("PENDING", "Unknown", slurm.LATER),
        ("RUNNING", "2026-11-20T10:07:00", slurm.OTHER),
        ("COMPLETED", "2026-11-20T10:07:00", slurm.OTHER),
        ("COMPLETED", "2026-11-20T10:00:01", slurm.WRITE),
        ("COMPLETED", STARTED, slurm.WRITE),
        ("CANCELLED", "None", slurm.OTHER),
    ],
)
def test_the_comment_of_one_attempt_is_never_written_to_another(state: str, started: str, decided: str) -> None:
    rows = slurm.parse(f"1#1#{state}#{started}#\n", "#")
    assert slurm.decide({1: Wanted(A, STARTED_S)}, rows) == {1: decided}


def test_what_waited_while_its_job_was_requeued_is_left_out(settings, portal, fake, capsys) -> None:
    fake.restart(1)
    portal.comments = [comment(1), comment(2)]
    assert comments(settings, is_dry=False) == 0
    assert (fake.comments(), list(state.read(settings).waiting)) == ({2: A}, [1])
    fake.end(1, "2026-11-20T12:00:00")
    assert comments(settings, is_dry=False) == 0
    assert "1 left alone: Slurm has another attempt of the job by now" in capsys.readouterr().out
    assert (fake.comments(), state.read(settings).waiting) == ({2: A}, {})
    portal.comments.append(comment(1, B, started_at="2026-11-20T12:00:00Z"))
    assert comments(settings, is_dry=False) == 0
    assert fake.comments() == {1: B, 2: A}


def test_everything_is_written_once_and_a_second_run_writes_nothing(settings, portal, fake, capsys) -> None:
    portal.comments = [comment(1), comment(2), comment(3, B)]
    assert comments(settings, is_dry=True) == 0
    assert "jobid=1,2 set" in capsys.readouterr().out
    assert (fake.calls(), fake.comments(), os.listdir(settings.state_dir)) == ([], {}, ["lock"])
    assert comments(settings, is_dry=False) == 0
    assert fake.comments() == {1: A, 2: A, 3: B}
    assert [call[5] for call in fake.calls()] == ["jobid=1,2", "jobid=3"]
    assert "3 written, 2 commands" in capsys.readouterr().out
    assert comments(settings, is_dry=False) == 0
    portal.comments.append(comment(1, B))
    assert comments(settings, is_dry=False) == 0
    assert (fake.comments(), len(fake.calls())) == ({1: B, 2: A, 3: B}, 3)


def test_comments_of_others_stay_and_unfinished_jobs_wait(settings, portal, tmp_path, capsys) -> None:
    fake = FakeSlurm(tmp_path / "other", {1: ("1", "COMPLETED", "a note\n2"), 2: ("2", "RUNNING", "")})
    settings.sacct, settings.sacctmgr = f"{fake.folder}/sacct", f"{fake.folder}/sacctmgr"
    portal.comments = [comment(1), comment(2), comment(99)]
    assert comments(settings, is_dry=False) == 0
    assert (fake.comments(), fake.calls()) == ({1: "a note\n2"}, [])
    assert "1 left alone: the comment is not ours, 2 wait" in capsys.readouterr().out
    fake.end(2)
    assert comments(settings, is_dry=False) == 0
    assert fake.comments() == {1: "a note\n2", 2: A}
    assert list(state.read(settings).waiting) == [99]


def test_a_run_that_is_killed_in_a_command_is_repeated_and_loses_nothing(settings, portal, fake) -> None:
    portal.comments = [comment(1), comment(2), comment(3)]
    fake.fail(sacctmgr="half")
    path = Path(settings.token_file).with_name("comments.conf")
    names = ("portal_url", "token_file", "state_dir", "cluster", "sacct", "sacctmgr", "page", "command_max_s")
    path.write_text("".join(f"{name} = {getattr(settings, name)}\n" for name in names))
    run = subprocess.Popen([sys.executable, "-m", "collector", "comments", "--config", path])
    wait_until("the first half", lambda: fake.comments() == {1: A})
    run.kill()
    run.wait()
    fake.fail()
    assert fake.comments() == {1: A}
    assert comments(settings, is_dry=False) == 0
    assert fake.comments() == {1: A, 2: A, 3: A}


@pytest.mark.parametrize("fault", [{"sacctmgr": 1}, {"sacctmgr": "nothing"}, {"sacct": 1}, {"sacctmgr": "hang"}])
def test_when_slurm_fails_the_next_run_does_it(settings, portal, fake, fault: dict[str, Any]) -> None:
    portal.comments = [comment(1), comment(2, B)]
    settings.command_max_s = 1.0 if "hang" in fault.values() else 5.0
    fake.fail(**fault)
    for _ in range(2):  # what was written without effect waits, and is written again
        assert comments(settings, is_dry=False) == 1
    assert fake.comments() == {}
    fake.fail()
    settings.command_max_s = 5.0
    assert comments(settings, is_dry=False) == 0
    assert fake.comments() == {1: A, 2: B}


@pytest.mark.parametrize("name", ["sacct", "sacctmgr"])
def test_a_missing_command_is_said_and_loses_nothing(settings, portal, fake, capsys, name: str) -> None:
    portal.comments = [comment(1)]
    setattr(settings, name, "/nowhere/" + name)
    assert comments(settings, is_dry=False) == 1
    assert "No such file" in capsys.readouterr().err
    setattr(settings, name, f"{fake.folder}/{name}")
    assert comments(settings, is_dry=False) == 0
    assert fake.comments() == {1: A}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        *(((500, b""), 1), ((200, b"<html>"), 1), ((200, b"x" * (1 << 21)), 1), ((302, b""), 1)),
        *(((200, page(comment(1, "x"))), 1), ((401, b""), 2), ((404, b""), 2)),
    ],
)
def test_what_is_no_page_changes_nothing(settings, portal, fake, answer: tuple[int, bytes], status: int) -> None:
    portal.answer = answer
    assert comments(settings, is_dry=False) == status
    assert fake.calls() == []
    portal.answer, portal.comments = None, [comment(1)]
    assert comments(settings, is_dry=False) == 0


def test_an_unreachable_portal_a_readable_token_and_a_second_run(settings, portal, tmp_path) -> None:
    address, settings.portal_url = settings.portal_url, "http://127.0.0.1:9"
    assert comments(settings, is_dry=False) == 1
    settings.portal_url = address
    os.chmod(settings.token_file, 0o644)
    assert comments(settings, is_dry=False) == 2
    os.chmod(settings.token_file, 0o600)
    with open(f"{settings.state_dir}/lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert comments(settings, is_dry=False) == 3
    assert comments(settings, is_dry=False) == 0


def test_a_full_disk_ends_a_run_that_the_next_one_repeats(settings, portal, fake, monkeypatch) -> None:
    portal.comments = [comment(1), comment(2), comment(3)]

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(statefile, "write_bytes", full)
        assert comments(settings, is_dry=False) == 1
    assert comments(settings, is_dry=False) == 0
    assert (fake.comments(), state.read(settings).since) == ({1: A, 2: A, 3: A}, 3)


@pytest.mark.parametrize(
    "content", [None, 7, {"of": "x"}, {"since": -1}, {"waiting": {"x": 1, 3: ["rm", 1, 1.0], 4: [A, 1.0]}}]
)
def test_a_state_of_another_shape_begins_anew(settings, content: Any) -> None:
    os.makedirs(settings.state_dir)
    of = {"of": f"{settings.portal_url} lumi", "since": 5, "waiting": {}}
    statefile.save(f"{settings.state_dir}/state", of | content if isinstance(content, dict) else content)
    found = state.read(settings)
    assert (found.since, found.waiting) == (5 if isinstance(content, dict) and "waiting" in content else 0, {})


def test_a_state_that_is_a_pipe_begins_anew(settings, portal, fake) -> None:
    os.mkdir(settings.state_dir, 0o700)
    os.mkfifo(f"{settings.state_dir}/state")
    portal.comments = [comment(1)]
    assert comments(settings, is_dry=False) == 0
    assert (fake.comments(), os.path.isfile(f"{settings.state_dir}/state")) == ({1: A}, True)


def test_what_waits_is_given_up_after_a_week_and_bounded() -> None:
    known, wanted = state.State(0, {1: (A, STARTED_S, 0.0), 2: (A, STARTED_S, 600_000.0)}), Wanted(A, STARTED_S)
    assert known.keep_waiting({3: wanted}, 604_801.0) == 1
    assert set(known.waiting) == {2, 3}
    assert known.keep_waiting(dict.fromkeys(range(10, 20_010), wanted), 604_802.0) == 2


def test_the_program_says_what_is_wrong_with_its_settings(tmp_path: Path, monkeypatch, capsys) -> None:
    path = tmp_path / "comments.conf"
    for content in ("", "cluster = LUMI;rm\n", "cluster = lumi\npage = 0\n", "cluster = lumi\nunknown = 1\n"):
        path.write_text(content)
        monkeypatch.setattr("sys.argv", ["kaiku-collector", "comments", "--config", str(path)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code, bool(capsys.readouterr().err)) == (2, True)
