"""Reading directories: who belongs where and as what; a doubtful row links nobody."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from jobs.allocations import AllocatedHours
from jobs.directory import (
    LOWER,
    SUBJECT_CASES,
    DirectoryFormatError,
    from_csv,
    from_project_files,
    from_slurm,
    from_waldur,
)

SAMPLES = Path(__file__).parents[1] / "samples" / "slurm"
NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def test_a_csv_gives_projects_roles_identities_and_portal_roles() -> None:
    found = from_csv(
        "username,project,role,subject,email\n"
        "carol,project_465000001,PI,ABC@MyAccessID.org,carol@example.org\n"
        "alice,project_465000001,,,\n"
        "erin,,support,,\n"
    )
    assert found.roles == {"project_465000001": {"carol": "pi", "alice": "member"}}
    assert found.subjects == {"carol": "ABC@MyAccessID.org"}
    assert found.emails == {"carol": "carol@example.org"}
    assert found.grants == {("erin", "support")}
    assert (found.is_complete, found.links_identities, found.grants_roles, found.skipped) == (True, True, True, ())


def test_two_columns_are_enough_and_then_nothing_is_said_of_identities_and_roles() -> None:
    found = from_csv("\ufeffusername,project\nalice,p1\n")
    assert (found.roles, found.links_identities, found.grants_roles) == ({"p1": {"alice": "member"}}, False, False)


def test_a_bad_row_of_a_csv_is_left_out_by_line() -> None:
    found = from_csv(
        "username,project,role,subject\na b,p1,,\nbob,p 1,,\nbob,p1,king,\nbob,,pi,\nbob,p1,,a b\nbob,p2,,\n"
    )
    assert found.roles == {"p2": {"bob": "member"}}
    assert found.skipped == (
        "line 2: 'a b' is not a valid account name",
        "line 3: 'p 1' is not a valid project name",
        "line 4: role 'king' is not one of member, manager, pi",
        "line 5: role 'pi' is not one of support, policy, administrator",
        "line 6: 'a b' is not a valid identifier: at most 255 ASCII characters without white space",
    )


def test_an_identity_that_two_accounts_claim_links_neither() -> None:
    found = from_csv("username,project,subject\nalice,p1,x@idp\nbob,p1,x@idp\ncarol,p1,c@idp\ncarol,p2,d@idp\n")
    assert found.subjects == {}
    assert found.skipped == tuple(f"{name}: linked to more than one" for name in ("alice", "bob", "carol"))


def test_identifiers_are_different_people_by_case_unless_the_site_folds_it() -> None:
    rows = "username,project,subject\nalice,p1,x@idp\nbob,p1,X@idp\n"
    assert from_csv(rows).subjects == {"alice": "x@idp", "bob": "X@idp"}
    assert from_csv(rows, LOWER).subjects == {}
    assert from_csv("username,project,subject\nbob,p1,X@idp\n", LOWER).subjects == {"bob": "x@idp"}


@pytest.mark.parametrize(
    "subject", ["x@idp ", "x@idp\u00a0", "x\t@idp", "x@id\u03c1", "\u212a@idp", "x" * 256, "x\x00"]
)
@pytest.mark.parametrize("case", SUBJECT_CASES)
def test_an_identifier_with_blanks_or_beyond_ascii_leaves_its_row_out(subject: str, case: str) -> None:
    found = from_csv(f"username,project,subject\nalice,p1,{subject}\nbob,p1, b@idp\ncarol,p1, \n", case)
    assert (found.subjects, list(found.roles["p1"])) == ({"bob": "b@idp"}, ["bob", "carol"])
    assert "is not a valid identifier" in found.skipped[0]
    team = [{"user_username": subject, "role_name": "PROJECT.MEMBER", "expiration_time": None}]
    users = [{"user_username": subject, "username": "alice", "state": "OK"}]
    listed = from_waldur(users, {"p1": team}, now=NOW, case=case)
    assert (listed.subjects, listed.roles) == ({}, {"p1": {}})


@pytest.mark.parametrize("text", ["", "name,group\na,b\n", "\x00\x01"])
def test_a_file_without_the_columns_is_no_csv_of_ours(text: str) -> None:
    with pytest.raises(DirectoryFormatError, match="must name the columns"):
        from_csv(text)


def test_project_files_list_active_members_and_no_pi() -> None:
    found = from_project_files(
        {
            "project_465000001": '{"title": "t", "members": {"alice": {"active": true}, "bob": {"active": false}}}',
            "project_465000002": '{"members": {}}',
        },
        is_complete=True,
    )
    assert found.roles == {"project_465000001": {"alice": "member"}, "project_465000002": {}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"members": ["alice"]}', '{"members": {"a": true}}', "[" * 100_000])
def test_something_else_is_no_project_file(text: str) -> None:
    with pytest.raises(DirectoryFormatError, match="project_1: not a project file"):
        from_project_files({"project_1": text}, is_complete=True)


def test_real_slurm_associations_give_members_and_coordinators_give_pis() -> None:
    found = from_slurm(
        (SAMPLES / "sacctmgr-associations.txt").read_text(),
        (SAMPLES / "sacctmgr-accounts-withcoord.txt").read_text(),
        cluster="lumi",
    )
    assert found.roles == {
        "project_465000001": {"alice": "member", "bob": "member", "carol": "pi", "games": "member"},
        "project_465000002": {"alice": "pi", "carol": "pi"},
    }
    assert not found.links_identities


def test_another_cluster_and_a_broken_table() -> None:
    associations = (SAMPLES / "sacctmgr-associations.txt").read_text()
    accounts = (SAMPLES / "sacctmgr-accounts-withcoord.txt").read_text()
    assert from_slurm(associations, accounts, cluster="other").roles == {}
    for broken in ("", "sacctmgr: error", associations + "lumi|a\n"):
        with pytest.raises(DirectoryFormatError, match="the table of sacctmgr"):
            from_slurm(broken, accounts, cluster="lumi")


def member(subject: str, role: str, expires: str | None = None) -> dict[str, object]:
    return {"user_username": subject, "role_name": role, "expiration_time": expires}


def test_waldur_teams_are_told_by_the_accounts_of_the_offering() -> None:
    accounts = [
        {"user_username": "a@idp", "username": "alice", "state": "OK"},
        {"user_username": "c@idp", "username": "carol"},
        {"user_username": "d@idp", "username": "", "state": "Creating"},
        {"user_username": "e@idp", "username": "erin", "state": "Deleted"},
        {"user_username": "f@idp", "username": "frank", "is_restricted": True},
    ]
    team = [
        member("a@idp", "PROJECT.MEMBER", "2026-11-20T12:30:01Z"),
        member("c@idp", "PROJECT.MANAGER"),
        member("c@idp", "PROJECT.MEMBER"),
        member("d@idp", "PROJECT.MEMBER"),
        member("e@idp", "PROJECT.MEMBER"),
        member("f@idp", "PROJECT.MEMBER"),
    ]
    found = from_waldur(accounts, {"p1": team, "p2": [member("c@idp", "PROJECT.ADMIN")]}, now=NOW)
    assert found.subjects == {"alice": "a@idp", "carol": "c@idp"}
    assert found.roles == {"p1": {"alice": "member", "carol": "pi"}, "p2": {"carol": "manager"}}


def test_a_role_of_waldur_ends_when_its_time_comes() -> None:
    accounts = [{"user_username": "a@idp", "username": "alice"}]
    team = [member("a@idp", "PROJECT.MANAGER", "2026-11-20T12:30:00+00:00")]
    assert from_waldur(accounts, {"p1": team}, now=NOW).roles == {"p1": {}}
    with pytest.raises(DirectoryFormatError, match="'soon' is not a time"):
        from_waldur(accounts, {"p1": [member("a@idp", "PROJECT.MANAGER", "soon")]}, now=NOW)


def test_a_row_of_a_csv_without_a_username_gives_a_project_its_hours() -> None:
    found = from_csv(
        "username,project,gpu_hours,used_gpu_hours,begins_on,ends_on\n"
        "alice,p1,,,,\n"
        ",p1,1000,250,2026-01-01,2026-12-31\n"
        ",p2,500,,,\n"
        "bob,p1,7,,,\n"
        ",,7,,,\n"
        ",p3,much,,,\n"
        ",p 3,7,,,\n"
    )
    assert found.allocations == {
        "p1": AllocatedHours(1000.0, 250.0, date(2026, 1, 1), date(2026, 12, 31)),
        "p2": AllocatedHours(500.0),
    }
    assert (found.roles, found.tells_hours) == ({"p1": {"alice": "member"}}, True)
    assert found.skipped == (
        "line 5: GPU-hours belong in a row of their project without a username",
        "line 6: GPU-hours belong in a row of their project without a username",
        "line 7: gpu_hours 'much' is not a number of GPU-hours",
        "line 8: 'p 3' is not a valid project name",
    )
    assert not from_csv("username,project\nalice,p1\n").tells_hours


def test_a_row_of_a_csv_without_a_username_gives_a_project_its_science_field() -> None:
    found = from_csv(
        "username,project,science_field,gpu_hours\n"
        "alice,p1,,\n"
        ",p1,  Physical   sciences ,\n"
        ",p2,Chemistry,500\n"
        "bob,p1,Chemistry,\n"
        ",p3,Chemistry,much\n"
        f",p4,{'x' * 5000},\n"
        ",p5,a\u202eb\x00<b>,\n"
    )
    assert found.science_fields == {
        "p1": "Physical sciences",
        "p2": "Chemistry",
        "p3": "Chemistry",
        "p4": "x" * 64,
        "p5": "a\ufffdb\ufffd<b>",
    }
    assert (list(found.allocations), found.roles, found.tells_fields) == (["p2"], {"p1": {"alice": "member"}}, True)
    assert found.skipped == (
        "line 5: a science field belongs in a row of their project without a username",
        "line 6: gpu_hours 'much' is not a number of GPU-hours",
    )
    assert not from_csv("username,project\nalice,p1\n").tells_fields


def test_a_project_file_gives_a_science_field_and_one_that_is_no_text_is_none() -> None:
    members = '"members": {"alice": {"active": true}}'
    files = {
        "p1": '{"science_field": "Chemistry", ' + members + "}",
        "p2": '{"science_field": {"name": ["Chemistry"]}, ' + members + "}",
        "p3": "{" + members + "}",
    }
    found = from_project_files(files, is_complete=True)
    assert (found.science_fields, found.tells_fields, found.skipped) == ({"p1": "Chemistry"}, True, ())
    assert not from_project_files({"p3": files["p3"]}, is_complete=True).tells_fields


def test_a_project_file_gives_hours_and_bad_ones_do_not_cost_its_members() -> None:
    members = '"members": {"alice": {"active": true}}'
    found = from_project_files(
        {
            "p1": '{"billing": {"gpu_hours": {"alloc": 1000, "used": 500}}, ' + members + "}",
            "p2": '{"billing": {"gpu_hours": {"alloc": "x"}}, ' + members + "}",
            "p3": "{" + members + "}",
        },
        is_complete=True,
    )
    assert found.allocations == {"p1": AllocatedHours(1000.0, 500.0)}
    assert found.roles == {name: {"alice": "member"} for name in ("p1", "p2", "p3")}
    assert found.skipped == ("p2: alloc 'x' is not a number of GPU-hours",)
