"""Vendors' commands: real output of ROCm 4 to 7, and commands that hang, fail or say nothing."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from collector.sources import amd_smi, nvidia_smi, rocm_smi
from collector.sources.base import SourceError, number
from collector.sources.smi import SmiSource
from tests.processes import patience

SAMPLES = Path(__file__).parents[1] / "samples" / "rocm"
SECONDARY = "rocm-smi_id_productname_use_memuse_meminfo_P_json_rocm6_mi250_secondary_die.json"


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def command(tmp_path: Path, body: str) -> list[str]:
    file = tmp_path / "smi.py"
    file.write_text(body)
    return [sys.executable, "-S", str(file)]


def printing(tmp_path: Path, text: str) -> list[str]:
    return command(tmp_path, f"print({text!r})")


@pytest.mark.parametrize(
    ("file", "gpus", "util", "used", "total", "power_w", "gfx_mhz"),
    [
        ("rocm-smi_a_json_rocm5_mi210.json", 1, 0.0, None, None, 41.0, 800.0),
        ("rocm-smi_a_json_rocm6_mi250_1gcd.json", 1, 0.0, None, None, 91.0, 800.0),
        (SECONDARY, 2, 50.0, 51527024640.0, 68702699520.0, 102.0, None),
        ("telegraf_mi100_rocm602.json", 4, 0.0, 6750208.0, 34342961152.0, 36.0, 300.0),
        ("telegraf_rx6700xt_rocm430.json", 1, 0.0, 1622728704.0, 12868124672.0, 6.0, 500.0),
        ("telegraf_rx6700xt_rocm602.json", 1, 0.0, 1572757504.0, 12868124672.0, None, 500.0),
    ],
)
def test_real_rocm_smi_output_of_every_generation(file, gpus, util, used, total, power_w, gfx_mhz) -> None:
    found = rocm_smi.readings(sample(file))
    first = found[0]
    assert len(found) == gpus
    assert (first.util, first.used_bytes, first.total_bytes, first.power_w, first.gfx_clock_mhz) == (
        util,
        used,
        total,
        power_w,
        gfx_mhz,
    )


def test_the_second_die_of_a_real_mi250_has_no_power_and_its_package_is_shared(tmp_path: Path) -> None:
    text = sample(SECONDARY)
    assert rocm_smi.readings(text)[1].power_w is None
    both = SmiSource("rocm-smi", printing(tmp_path, text), rocm_smi.readings, [0, 1])
    assert [gpu.power_from for gpu in both.gpus] == ["module", ""]
    one = SmiSource("rocm-smi", printing(tmp_path, text), rocm_smi.readings, [0])
    assert "shared module" in one.gpus[0].totals.reasons["power"]


def test_words_around_the_json_do_no_harm(tmp_path: Path) -> None:
    text = 'Expected integer value from monitor, but got ""\n' + sample(SECONDARY) + "\n======\n"
    found = SmiSource("rocm-smi", printing(tmp_path, text), rocm_smi.readings, None)
    found.tick(10.0)
    assert [gpu.totals.util_s for gpu in found.gpus] == [500.0, 0.0]


AMD_SMI_6 = (
    '[{"gpu": 0, "usage": {"gfx_activity": {"value": 42, "unit": "%"}, "umc_activity": {"value": 1, "unit": "%"}},'
    ' "power": {"socket_power": {"value": 210, "unit": "W"}},'
    ' "mem_usage": {"total_vram": {"value": 65520, "unit": "MB"}, "used_vram": {"value": 1024, "unit": "MB"}},'
    ' "temperature": {"edge": "N/A", "hotspot": {"value": 55, "unit": "C"}},'
    ' "clock": {"gfx_0": {"clk": {"value": 1700, "unit": "MHz"}}, "mem_0": {"clk": "N/A"}}}]'
)


@pytest.mark.parametrize("text", [AMD_SMI_6, '{"gpu_data": ' + AMD_SMI_6 + "}", "WARNING: groups\n" + AMD_SMI_6])
def test_amd_smi_in_both_shapes(text: str) -> None:
    reading = amd_smi.readings(text)[0]
    assert (reading.util, reading.power_w, reading.temperature_c) == (42.0, 210.0, 55.0)
    assert (reading.used_bytes, reading.total_bytes) == (2**30, 65520 * 2**20)
    assert (reading.gfx_clock_mhz, reading.mem_clock_mhz) == (1700.0, None)


def test_amd_smi_may_know_nothing_at_all() -> None:
    reading = amd_smi.readings(
        '\'CTRL\' + \'C\' to stop watching output:\n[{"gpu": 0, "usage": "N/A", "power": "N/A"}]'
    )[0]
    assert (reading.util, reading.power_w, reading.used_bytes) == (None, None, None)


def test_nvidia_smi_in_csv() -> None:
    text = (
        "0, 00000000:07:00.0, 97, 20480, 40960, 250.43, 61, 1410, 1215\n"
        "1, 00000000:47:00.0, [N/A], 0, 40960, [N/A], 30, 0, 0\n"
    )
    first, second = nvidia_smi.readings(text).values()
    assert (first.util, first.used_bytes, first.power_w, first.gfx_clock_mhz) == (97.0, 20 * 2**30, 250.43, 1410.0)
    assert (second.util, second.power_w) == (None, None)
    with pytest.raises(ValueError, match="not a line of the query"):
        nvidia_smi.readings("No devices were found\n")


@pytest.mark.parametrize(
    ("body", "timeout_s", "why"),
    [
        ("", 20, "rocm-smi printed an unknown format"),
        ("print('{}')", 20, "rocm-smi listed no GPU"),
        ("print('NOT_SUPPORTED: Cannot print JSON/CSV output')", 20, "printed an unknown format"),
        ("import time; time.sleep(60)", 0.3, r"did not answer within 0\.3 s"),
        ("import subprocess; subprocess.run(['sleep', '60'])", 0.5, r"did not answer within 0\.5 s"),
    ],
)
def test_a_command_that_says_nothing_or_hangs_is_no_source(
    tmp_path: Path, body: str, timeout_s: float, why: str
) -> None:
    began = time.monotonic()
    with pytest.raises(SourceError, match=why):
        SmiSource("rocm-smi", command(tmp_path, body), rocm_smi.readings, None, timeout_s)
    assert time.monotonic() - began < patience(30)
    with pytest.raises(SourceError, match="No such file"):
        SmiSource("rocm-smi", [str(tmp_path / "nowhere")], rocm_smi.readings, None)


def test_a_command_that_hangs_in_mid_job_is_left_alone_for_longer_and_longer(tmp_path: Path, monkeypatch) -> None:
    calls = tmp_path / "calls"
    calls.touch()
    body = (
        f"import os, time\nopen({str(calls)!r}, 'a').write('x')\n"
        f"print({sample(SECONDARY)!r}) if os.path.getsize({str(calls)!r}) == 1 else time.sleep(30)"
    )
    found = SmiSource("rocm-smi", command(tmp_path, body), rocm_smi.readings, None, timeout_s=20)
    found.timeout_s = 0.5
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    pauses = []
    for _ in range(3):
        found.tick(10.0)
        pauses.append(found.silent_until - now[0])
        asked = len(calls.read_text())
        found.tick(10.0)
        assert len(calls.read_text()) == asked
        now[0] = found.silent_until
    assert pauses == [1.0, 2.0, 4.0]
    assert "did not answer" in found.gpus[0].totals.reasons["unreadable"]
    assert found.gpus[0].totals.measured_s == 0


def test_a_gpu_that_the_command_does_not_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not list GPU 5"):
        SmiSource("rocm-smi", printing(tmp_path, sample(SECONDARY)), rocm_smi.readings, [0, 5])


@pytest.mark.parametrize(
    ("written", "value"), [("", None), ("None", None), ("N/A", None), ("-", None), (None, None), ("3.5 W", 3.5)]
)
def test_a_number_may_not_be_there(written: str | None, value: float | None) -> None:
    assert number(written) == value
