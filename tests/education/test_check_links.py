"""The link checker against a real HTTP server: what answers, what does not, and what is never followed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from education.lesson import LessonContent, Link
from education.models import Lesson, LessonLink, LinkCheck
from education.selectors import broken_link_count, checked_links, open_check
from education.services import links
from education.services.asking import MayReach
from education.services.editing import create_lesson, save_lesson
from education.services.links import LEASE, LINK, Checked, ask_for_check, check_asked_links, check_links, link_problem
from jobs.work_queue.selectors import failures
from tests.steps import ran


def on_loopback(address: str, port: int) -> bool:
    """Lets the tests in this file meet their own server, as no setting does."""
    return address == "127.0.0.1"


REDIRECTS = {
    "/moved": "/there",
    "/moved-away": "/gone",
    "/round": "/round",
    "/to-file": "file:///etc/passwd",
    "/to-ftp": "ftp://127.0.0.1/x",
}


class Pages(BaseHTTPRequestHandler):
    """Answers by path: there, gone, moved, broken, late, only to GET, and names that need writing in percent."""

    asked: list[tuple[str, str]] = []

    def do_HEAD(self) -> None:
        self.asked.append((self.command, self.path))
        if self.path in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[self.path])
        elif self.path == "/late":
            time.sleep(1.5)
            self.send_response(200)
        else:
            known = {
                "/there": 200,
                "/?q=%C3%A4": 200,
                "/broken": 500,
                "/no-head": 405 if self.command == "HEAD" else 200,
            }
            self.send_response(known.get(self.path, 404))
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the tests look at `asked`."""


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    Pages.asked.clear()
    with server:
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/there", "/there#section", "/moved", "/no-head", "/?q=ä"])
def test_an_address_that_answers_has_no_problem(site: str, path: str) -> None:
    assert link_problem(site + path, 5, on_loopback) == ""


@pytest.mark.parametrize(
    ("path", "problem"), [("/gone", "404 Not Found"), ("/moved-away", "404 Not Found"), ("/broken", "500 ")]
)
def test_an_address_that_does_not_answer_says_how(site: str, path: str, problem: str) -> None:
    assert link_problem(site + path, 5, on_loopback).startswith(problem)


def test_head_is_asked_first_and_get_only_where_it_is_refused(site: str) -> None:
    link_problem(site + "/there", 5, on_loopback)
    link_problem(site + "/no-head", 5, on_loopback)
    assert Pages.asked == [("HEAD", "/there"), ("HEAD", "/no-head"), ("GET", "/no-head")]


def test_a_late_answer_ends_with_the_time_limit(site: str) -> None:
    assert link_problem(site + "/late", 0.2, on_loopback) == "no answer within 0.2 s"


def test_a_redirect_without_end_ends(site: str) -> None:
    assert link_problem(site + "/round", 5, on_loopback)


@pytest.mark.parametrize("path", ["/to-file", "/to-ftp"])
def test_a_redirect_leads_to_no_file_and_no_other_protocol(site: str, path: str) -> None:
    assert link_problem(site + path, 5, on_loopback)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)", "data:,x", "no address"]
)
def test_only_http_and_https_are_followed(url: str) -> None:
    assert link_problem(url) == "only http and https addresses are followed"


def test_a_server_that_refuses_hangs_up_or_talks_nonsense_is_a_problem() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer() -> None:
            for said in (b"", b"nonsense\r\n\r\n"):
                connection, _ = listening.accept()
                connection.recv(1000)
                connection.sendall(said)
                connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert link_problem(f"http://127.0.0.1:{port}/", 2, on_loopback).startswith("not reached")
        thread.join()
    assert link_problem(f"http://127.0.0.1:{port}/", 2, on_loopback).startswith("not reached")
    assert link_problem("http://name.invalid/", timeout_s=2).startswith("not reached")
    assert link_problem("http://[::1/", timeout_s=2)


@pytest.fixture
def linked(db: None, site: str, now) -> str:
    links = (Link("There", f"{site}/there"), Link("Gone", f"{site}/gone"))
    create_lesson("timeout", "en", LessonContent("T", "One. Two.", links=links), now)
    create_lesson("overscaling", "en", LessonContent("O", "One. Two.", links=links[1:]), now)
    return site


def test_dead_links_are_listed_and_marked(linked: str) -> None:
    assert check_links(may_reach=on_loopback) == [
        Checked(f"{linked}/gone", "404 Not Found"),
        Checked(f"{linked}/there", ""),
    ]
    marked = LessonLink.objects.filter(problem="404 Not Found", checked_at__isnull=False)
    assert set(marked.values_list("lesson__code", flat=True)) == {"timeout", "overscaling"}
    assert sorted(Pages.asked) == [("GET", "/gone"), ("HEAD", "/gone"), ("HEAD", "/there")]


