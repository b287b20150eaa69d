"""Tokens of nodes: one command makes many, and each speaks for its node and for nothing else."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Job, Token
from metrics.models import NodeSummary
from tests.payloads import record, summary
from tests.portal.own_runs import RECORDS, SUMMARIES, errors, post
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db


def made(*arguments: str) -> list[str]:
    said = StringIO()
    call_command("create_token", *arguments, stdout=said)
    return said.getvalue().splitlines()


def tokens() -> list[tuple[str, str, str]]:
    return list(Token.objects.filter(kind="collector").order_by("name").values_list("name", "cluster", "node"))


def test_without_a_node_it_is_one_token_for_the_cluster_as_ever() -> None:
    (secret,) = made("nodes", "--cluster", "lumi")
    assert "\t" not in secret
    assert tokens() == [("nodes", "lumi", "")]
    assert post(secret, [summary(), summary(node="nid005124")]).json()["accepted"] == 2


def test_each_node_of_a_list_gets_its_own() -> None:
    lines = [line.split("\t") for line in made("g", "--cluster", "lumi", "--node", "nid[005001-005003]")]
    assert [node for node, _ in lines] == ["nid005001", "nid005002", "nid005003"]
    assert len({secret for _, secret in lines}) == 3
    assert tokens() == [(f"g-{node}", "lumi", node) for node, _ in lines]
    assert post(lines[1][1], summary(node="nid005002")).status_code == 201
    assert post(lines[1][1], summary(node="nid005001")).status_code == 422


def test_one_node_is_printed_as_a_list_of_one() -> None:
    ((node, _),) = [line.split("\t") for line in made("g", "--node", "nid005001")]
    assert (node, tokens()) == ("nid005001", [("g-nid005001", "lumi", "nid005001")])


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("nid[005003-005001]", "in descending order"),
        ("", "is not a list of nodes"),
        ("nid005001; rm", "is not a list of nodes"),
        ("nid005001,nid005001.lumi.csc.fi", "contains the same node twice"),
        ("n[1-20001]", "names more than 20000 nodes"),
        ("n" * 63, "1 characters longer than the 64 of a name"),
    ],
)
def test_a_list_that_makes_no_sense_makes_no_token(nodes: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        made("g", "--node", nodes)
    assert tokens() == []


def test_where_one_name_is_taken_none_is_made() -> None:
    made("g", "--node", "nid005002")
    with pytest.raises(CommandError, match="a token named g-nid005002 already exists; none was created"):
        made("g", "--node", "nid[005001-005003]")
    assert [name for name, _, _ in tokens()] == ["g-nid005002"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("x --days 30", "--days: not for a token of the kind collector"),
        ("x --kind policy --cluster lumi", "--cluster: not for a token of the kind policy"),
        ("x --kind policy --node nid005001", "--node: not for a token of the kind policy"),
        ("x --kind comments --cluster lumi --node nid005001", "--node: not for a token of the kind comments"),
        ("x --kind comments", "--cluster '': must be the name of a cluster"),
        ("x --kind comments --cluster lumi --days 731", "--days 731: must be from 1 to 730"),
    ],
)
def test_a_limit_that_a_kind_does_not_have_makes_no_token(arguments: str, why: str) -> None:
    with pytest.raises(CommandError, match=re.escape(why)):
        made(*arguments.split())
    assert not Token.objects.exists()


def test_a_name_is_revoked_of_its_kind_alone() -> None:
    (collector,) = made("slurm", "--cluster", "lumi")
    made("slurm", "--kind", "policy")
    made("slurm", "--kind", "policy", "--revoke")
    assert post(collector, summary()).status_code == 201
    made("slurm", "--revoke")
    assert post(collector, summary(sequence=2)).status_code == 401
    with pytest.raises(CommandError, match="there is no valid collector token named slurm"):
        made("slurm", "--revoke")


@pytest.fixture
def bound() -> str:
    return create_collector_token("g-nid005123", "lumi", "nid005123")


def test_a_summary_of_another_node_is_refused_by_itself(bound: str) -> None:
    answer = post(bound, [summary(), summary(node="nid005124")])
    assert answer.status_code == 201
    refused = [{"path": "node", "message": "this token is valid for nid005123 only"}]
    assert answer.json()["rejected"] == [{"index": 1, "errors": refused}]
    assert list(NodeSummary.objects.values_list("node", flat=True)) == ["nid005123"]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 201),
        ({"nodes": ["nid005122", "nid005123"]}, 201),
        ({"nodes": ["nid005123.lumi.csc.fi"]}, 201),
        ({"nodes": []}, 422),
        ({"nodes": ["nid005122"]}, 422),
        ({"nodes": ["nid0051234", "nid00512"]}, 422),
    ],
)
def test_a_job_record_must_name_the_node(bound: str, changes: dict[str, Any], status: int) -> None:
    answer = post(bound, record(**changes), RECORDS)
    assert answer.status_code == status
    assert status == 201 or errors(answer) == [("nodes", "this token is valid for nid005123 only")]
    assert Job.objects.exists() == (status == 201)


@pytest.mark.parametrize(
    ("token", "node", "status"),
    [
        ("nid005123", "nid005123.lumi.csc.fi", 201),
        ("nid005123.lumi.csc.fi", "nid005123", 201),
        ("10.0.5.2", "10.0.5.2", 201),
        ("10.0.5.2", "10.0.5.3", 422),
    ],
)
def test_names_are_compared_without_their_domain(token: str, node: str, status: int) -> None:
    secret = create_collector_token("g", "lumi", token)
    assert post(secret, summary(node=node), SUMMARIES).status_code == status


def test_another_cluster_and_another_node_are_both_named(bound: str) -> None:
    answer = post(bound, summary(cluster="mahti", node="nid1"))
    assert [path for path, _ in errors(answer)] == ["cluster", "node"]


def test_administrators_see_the_node_and_find_it(cast) -> None:
    made("g", "--node", "nid[005001-005002]")
    page = cast("grace").get("/admin/jobs/token/?q=nid005002").content.decode()
    assert "nid005002</td>" in page
    assert "nid005001</td>" not in page
    assert str(Token.objects.filter(kind="collector").get(node="nid005001")) == "g-nid005001 (lumi, nid005001)"
