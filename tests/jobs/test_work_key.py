"""The same work under changing names: what is taken away, what must stay, and names made to be a burden."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.work_key import normalised_name, work_key
from wire.work_names import KEY_LENGTH

ALICE = (b"secret", "lumi", "alice", "project_465000001")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train", "Train", "TRAIN ", "train.sh", "train.sbatch", "train.slurm.sh", "train()"], "train"),
        (["train_v2", "train-V10", "train.v1.2.3", "train_ver3", "train version 4", "train_rev-7"], "train"),
        (["train-run3", "train_run_3", "train.run.12", "train_run3_v2", "train_retry2", "train-restart-01"], "train"),
        (["train.0007", "train_12", "train-3", "train(2)", "train [4]", "train #5", "train_1_2_3"], "train"),
        (["train_seed42", "seed42_train", "train-seed-7", "train_seed=1234", "train_rng_seed_3"], "train"),
        (["train1", "train2", "train0013"], "train"),
        (["train_2026-11-20", "train-20261120", "train_20.11.2026", "20261120_train", "train 2026/1/5"], "train"),
        (["train_2026-11-20T10:30:00Z", "train_2026-11-20_10-30-00", "train_20261120T103000", "train 10:30"], "train"),
        (["train_20261120_1030", "train_20nov2026", "train_nov20", "train-2026-nov-20", "train_10h30m"], "train"),
        (["train_1763634600", "train_17300012", "17300012-train"], "train"),
        (
            ["train_3f2a9c1", "train-deadbeef01", "train_0x1F", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3-train"],
            "train",
        ),
        (["train_550e8400-e29b-41d4-a716-446655440000", "train-550E8400_E29B_41D4_A716_446655440000"], "train"),
        (["md_prod001", "md-prod017", "md_prod_3", "md prod 2026-11-20"], "md-prod"),
        (["train_task7", "train-array-3", "train_fold2", "train_part_1", "train_job12"], "train"),
        (["Llama-7b finetune", "llama_7b_finetune_v3", "LLAMA/7b/finetune.sh"], "llama-7b-finetune"),
        (["Größe_2", "größe.sh", "GRÖSSE".replace("SS", "ß")], "größe"),
        (["訓練_v2", "訓練-7"], "訓練"),
    ],
)
def test_what_changes_from_run_to_run_is_taken_away(names: list[str], expected: str) -> None:
    assert {name: normalised_name(name) for name in names} == dict.fromkeys(names, expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("resnet50", "resnet101"),
        ("llama-7b", "llama-70b"),
        ("gpt2", "gpt3"),
        ("llama2_13b_chat", "llama3_13b_chat"),
        ("h2o_md", "co2_md"),
        ("01-relax", "02-md"),
        ("step1_equil", "step2_prod"),
        ("train_lr1e3_adam", "train_lr1e4_adam"),
        ("mi100_bench", "mi250_bench"),
        ("train_small", "train_large"),
        ("yolo_v5_train", "yolo_v8_train"),
    ],
)
def test_numbers_that_name_the_work_stay(one: str, other: str) -> None:
    assert "" not in (normalised_name(one), normalised_name(other))
    assert normalised_name(one) != normalised_name(other)


@pytest.mark.parametrize("name", ["facade", "decade_md", "cafe", "beef_deed", "defaced", "march_cfd", "may"])
def test_words_that_only_look_like_hexadecimal_or_like_a_month_stay(name: str) -> None:
    assert normalised_name(name) == name.replace("_", "-")


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "bash", "BASH", "interactive", "wrap", "sbatch", "jupyter", "Jupyter-Lab", "job", "test", "test3"),
        *("job_12", "job12", "run.sh", "test.sbatch", "submit_v2.sh", "sys/dashboard/sys/jupyter", "sys/dashboard"),
        *("7", "0007", "12_34", "3.14", "2026-11-20", "20261120", "v2", "run-3", "seed42", "550e8400", "10:30"),
        *("550e8400-e29b-41d4-a716-446655440000", "___", "...", "\x00\x1b[\ufffd", "🚀🚀", "٣٤٥", "²", "1" * 256),
    ],
)
def test_generic_names_and_bare_numbers_name_no_work(name: str) -> None:
    assert normalised_name(name) == ""
    assert work_key(*ALICE, name) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train\nJobId=7", "train-jobid"),
        ("a\x1b[31mb\ufffdc", "a-31mb-c"),
        ("train\u202ekcab", "train-kcab"),
        ("\ud800train", "train"),
        ("../../etc/passwd", "etc-passwd"),
        ("$(rm -rf /)", "rm-rf"),
        ("<script>alert(1)</script>", "script-alert-1-script"),
        ("2026-seed1-11-20 model", "model"),
        ("x" * 300, "x" * 256),
        ("İstanbul", "i-stanbul"),
    ],
)
def test_hostile_names_are_words_like_any_others(name: str, expected: str) -> None:
    assert normalised_name(name) == expected


PIECES = st.sampled_from(
    "train seed 42 2026 11 20 v2 run 3 0007 nov deadbeef1 t10 00 z - _ . : h İ Σ ß ١ job sh 0x1f 550e8400 e29b".split()
)


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=20).map("".join), st.lists(PIECES).map("-".join)))
def test_normalising_twice_is_normalising_once(name: str) -> None:
    once = normalised_name(name)
    assert normalised_name(once) == once
    assert len(once) <= 256
    assert once == "" or any(letter.isalpha() for letter in once)


@pytest.mark.parametrize("piece", ["0", "a", "-", "_1", "-seed1", "0123456789abcdef", "2026-11-20-", "v1.", ".sh", "é"])
def test_a_name_of_a_million_characters_costs_no_more_than_one_that_is_kept(piece: str) -> None:
    """In time of this process alone; what grew with the square of the length would take minutes."""
    began = time.process_time()
    normalised_name(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 2
    began = time.process_time()
    for _ in range(20):
        normalised_name((piece * 256)[:256])
    assert (time.process_time() - began) / 20 < 0.1


def test_a_key_is_of_one_person_project_cluster_and_name() -> None:
    key = work_key(*ALICE, "train_v1")
    assert len(key) == KEY_LENGTH
    assert int(key, 16) >= 0
    assert key == work_key(*ALICE, "Train-2026-11-20.sh")
    others = [
        work_key(b"another", "lumi", "alice", "project_465000001", "train"),
        work_key(b"secret", "other", "alice", "project_465000001", "train"),
        work_key(b"secret", "lumi", "bob", "project_465000001", "train"),
        work_key(b"secret", "lumi", "alice", "project_465000002", "train"),
        work_key(*ALICE, "evaluate"),
    ]
    assert len({key, *others}) == 6


def test_a_payloads_own_key_refines_the_name_and_stands_for_a_name_that_says_nothing() -> None:
    plain, a, b = (work_key(*ALICE, "train", key) for key in ("", "hmac:a", "hmac:b"))
    assert len({plain, a, b}) == 3
    assert a == work_key(*ALICE, "train_v2", "hmac:a")
    assert work_key(*ALICE, "bash", "hmac:a") == work_key(*ALICE, "", "hmac:a") != ""


def test_parts_cannot_be_shifted_into_one_another() -> None:
    assert work_key(b"s", "lumi", "alice", "p", "x", "y") != work_key(b"s", "lumi", "alice", "p", "x-y")
    assert work_key(b"s", "lumi", "ali", "cep", "x") != work_key(b"s", "lumi", "alice", "p", "x")