def test_a_link_that_answers_again_is_no_longer_marked(linked: str) -> None:
    check_links(may_reach=on_loopback)
    LessonLink.objects.filter(problem="404 Not Found").update(url=f"{linked}/there")
    assert check_links(may_reach=on_loopback) == [Checked(f"{linked}/there", "")]
    assert not LessonLink.objects.exclude(problem="").exists()


def test_a_check_leaves_the_lessons_themselves_alone(linked: str) -> None:
    before = list(Lesson.objects.values())
    check_links(may_reach=on_loopback)
    assert list(Lesson.objects.values()) == before


def test_since_when_a_link_is_broken_is_kept_until_it_answers(linked: str, now) -> None:
    def since() -> set[object]:
        return set(LessonLink.objects.filter(title="Gone").values_list("broken_since", flat=True))

    check_links(now=now, may_reach=on_loopback)
    check_links(now=now + timedelta(days=1), may_reach=on_loopback)
    assert since() == {now}
    assert set(LessonLink.objects.filter(title="There").values_list("broken_since", flat=True)) == {None}
    LessonLink.objects.filter(title="Gone").update(url=f"{linked}/there")
    check_links(now=now + timedelta(days=2), may_reach=on_loopback)
    assert since() == {None}


def test_an_edit_keeps_what_is_known_of_an_address_that_stays(linked: str, now, erin) -> None:
    check_links(now=now, may_reach=on_loopback)
    lesson = Lesson.objects.get(code="overscaling")
    save_lesson(
        lesson.pk, lesson.version, LessonContent("New", "One. Two.", links=(Link("G", f"{linked}/gone"),)), erin
    )
    assert lesson.links.get().broken_since == now


def test_a_check_that_was_asked_for_is_done_once(linked: str, now) -> None:
    assert not check_asked_links(now, on_loopback)
    ask_for_check(now)
    ask_for_check(now)
    assert LinkCheck.objects.count() == 1
    assert check_asked_links(now, on_loopback)
    assert not check_asked_links(now, on_loopback)
    assert LessonLink.objects.filter(checked_at=now).count() == 3
    ask_for_check(now)
    assert check_asked_links(now + timedelta(minutes=1), on_loopback)


def test_a_check_whose_worker_is_lost_is_taken_over_after_a_while(linked: str, now) -> None:
    ask_for_check(now)
    LinkCheck.objects.update(begun_at=now)
    ask_for_check(now)
    assert not check_asked_links(now + LEASE, on_loopback)
    assert check_asked_links(now + LEASE + timedelta(seconds=1), on_loopback)
    assert open_check() is None


def test_what_a_server_answers_is_kept_as_far_as_it_can_be_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for _ in range(2):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"\x00HT\x07TP nonsense\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        problem = link_problem(f"http://127.0.0.1:{listening.getsockname()[1]}/", 5, on_loopback)
        thread.join()
    assert problem == "not reached: HTTP nonsense"


def test_an_address_with_an_impossible_port_is_not_reached() -> None:
    assert link_problem("http://127.0.0.1:99999999/").startswith("not reached: ")


def test_a_link_that_cannot_be_checked_stops_no_other_and_is_tried_again(linked: str, now, monkeypatch) -> None:
    def faulty(url: str, timeout_s: float, may_reach: MayReach) -> str:
        if url.endswith("/gone"):
            raise RecursionError
        return link_problem(url, timeout_s, may_reach)

    ask_for_check(now)
    with monkeypatch.context() as patch:
        patch.setattr(links, "link_problem", faulty)
        assert check_asked_links(now, on_loopback)
    assert open_check() is None
    assert {link.url: link.checked_at for link in checked_links()} == {f"{linked}/gone": None, f"{linked}/there": now}
    (row,) = failures(LINK)
    assert row.error.startswith("RecursionError at ")
    assert not check_asked_links(now + timedelta(seconds=59), on_loopback)
    assert check_asked_links(now + timedelta(seconds=60), on_loopback)
    assert LessonLink.objects.filter(problem="404 Not Found", checked_at=now + timedelta(seconds=60)).count() == 2
    assert not failures().exists()


def test_broken_addresses_stand_first_and_each_once(linked: str, now) -> None:
    assert [(link.url, link.checked_at) for link in checked_links()] == [
        (f"{linked}/gone", None),
        (f"{linked}/there", None),
    ]
    check_links(now=now, may_reach=on_loopback)
    gone, there = checked_links()
    assert (gone.url, gone.problem, gone.broken_since) == (f"{linked}/gone", "404 Not Found", now)
    assert [lesson.code for lesson in gone.lessons] == ["overscaling", "timeout"]
    assert (there.problem, there.broken_since, there.checked_at) == ("", None, now)
    assert broken_link_count() == 1


def test_a_beat_does_what_was_asked_for(linked: str, now) -> None:
    ask_for_check(now)
    assert ran("check_links") == 1
    assert LinkCheck.objects.get().ended_at is not None
