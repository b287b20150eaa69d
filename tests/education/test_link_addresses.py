"""Where the link checker connects: to public addresses on the ports of the web, within one deadline; nowhere else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from education.public_addresses import is_public, is_public_site
from education.services.links import link_problem
from tests.internet import seen_by

NOT_PUBLIC = "leads to an address that is not public, or to a port other than 80 and 443"
LATE = "no answer within 0.5 s"
CHECKOUT = Path(__file__).resolve().parents[2]
LOOPBACK = (
    *("127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "0x7f000001", "0x7f.1", "2130706433", "017700000001"),
    *("0177.0.0.1", "0", "0.0.0.0", "localhost", "localhost.", "LOCALHOST", "１２７.０.０.１", "127.0.0.1."),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[64:ff9b:1::7f00:1]"),
)
INSIDE = (
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "169.254.169.254"),
    *("192.0.0.170", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.250", "240.0.0.1", "255.255.255.255", "0.1.2.3", "::", "::1", "::9.9.9.9", "::ffff:10.0.0.1"),
    *("fe80::1", "fe80::1%lo", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "ff0e::1", "2001:db8::1", "100::1"),
    *("2001::1", "2001:20::1", "2002:909:909::1", "3fff::1", "5f00::1", "64:ff9b::10.0.0.1", "64:ff9b:1::9.9.9.9"),
)
PUBLIC = ("9.9.9.9", "193.167.1.1", "100.63.255.255", "172.32.0.1", "2620:fe::fe", "2a00:1d50::1", "::ffff:9.9.9.9")


@contextmanager
def server(behave: Callable[[socket.socket], None], host: str = "127.0.0.1") -> Iterator[int]:
    """Serves one connection after another with `behave`, and gives its port."""
    with socket.create_server((host, 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    try:
                        behave(connection)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def on_loopback(address: str, port: int) -> bool:
    return address == "127.0.0.1"


@pytest.mark.parametrize("host", LOOPBACK)
def test_no_spelling_of_this_machine_is_connected_to(host: str) -> None:
    reached: list[socket.socket] = []
    with server(reached.append) as port:
        for address in (f"http://{host}:{port}/", f"http://{host}/", f"https://{host}/"):
            assert link_problem(address) == NOT_PUBLIC or link_problem(address).startswith("not reached: ")
    assert not reached


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_of_somebody_s_own_network_are_not_public(address: str) -> None:
    assert not is_public_site(address, 80)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached_on_the_ports_of_the_web_alone(address: str) -> None:
    assert [port for port in range(1, 65536) if is_public_site(address, port)] == [80, 443]


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_python_calls_not_global_is_not_public_either(address: IPv4Address | IPv6Address) -> None:
    is_translated = isinstance(address, IPv6Address) and (address.ipv4_mapped or str(address).startswith("64:ff9b::"))
    if not address.is_global and not is_translated:
        assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_of_ipv4_inside_one_of_ipv6_is_what_it_is_alone(address: IPv4Address) -> None:
    for prefix in ("::ffff:", "64:ff9b::"):
        assert is_public(ip_address(f"{prefix}{address}")) == is_public(address)


@pytest.mark.parametrize("url", ["http://user@9.9.9.9/", "http://9.9.9.9\\@127.0.0.1/", "http:///x", "http://a b/"])
def test_an_address_that_can_be_read_in_two_ways_is_not_asked(url: str) -> None:
    assert link_problem(url, 5, lambda address, port: pytest.fail(f"{address} was asked for"))


def redirecting(to: str) -> Callable[[socket.socket], None]:
    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())

    return behave


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_head_of_a_page_is_asked_for_over_redirects_too(status: int) -> None:
    asked: list[bytes] = []

    def behave(connection: socket.socket) -> None:
        asked.append(connection.recv(4096).partition(b" HTTP/")[0])
        is_there = asked[-1].endswith(b"/there")
        head = f"HTTP/1.1 {200 if is_there else status} -\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(head.encode())

    with server(behave) as port:
        assert link_problem(f"http://127.0.0.1:{port}/", 5, on_loopback) == ""
    assert asked == [b"HEAD /", b"HEAD /there"]


def test_each_redirect_is_checked_before_it_is_followed() -> None:
    reached: list[socket.socket] = []
    with (
        server(reached.append, "127.0.0.2") as inside,
        server(redirecting(f"http://127.0.0.2:{inside}/")) as outside,
    ):
        assert link_problem(f"http://127.0.0.1:{outside}/", 5, on_loopback) == NOT_PUBLIC
    assert not reached


def test_an_endless_row_of_redirects_ends() -> None:
    with server(redirecting("/again")) as port:
        assert link_problem(f"http://127.0.0.1:{port}/", 30, on_loopback) == "redirected too often"


@pytest.mark.parametrize(
    ("first", "ever_after"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Drop: x\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 302 Found\r\nLocation: ", b"x"),
    ],
    ids=["status line", "heads", "interim answers", "a redirect"],
)
def test_an_answer_that_never_ends_is_given_up_at_the_deadline(first: bytes, ever_after: bytes) -> None:
    def behave(connection: socket.socket) -> None:
        """Sends little by little, for as long as somebody listens: every single read is answered soon."""
        connection.sendall(first)
        connection.settimeout(0.05)
        while True:
            connection.sendall(ever_after)
            try:
                if not connection.recv(4096):
                    return
            except TimeoutError:
                continue

    with server(behave) as port:
        assert link_problem(f"http://127.0.0.1:{port}/", 0.5, on_loopback) in (
            LATE,
            "not reached: got more than 100 headers",
        )


def test_of_a_body_nothing_is_read() -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while connection.recv(4096):
            continue

    with server(behave) as port:
        assert link_problem(f"http://127.0.0.1:{port}/", 60, on_loopback) == ""


def test_a_handshake_that_never_ends_is_given_up_at_the_deadline() -> None:
    def behave(connection: socket.socket) -> None:
        while connection.recv(4096):
            continue

    with server(behave) as port:
        assert link_problem(f"https://127.0.0.1:{port}/", 0.5, on_loopback) == LATE


@pytest.fixture(scope="module")
def seen_in_public(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What the checker as shipped, with nothing given to it, finds in an internet of its own."""
    return seen_by("tests.education.public_web", [*URLS], tmp_path_factory.mktemp("public-web"))


URLS = {
    "http://9.9.9.9/page": "",
    "http://9.9.9.9/?to=/page": "",
    "http://9.9.9.9/?to=http://127.0.0.1/": NOT_PUBLIC,
    "http://9.9.9.9/?to=http://127.1/": NOT_PUBLIC,
    "http://9.9.9.9/?to=http://[::ffff:127.0.0.1]/": NOT_PUBLIC,
    "http://9.9.9.9/?to=http://inside.example/": NOT_PUBLIC,
    "http://9.9.9.9/?to=http://9.9.9.9:53/": NOT_PUBLIC,
    "http://inside.example/": NOT_PUBLIC,
    "http://changes.example/": "",
    "http://changes-later.example/?to=http://changes-later.example/": NOT_PUBLIC,
}


def test_what_is_public_is_reached_and_what_is_not_is_not(seen_in_public: dict) -> None:
    assert seen_in_public["problems"] == URLS


def test_a_name_that_changes_its_mind_leads_nowhere_else(seen_in_public: dict) -> None:
    assert {address for address, _, _ in seen_in_public["asked"]} == {"9.9.9.9"}
    assert {method for _, method, _ in seen_in_public["asked"]} == {"HEAD"}
