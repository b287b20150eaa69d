"""Profiles of sites: what makes one, what is wrong with a broken one, and how the portal comes to its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from jobs.hardware import partition_of, site, use_site
from jobs.site_factors import Emission
from jobs.site_profile import SiteProfileError, bundled_site, read_site

ROOT = Path(__file__).parents[2]

NODE = """
[nodes.n]
gpus = 4
cores = 32
host_memory_gb = 250
gpu_memory_gb = 80
gpus_per_module = 1
module_power_cap_w = 400
"""
PARTITION = """
[clusters.c.partitions.p]
node = "n"
is_exclusive = false
"""
SMALLEST = f'name = "Mine"\n{NODE}\n{PARTITION}'
PRICE = "\n[prices.h]\nper_slice_hour = 1.0\n"


@pytest.fixture
def _lumi_again() -> Iterator[None]:
    yield
    use_site(None)


def profile(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return file


def test_the_smallest_profile_has_no_limits_no_bill_and_no_twins(tmp_path: Path) -> None:
    cluster = read_site(profile(tmp_path, SMALLEST)).clusters["c"]
    partition = cluster.partitions["p"]
    assert cluster.threads_per_core == 1
    assert (partition.name, partition.node.cores_per_gpu, partition.node.vendor) == ("p", 8, "")
    assert (partition.nodes_max, partition.walltime_max_s, partition.price) == (None, None, None)
    assert (partition.shared_twin, partition.cpu_partition, partition.smaller_gpu) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SMALLEST.replace("gpus = 4", 'gpus = "four"'), "nodes.n.gpus: expected `int`, got `str`"),
        (SMALLEST.replace("gpus = 4", "gpus = 0"), "nodes.n.gpus: expected `int` >= 1"),
        (SMALLEST.replace("gpus = 4\n", ""), "nodes.n.gpus: is required"),
        (SMALLEST.replace("host_memory_gb = 250", "host_memory_gb = nan"), "nodes.n.host_memory_gb: expected `float`"),
        (SMALLEST + NODE.replace("[nodes.n]", '[nodes.m]\nvendor = "amd64"'), "nodes.m.vendor: invalid enum value"),
        (
            SMALLEST.replace("is_exclusive", "exclusive"),
            "clusters.c.partitions.p.exclusive: unknown key; known are name",
        ),
        (SMALLEST.replace('name = "Mine"', ""), "name: is required"),
        (SMALLEST.replace('node = "n"', 'node = "m"'), "clusters.c.partitions.p.node: no node type 'm' is described"),
        (SMALLEST + 'price = "h"', "clusters.c.partitions.p.price: no price 'h' is described"),
        (SMALLEST + 'shared_twin = "q"', "clusters.c.partitions.p.shared_twin: no partition 'q' is described"),
        (
            SMALLEST + 'smaller_gpu = {partition = "q", gres = "1g.10gb", memory_gb = 10, share = 0.1}',
            "clusters.c.partitions.p.smaller_gpu.partition: no partition 'q' is described",
        ),
        (
            SMALLEST + 'smaller_gpu = {partition = "p", gres = "1g.10gb", memory_gb = 10, share = 7}',
            "clusters.c.partitions.p.smaller_gpu.share: expected `float` < 1.0",
        ),
        (
            SMALLEST + "default_memory_gb = 8\ndefault_memory_per_core_gb = 2",
            "clusters.c.partitions.p.default_memory_per_core_gb: cannot be set together with default_memory_gb",
        ),
        (SMALLEST + PRICE, "prices.h: needs gpus_per_slice, cores_per_slice or memory_gb_per_slice"),
        (SMALLEST + PRICE + 'gpus_per_slice = 1\ncombine = "min"', "prices.h.combine: invalid enum value 'min'"),
        (SMALLEST + '\n[links]\ntimeout = "javascript:alert(1)"', "links.timeout: expected `str` matching regex"),
        (SMALLEST + '\n["clusters"."two words"]', "clusters.two words: expected `str` matching regex"),
        (SMALLEST + '\n[clusters.d]\nleft_out = "x"', "clusters.d.left_out: expected `array`, got `str`"),
        ('name = "Mine"\nclusters = 3', "clusters: must be a table"),
        ('name = "Mine"', "clusters: at least one is required"),
        ("name = Mine", "is not TOML: Invalid value (at line 1, column 8)"),
    ],
)
def test_a_broken_profile_is_refused_with_file_and_key(tmp_path: Path, text: str, problem: str) -> None:
    file = profile(tmp_path, text)
    with pytest.raises(SiteProfileError) as refused:
        read_site(file)
    assert str(refused.value).startswith(f"{file}: {problem}")


def test_a_profile_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SiteProfileError, match=r"none\.toml: cannot be read: No such file or directory"):
        read_site(tmp_path / "none.toml")


@pytest.mark.usefixtures("_lumi_again")
def test_the_setting_names_ones_own_profile_and_empty_is_lumi(tmp_path: Path, settings: Settings) -> None:
    settings.SITE_PROFILE = str(profile(tmp_path, SMALLEST))
    apps.get_app_config("jobs").ready()
    assert (site().name, partition_of("c", "p").node.gpus) == ("Mine", 4)
    settings.SITE_PROFILE = ""
    apps.get_app_config("jobs").ready()
    assert site().name == "LUMI"


@pytest.mark.usefixtures("_lumi_again")
def test_a_broken_profile_keeps_the_portal_from_starting(tmp_path: Path, settings: Settings) -> None:
    settings.SITE_PROFILE = str(profile(tmp_path, SMALLEST.replace("cores = 32", "cores = -1")))
    with pytest.raises(
        ImproperlyConfigured, match=r"^SITE_PROFILE: .*mine\.toml: nodes\.n\.cores: expected `int` >= 1"
    ):
        apps.get_app_config("jobs").ready()


def test_the_environment_chooses_the_profile_of_a_process(tmp_path: Path) -> None:
    chosen = {
        "SITE_PROFILE": str(profile(tmp_path, SMALLEST)),
        "KAIKU_VAR_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "portal.settings",
    }
    asked = "import django; django.setup(); from jobs.hardware import site; print(site().name)"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, env=os.environ | chosen, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("Mine\n", 0), done.stderr


EMISSION = '\n[[emissions]]\nsince = 2026-01-01\ngrams_per_kwh = 90\nsource = "Supplier, 2025"\n'
COST = '\n[[costs]]\nsince = 2026-01-01\nper = "kWh"\namount = 0.12\ncurrency = "EUR"\nsource = "Contract"\n'


def test_no_bundled_profile_states_emissions_or_costs() -> None:
    assert [(bundled_site(name).emissions, bundled_site(name).costs) for name in ("lumi", "example_a100")] == [
        ((), ())
    ] * 2


def test_emissions_and_costs_have_a_first_day_and_a_source(tmp_path: Path) -> None:
    by_hour = COST.replace('"kWh"', '"GPU-hour"').replace("0.12", "1")
    mine = read_site(profile(tmp_path, SMALLEST + EMISSION + COST + by_hour))
    assert mine.emissions == (Emission(date(2026, 1, 1), 90.0, "Supplier, 2025"),)
    assert [(cost.per, cost.amount) for cost in mine.costs] == [("kWh", 0.12), ("GPU-hour", 1.0)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (EMISSION.replace("01-01", "01-02"), "emissions[0].since: must be the first day of a month"),
        (EMISSION + EMISSION, "emissions[1].since: 2026-01-01 is in this list already"),
        (EMISSION.replace("since = 2026-01-01\n", ""), "emissions[0].since: is required"),
        (EMISSION.replace("2026-01-01", "2026-01-01T00:00:00Z"), "emissions[0].since: expected `date`"),
        (EMISSION.replace("Supplier, 2025", ""), "emissions[0].source: expected `str` of length >= 1"),
        (EMISSION.replace("90", "-1"), "emissions[0].grams_per_kwh: expected `float` >= 0"),
        (EMISSION.replace("90", "nan"), "emissions[0].grams_per_kwh: expected `float`"),
        (EMISSION.replace("grams_per_kwh", "kg_per_kwh"), "emissions[0].kg_per_kwh: unknown key; known are since"),
        (EMISSION.replace("[[emissions]]", "[emissions]"), "emissions: must be a list of tables, [[emissions]]"),
        (COST.replace("0.12", "0"), "costs[0].amount: expected `float` > 0"),
        (COST.replace("EUR", "€"), "costs[0].currency: expected `str` matching regex"),
        (COST.replace('"kWh"', '"job"'), "costs[0].per: invalid enum value 'job'"),
        (COST + COST, "costs[1].since: 2026-01-01 is in this list already"),
    ],
)
def test_a_wrong_factor_is_named_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SiteProfileError) as raised:
        read_site(profile(tmp_path, SMALLEST + text))
    assert problem in str(raised.value)
