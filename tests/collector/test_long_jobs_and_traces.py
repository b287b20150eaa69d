"""Payloads of long jobs stay small; a trace and one look at a node go the same way as a job."""

from __future__ import annotations

import gzip
import json
import marshal
import random
from pathlib import Path

import pytest

from collector import looking, statefile
from collector.calibration import Calibration
from collector.loop import Sampler
from collector.sources.base import SourceError
from collector.sources.replay import Replay
from tests.collector.fake_node import FakeNode
from tests.collector.sampling import GB, config_of, job, summary, write_trace
from tests.payloads import decoded


def long_job(node: FakeNode, sampler: Sampler, ticks: int, seed: int = 1) -> None:
    """Eight GPUs at work with pauses, never twice the same, until the timeline is all but full."""
    dice = random.Random(seed)
    for second in range(1, ticks + 1):
        pause = second % 97 > 90
        for index, gpu in enumerate(node.gpus):
            busy = 0 if pause else min(100, round(dice.gauss(85 - 4 * index, 3)))
            gpu.show(busy, int((30 + index + second / 1000) * GB), 300 + busy, stamp=second)
        sampler.tick(float(second))


def test_the_payload_of_a_long_job_is_small(node: FakeNode, make) -> None:
    sampler = make()
    long_job(node, sampler, 955)
    sampler.slow_tick(1.0)
    payload = summary(sampler)
    assert [len(gpu["timeline"]["util"]) for gpu in payload["gpus"]] == [120] * 8
    content = json.dumps(payload, separators=(",", ":")).encode()
    assert len(content) <= 12_000
    assert len(gzip.compress(content, 6)) <= 4_000


def test_a_payload_of_nothing_but_noise_stays_bounded(node: FakeNode, make) -> None:
    sampler = make()
    dice = random.Random(2)
    for second in range(1, 240):
        for gpu in node.gpus:
            gpu.show(dice.randrange(101), dice.randrange(60 * GB), dice.randrange(500), stamp=second)
        sampler.tick(float(second) + dice.random() / 2)
    content = json.dumps(summary(sampler), separators=(",", ":")).encode()
    assert len(content) <= 36_000
    assert len(gzip.compress(content, 6)) <= 12_000


def test_a_week_takes_no_more_room_than_an_hour(tmp_path: Path) -> None:
    ticks = [{"gpus": [{"util": 90.0, "mem_gb": 10.5, "power_w": 300.0}, {"util": 7.0}]}] * 101
    trace = write_trace(tmp_path, [{"mem_total_gb": 64.0}] * 2, ticks, interval_s=16.0)
    config = config_of(tmp_path)
    config.interval_s = 16.0
    source = Replay(trace)
    sampler = Sampler(config, job([0, 1]), source, Calibration())
    sizes = {}
    for tick in range(1, 604_800 // 16 + 1):
        source.position = tick % 101
        sampler.tick(tick * 16.0)
        if tick * 16 in (3600, 604_800):
            sizes[tick * 16] = len(marshal.dumps(sampler.state(), statefile.FORMAT))
    assert sizes[604_800] < 1.3 * sizes[3600]
    gpu = summary(sampler)["gpus"][0]
    assert (gpu["measured_s"], gpu["avg_util"], gpu["idle_s"]) == (604_800.0, 90.0, 0.0)
    # 16 s doubled nine times: 73 full buckets and the rest.
    assert (gpu["timeline"]["step_s"], len(gpu["timeline"]["util"])) == (8192.0, 74)


def test_a_replayed_trace_is_a_sound_payload(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    ticks = [
        {"gpus": [{"util": 90.0, "mem_gb": 10.0, "power_w": 300.0}, None]},
        {"gpus": [{"util": 10.4, "mem_gb": 20.0, "power_w": 100.0}, None]},
        {"gpus": [None, None]},
    ]
    trace = write_trace(tmp_path, [{"mem_total_gb": 64.0, "power_cap_w": 500.0}, {}], ticks, interval_s=2.0)
    assert looking.replay(config_of(tmp_path), trace) == 0
    payload = json.loads(capsys.readouterr().out)
    decoded(payload)
    first, second = payload["gpus"]
    assert (first["avg_util"], first["measured_s"], first["util_histogram_s"]) == (50.2, 4.0, {"10": 2.0, "90": 2.0})
    assert (first["power_avg_w"], first["power_peak_w"], first["power_cap_w"]) == (200.0, 300.0, 500.0)
    assert (first["avg_mem_gb"], first["peak_mem_gb"]) == (15.0, 20.0)
    assert first["missing"]["energy"] == "the source gave no reading"
    assert "avg_util" not in second
    assert second["missing"]["avg_util"] == "for some of the time: nothing in the trace"
    assert payload["interval_s"] == 2.0


@pytest.mark.parametrize("content", ["", "{}", "[]\n", "not json\n", '{"gpus": 5}\n', '{"gpus": [5]}\n'])
def test_what_is_not_a_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture, content: str) -> None:
    (tmp_path / "trace.jsonl").write_text(content)
    assert looking.replay(config_of(tmp_path), str(tmp_path / "trace.jsonl")) == 1
    assert "trace" in capsys.readouterr().err
    with pytest.raises(SourceError, match="No such file"):
        Replay(str(tmp_path / "nowhere"))


def test_one_look_at_a_node_is_a_sound_payload(node: FakeNode, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    config = config_of(tmp_path)
    config.interval_s = 0.05
    assert looking.once(config) == 0
    payload = json.loads(capsys.readouterr().out)
    assert len(payload["gpus"]) == 8
    decoded(payload)
