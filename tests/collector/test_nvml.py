"""NVIDIA's library, simulated: whole GPUs, MIG slices that tell their use and those that do not, and one that hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collector.calibration import Calibration
from collector.loop import Sampler
from collector.sources.base import SourceError
from collector.sources.nvml import NO_USE, Nvml
from tests.collector.sampling import config_of, job, summary
from tests.parts import program
from tests.processes import PATIENCE_S

SOURCE = Path(__file__).with_name("nvml_simulated.c")
CHECKOUT = Path(__file__).parents[2]
GB_MIB = 1024
KILLED_BY_ALARM = -14


class Driver:
    """The simulated library, and what its devices show."""

    def __init__(self, folder: Path) -> None:
        self.library, self.numbers = folder / "libnvidia-ml.so.1", folder / "numbers"
        command = [program("gcc", part="a C compiler"), "-shared", "-fPIC", "-w", "-o", str(self.library), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        os.environ["NVML_SIMULATED"] = str(self.numbers)

    def show(self, *devices: tuple[int, ...]) -> None:
        """Each: util %, used MiB, total MiB, mW, mJ, C, throttle reasons, slices, whether slices tell their use."""
        beside = self.numbers.with_suffix(".new")
        beside.write_text("\n".join([str(len(devices)), *(" ".join(map(str, device)) for device in devices)]))
        beside.rename(self.numbers)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setenv("NVML_SIMULATED", "")
    return Driver(tmp_path)


def sampler_of(driver: Driver, tmp_path: Path, indices: list[int]) -> Sampler:
    return Sampler(config_of(tmp_path), job(indices), Nvml(indices, str(driver.library)), Calibration())


def test_whole_gpus_are_read_at_the_full_rate(driver: Driver, tmp_path: Path) -> None:
    def show(second: int, util: int, watts: int) -> None:
        idle = (0, 0, 40 * GB_MIB, 50_000, 0, 30, 1, 0, 0)
        driver.show(idle, (util, 10 * GB_MIB, 40 * GB_MIB, watts * 1000, second * 300_000, 61, 4, 0, 0))

    show(0, 0, 50)
    sampler = sampler_of(driver, tmp_path, [1])
    for second, util, watts in ((1, 90, 300), (2, 100, 350), (3, 50, 250)):
        show(second, util, watts)
        sampler.tick(float(second))
        sampler.source.slow_tick(1.0)
    payload = summary(sampler)
    (gpu,) = payload["gpus"]
    assert (payload["source"], payload["interval_s"]) == ("nvml", 1.0)
    # (90 + 100 + 50) / 3; 900 J in 3 s and the last instant, of which no more came.
    assert (gpu["avg_util"], gpu["measured_s"], gpu["peak_mem_gb"], gpu["mem_total_gb"]) == (80.0, 3.0, 10.0, 40.0)
    assert (gpu["energy_j"], gpu["power_peak_w"], gpu["power_cap_w"]) == (900.0, 350.0, 400.0)
    assert (gpu["temperature_peak_c"], gpu["gfx_clock_mhz"], gpu["mem_clock_mhz"]) == (61, 1410, 1215)
    assert (gpu["pci_bus"], gpu["gpu_id"]) == ("00000000:02:00.0", 1)
    assert gpu["throttled_s"] == 4.0


def test_energy_that_goes_back_costs_its_interval(driver: Driver, tmp_path: Path) -> None:
    driver.show((50, 1, 40, 1000, 900_000, 30, 0, 0, 0))
    source = Nvml([0], str(driver.library))
    for millijoules in (1_000_000, 5_000, 25_000):
        driver.show((50, 1, 40, 1000, millijoules, 30, 0, 0, 0))
        source.slow_tick(1.0)
    # 100 J, a reset, 20 J.
    assert source.gpus[0].totals.energy_j == pytest.approx(120.0)


def test_slices_of_a_divided_gpu_count_as_gpus_and_tell_their_use_where_the_model_does(
    driver: Driver, tmp_path: Path
) -> None:
    # Device 0 whole, device 1 in two slices of 20 GB that use 30 + 1 and 30 + 2 percent.
    driver.show(
        (70, 0, 40 * GB_MIB, 50_000, 0, 30, 0, 0, 0),
        (30, 8 * GB_MIB, 40 * GB_MIB, 50_000, 0, 30, 0, 2, 1),
    )
    sampler = sampler_of(driver, tmp_path, [0, 1, 2])
    for second in (1, 2, 3):
        sampler.tick(float(second))
    whole, first, second_one = summary(sampler)["gpus"]
    assert (whole["avg_util"], first["avg_util"], second_one["avg_util"]) == (70.0, 31.0, 32.0)
    assert (first["mem_total_gb"], first["peak_mem_gb"]) == (20.0, 4.0)
    assert "whole device" in first["missing"]["power"]
    assert not {name for name in first if "power" in name or "energy" in name}


def test_slices_of_a_model_that_does_not_tell_their_use_have_memory_and_a_reason(
    driver: Driver, tmp_path: Path
) -> None:
    driver.show((30, 7 * GB_MIB, 70 * GB_MIB, 50_000, 0, 30, 0, 7, 0))
    sampler = sampler_of(driver, tmp_path, [6])
    for second in (1, 2, 3):
        sampler.tick(float(second))
    (gpu,) = summary(sampler)["gpus"]
    assert "avg_util" not in gpu
    assert gpu["missing"]["avg_util"] == NO_USE
    assert (gpu["peak_mem_gb"], gpu["mem_total_gb"]) == (1.0, 10.0)


def test_a_job_of_more_gpus_than_the_library_lists_and_a_node_without_it_are_said(
    driver: Driver, tmp_path: Path
) -> None:
    driver.show((30, 1, 40, 50_000, 0, 30, 0, 0, 0))
    with pytest.raises(SourceError, match="lists 1 GPUs"):
        Nvml([0, 1], str(driver.library))
    with pytest.raises(SourceError, match="cannot open"):
        Nvml([0], str(tmp_path / "nowhere.so"))
    driver.numbers.unlink()
    with pytest.raises(SourceError, match="no driver"):
        Nvml(None, str(driver.library))


def test_from_inside_a_job_the_library_may_show_that_jobs_gpus_alone(driver: Driver, tmp_path: Path) -> None:
    """One GPU is shown, as number 0; the job holds one, which the node counts as 5."""
    driver.show((30, 1, 40, 50_000, 0, 30, 0, 0, 0))
    source = Nvml([5], str(driver.library))
    assert [gpu.index for gpu in source.gpus] == [5]
    source.tick(1.0)
    assert source.gpus[0].totals.samples == 1


def test_a_library_that_hangs_ends_the_process_within_its_limit(driver: Driver, tmp_path: Path) -> None:
    driver.show((-1, 1, 40, 50_000, 0, 30, 0, 0, 0))
    script = (
        f"from collector import loop\nfrom collector.sources.nvml import Nvml\nNvml.hang_s = 0.5\n"
        f"source = Nvml([0], {str(driver.library)!r})\n"
        "loop.SIGNALS.signal(loop.SIGNALS.SIGALRM, loop.SIGNALS.SIG_DFL)\n"
        "loop._alarm(source.hang_s)\nsource.tick(1.0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == KILLED_BY_ALARM
