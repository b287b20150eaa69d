"""Other places in a site's profile: what one needs, and how what is wrong with it is named."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from jobs.site_profile import FOLDER, SiteProfileError, bundled_site, read_site
from tests.jobs.test_site_profiles import SMALLEST, profile

CLOUD = """
[[platforms]]
name = "cloud"
kind = "cloud"
gpu_name = "GPU 80 GB"
gpus_per_node = 8
gpu_memory_gb = 80
"""
PRICE = """
price_per_gpu_hour = 3
unit = "EUR"
price_source = "https://cloud.example/prices"
price_on = 2026-10-01
"""
FACTOR = """
run_time_factor = 0.5
run_time_factor_from = "p"
run_time_factor_source = "measured"
"""


def test_no_bundled_profile_states_any() -> None:
    assert [bundled_site(path.stem).platforms for path in FOLDER.glob("*.toml")] == [(), ()]


def test_a_platform_needs_no_price(tmp_path: Path) -> None:
    (cloud,) = read_site(profile(tmp_path, SMALLEST + CLOUD)).platforms
    assert (cloud.name, cloud.price_per_gpu_hour, cloud.run_time_factor, cloud.nodes_for(9)) == ("cloud", None, None, 2)


def test_a_price_has_a_unit_a_source_and_a_day(tmp_path: Path) -> None:
    (cloud,) = read_site(profile(tmp_path, SMALLEST + CLOUD + PRICE + FACTOR)).platforms
    assert (cloud.price_per_gpu_hour, cloud.unit, cloud.price_on) == (3, "EUR", date(2026, 10, 1))
    assert (cloud.run_time_factor, cloud.run_time_factor_from) == (0.5, "p")


def without(text: str, name: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(f"{name} ="))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[platforms]\na = 1\n", "platforms: must be a list of tables, [[platforms]]"),
        (without(CLOUD, "gpu_name"), "platforms[0].gpu_name: is required"),
        (CLOUD.replace('kind = "cloud"', 'kind = "moon"'), "platforms[0].kind: invalid enum value 'moon'"),
        (CLOUD + "speed = 2\n", "platforms[0].speed: unknown key"),
        (CLOUD + without(PRICE, "price_source"), "platforms[0].price_source: is required together with"),
        (CLOUD + without(PRICE, "price_on"), "platforms[0].price_on: is required together with"),
        (CLOUD + PRICE.replace("= 3", "= 0"), "platforms[0].price_per_gpu_hour: expected `float` > 0"),
        (CLOUD + PRICE.replace('"EUR"', '"euro"'), "platforms[0].unit: expected `str` matching"),
        (
            CLOUD + without(FACTOR, "run_time_factor_source"),
            "platforms[0].run_time_factor_source: is required together",
        ),
        (CLOUD + FACTOR.replace('"p"', '"q"'), "platforms[0].run_time_factor_from: no partition 'q' is described here"),
        (CLOUD.replace('"cloud"', '"p"', 1), "platforms[0].name: 'p' is the name of a partition"),
        (CLOUD + CLOUD, "platforms[1].name: 'cloud' is the name of a partition, or of another platform"),
        (CLOUD.replace('"cloud"', '"\u202ecloud"', 1), "platforms[0].name: expected `str` matching"),
    ],
    ids=range(13),
)
def test_what_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SiteProfileError) as raised:
        read_site(profile(tmp_path, SMALLEST + text))
    assert problem in str(raised.value)
    assert "mine.toml" in str(raised.value)


def test_the_example_in_the_profile_to_copy_can_be_used(tmp_path: Path) -> None:
    text = (FOLDER / "example_a100.toml").read_text()
    head, _, rest = text.partition("#[[platforms]]")
    shown, _, tail = rest.partition("\n\n")
    told = "[[platforms]]" + shown.replace("\n#", "\n")
    (cloud,) = read_site(profile(tmp_path, f"{head}{told}\n\n{tail}")).platforms
    assert (cloud.billed_gpus(1), cloud.run_time_factor_from) == (8, "gpu")
