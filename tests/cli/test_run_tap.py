"""What is handed over of output that comes faster than it is read: the newest, in whole lines, the rest counted."""

from __future__ import annotations

import json
import os
import threading
import time

from cli.run_points import GAP, Reader
from cli.run_tap import BACKLOG_BYTES_MAX, PIPE_BYTES, Tap
from tests.processes import patience

LINE = b"step=%08d loss=0.123456789\n"
LINE_BYTES = 31


def test_output_that_is_not_read_is_left_out_and_the_newest_is_kept() -> None:
    output, ending = os.pipe(), os.pipe()
    tap = Tap(output[1], ending[1])
    lines = 1_000_000
    began = time.monotonic()
    text = b"".join(LINE % step for step in range(lines))
    # Parts end within lines, as those of a pipe do.
    for at in range(0, len(text), 65_521):
        tap.offer(text[at : at + 65_521])
    assert time.monotonic() - began < patience(10)
    total = lines * LINE_BYTES
    kept = BACKLOG_BYTES_MAX + PIPE_BYTES
    assert total - kept - 65_536 <= tap.left_out <= total - BACKLOG_BYTES_MAX
    got: list[bytes] = []

    def read() -> None:
        while part := os.read(output[0], 1 << 16):
            got.append(part)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    tap.end("FINISHED", 20)
    reading.join()
    said = json.loads(os.read(ending[0], 1000))
    os.close(output[0])
    os.close(ending[0])
    whole = b"".join(got)
    gaps = whole.count(GAP)
    assert gaps
    assert len(whole) == total - said["left_out"] + gaps * len(GAP)
    reader = Reader(lambda: 0.0)
    points = [point for part in got for line in reader.points(part) for point in line]
    assert {point["value"] for point in points} == {0.123456789}
    assert points[0]["step"] == 0
    assert points[-1]["step"] == lines - 1
    assert (said["status"], said["left_out"]) == ("FINISHED", tap.left_out)


def test_a_reader_that_has_ended_is_not_waited_for() -> None:
    output, ending = os.pipe(), os.pipe()
    tap = Tap(output[1], ending[1])
    os.close(output[0])
    os.close(ending[0])
    for _ in range(3):
        tap.offer(b"loss=1\n")
    assert not tap.is_behind
    began = time.monotonic()
    tap.end("KILLED", 5)
    assert time.monotonic() - began < patience(2)
