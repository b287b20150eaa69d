"""What the chosen site says of clusters and partitions: LUMI unless another profile is used."""

from __future__ import annotations

import pytest

from jobs.hardware import clusters, partition_of, site, threads_per_core, use_site, vendor_of


def test_a_lumi_gpu_is_one_die_with_seven_cores_and_sixty_gigabytes_of_host_memory() -> None:
    node = partition_of("lumi", "standard-g").node
    assert (node.gpus, node.cores_per_gpu, node.host_memory_share_gb, node.gpu_memory_gb) == (8, 7, 60.0, 64.0)
    assert (node.gpus_per_module, node.module_power_cap_w) == (2, 500.0)
    assert (node.gpu_name, node.vendor, node.gres_type) == ("AMD MI250X GCD", "amd", "mi250")
    assert (threads_per_core("lumi"), threads_per_core("elsewhere")) == (2, 1)


def test_lumis_partitions_have_the_limits_of_its_user_guide() -> None:
    limits = {
        name: (partition.is_exclusive, partition.nodes_max, partition.walltime_max_s, partition.default_memory_gb)
        for name, partition in clusters()["lumi"].partitions.items()
    }
    # 2 days, 3 days and 3 hours.
    assert limits == {
        "standard-g": (True, 1024, 172_800, None),
        "small-g": (False, 4, 259_200, 64.0),
        "dev-g": (False, 32, 10_800, None),
    }


def test_lumis_partitions_name_where_other_work_belongs() -> None:
    belongs = {
        name: (partition.shared_twin, partition.exclusive_twin, partition.cpu_partition, partition.smaller_gpu)
        for name, partition in clusters()["lumi"].partitions.items()
    }
    assert belongs == {
        "standard-g": ("small-g", None, "standard", None),
        "small-g": (None, "standard-g", "small", None),
        "dev-g": (None, None, "small", None),
    }


def test_a_partition_knows_its_name() -> None:
    assert [partition_of("lumi", name).name for name in ("standard-g", "dev-g")] == ["standard-g", "dev-g"]


def test_what_is_not_described_is_not_known() -> None:
    assert partition_of("lumi", "lumid") is None
    assert partition_of("campus", "gpu") is None
    assert (vendor_of("lumi", "dev-g"), vendor_of("lumi", "lumid"), vendor_of("campus", "gpu")) == ("amd", "", "")


@pytest.mark.usefixtures("campus")
def test_another_site_takes_the_place_of_lumi() -> None:
    assert (site().name, list(clusters())) == ("Campus", ["campus"])
    assert partition_of("lumi", "small-g") is None
    node = partition_of("campus", "gpu").node
    # 64 cores and 500 GB for four GPUs.
    assert (node.gpus, node.cores_per_gpu, node.host_memory_share_gb, node.gpu_memory_gb) == (4, 16, 125.0, 80.0)
    assert (node.gpus_per_module, node.module_power_cap_w, vendor_of("campus", "gpu")) == (1, 400.0, "nvidia")
    assert threads_per_core("campus") == 1
    assert site().links == {"exclusive_node_underused": "https://docs.example.org/gpu/partitions/"}


@pytest.mark.usefixtures("campus")
def test_a_smaller_gpu_is_a_seventh_with_ten_gigabytes_in_a_partition_of_its_own() -> None:
    smaller = partition_of("campus", "gpu").smaller_gpu
    assert (smaller.partition, smaller.gres, smaller.memory_gb) == ("mig", "1g.10gb", 10.0)
    assert smaller.share == pytest.approx(1 / 7, abs=1e-6)
    instances = partition_of("campus", smaller.partition).node
    assert (instances.gpus, instances.gpus_per_module, instances.gpu_memory_gb) == (28, 7, 10.0)


@pytest.mark.usefixtures("campus")
def test_no_site_is_lumi_again() -> None:
    use_site(None)
    assert site().name == "LUMI"
