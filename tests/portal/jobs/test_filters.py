"""The filters of the Jobs page: choices, the chips of those that are on, saved ones, and addresses of all kinds."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Membership, Project, SavedFilter, User
from jobs.notes.services import write_note
from tests.portal.conftest import PASSWORD
from tests.portal.jobs.test_job_pages import NOW, run

CHIP = re.compile(r'<a class="chip on" href="([^"]*)".*?<span class="what">(.*?)</span>', re.DOTALL)


def shown(client: Client, address: str = "") -> list[int]:
    return [row.run.job_id for row in client.get(f"/jobs/?{address}").context["page"].runs]


def chips_on(client: Client, address: str) -> dict[str, str]:
    """What each chip reads, and where it leads."""
    found = CHIP.findall(client.get(f"/jobs/?{address}").content.decode())
    return {unescape(text): unescape(href) for href, text in found}


def choices_of(client: Client, name: str) -> list[str]:
    fields = client.get("/jobs/").context["form"].fields
    return [value for value, _ in fields[name].choices if value] if name in fields else []


def test_each_filter_that_is_on_is_a_chip_whose_link_leaves_it_out(cast) -> None:
    run(1, job_name="train")
    alice = cast("alice")
    assert chips_on(alice, "sort=use") == {}
    assert chips_on(alice, "q=train&state=COMPLETED&days=30&sort=use") == {
        "Search: train": "/jobs/?state=COMPLETED&days=30&sort=use",
        "State: Completed": "/jobs/?q=train&days=30&sort=use",
        "Time: Last 30 days": "/jobs/?q=train&state=COMPLETED&sort=use",
    }
    assert chips_on(alice, "array=lumi/7") == {"Array: lumi/7": "/jobs/"}
    assert chips_on(alice, "counted=flags") == {"Counted: by flags": "/jobs/"}


def test_a_pi_filters_by_the_members_of_the_projects_they_lead(cast) -> None:
    carol = cast("carol")
    Project.objects.create(name="project_465000002")
    for job_id, owner, project in ((1, "alice", 1), (2, "bob", 1), (3, "dave", 2), (4, "bob", 2), (5, "carol", 2)):
        run(job_id, owner=owner, project=f"project_46500000{project}")
    assert choices_of(carol, "owner") == ["alice", "bob", "carol"]
    assert sorted(shown(carol)) == [1, 2, 5]
    # Bob's other job is in a project that carol does not lead; her own is hers wherever it ran.
    assert (shown(carol, "owner=bob"), shown(carol, "owner=carol")) == ([2], [5])
    assert shown(carol, "owner=bob&project=project_465000001") == [2]
    assert shown(carol, "owner=carol&project=project_465000001") == []
    # Dave is nobody to her: such a filter counts as none.
    assert sorted(shown(carol, "owner=dave")) == [1, 2, 5]


def test_who_left_the_project_is_still_found_by_their_name(cast) -> None:
    carol = cast("carol")
    run(1, owner="alice")
    run(2, owner="bob")
    Membership.objects.filter(user__username="bob").delete()
    assert "bob" not in choices_of(carol, "owner")
    assert shown(carol, "owner=bob") == [2]


def test_nobody_else_has_a_filter_by_owner(cast) -> None:
    run(1)
    run(2, owner="bob")
    alice = cast("alice")
    assert choices_of(alice, "owner") == []
    assert shown(alice, "owner=bob") == [1]
    assert choices_of(alice, "project") == ["project_465000001"]


@pytest.mark.parametrize("sort", ["ended", "wasted", "runtime"])
def test_pages_of_one_owner_hold_each_of_their_jobs_once(cast, sort: str) -> None:
    carol = cast("carol")
    for job_id in range(1, 61):
        run(job_id, owner="alice" if job_id % 2 else "bob")
    seen, address = [], f"owner=alice&sort={sort}"
    while address:
        page = carol.get(f"/jobs/?{address}").context["page"]
        seen += [row.run.job_id for row in page.runs]
        address = page.next
    assert sorted(seen) == list(range(1, 61, 2))


def test_time_is_counted_in_days_of_the_reader_today_with_it(cast) -> None:
    today = timezone.now().replace(hour=0, minute=0, second=1)
    for job_id, days_ago in ((1, 0), (2, 6), (3, 7), (4, 40)):
        run(job_id, ended_at=today - timedelta(days=days_ago))
    alice = cast("alice")
    assert shown(alice, "days=7") == [1, 2]
    assert shown(alice, "days=1") == [1]
    assert shown(alice, "days=90") == [1, 2, 3, 4]


def test_the_search_finds_own_notes_and_tags_and_nobody_elses(cast) -> None:
    first, second = run(1, job_name="train"), run(2, job_name="train")
    alice = User.objects.get(username="alice")
    write_note(first, alice, text="new learning rate", tags=("baseline",), now=NOW)
    write_note(second, alice, text="", tags=("Paper 2",), now=NOW)
    client = cast("alice")
    assert (shown(client, "q=learning"), shown(client, "q=BASELINE"), shown(client, "q=paper+2")) == ([1], [1], [2])
    assert (shown(client, "q=base"), shown(client, "q=paper")) == ([1], [2])
    assert sorted(shown(client, "q=train")) == [1, 2]
    assert "baseline</bdi>" in client.get("/jobs/").content.decode()
    carol = cast("carol")
    assert sorted(shown(carol, "q=train")) == [1, 2]
    assert shown(carol, "q=learning") == shown(carol, "q=baseline") == []
    assert "baseline</bdi>" not in carol.get("/jobs/").content.decode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lumi/17300298", [17300298]),
        ("LUMI/17300298", [17300298]),
        (" 17300298 ", [17300298]),
        ("lumi/17300290", [8, 9]),
        ("17300290_8", [8]),
        ("lumi/17300290_8", [8]),
        ("other/17300298", []),
        ("lumi/1730029", []),
        ("lumi/" + "9" * 17, []),
    ],
)
def test_the_search_finds_a_job_by_its_id_with_its_cluster_or_without(cast, text: str, found: list[int]) -> None:
    run(17300298, job_name="train", ended_at=NOW)
    run(7, job_name="other")
    for task in (8, 9):
        run(task, job_name="sweep", array_job_id=17300290, array_task_id=task)
    assert sorted(shown(cast("alice"), urlencode({"q": text, "sort": "runtime"}))) == found


HOSTILE = [
    {"efficiency_class": "SPLENDID"},
    {"finding": "no_such", "state": "<b>", "days": "-1", "sort": "password"},
    {"days": "1e9"},
    {"since": "9999-12-31"},
    {"until": "9999-12-29", "since": "0001-01-01"},
    {"q": "x" * 10_000},
    {"owner": "y" * 10_000, "partition": "z" * 10_000, "project": "p" * 10_000},
    {"array": "lumi/99999999999999999999"},
    {"after": "9" * 10_000, "before": "~" * 300},
    {"q": "%", "owner": "\u202e", "partition": "\ud7ff"},
    {"q": "9" * 256},
]


@pytest.mark.parametrize("name", ["alice", "carol"])
@pytest.mark.parametrize("address", HOSTILE, ids=range(len(HOSTILE)))
def test_no_address_is_an_error(cast, address: dict[str, str], name: str) -> None:
    run(1)
    client = cast(name)
    for path in ("/jobs/", "/jobs.csv"):
        answer = client.get(path, address)
        assert answer.status_code == 200
        assert answer.getvalue()


def test_of_two_values_the_last_counts(cast) -> None:
    run(1, state="FAILED")
    alice = cast("alice")
    assert shown(alice, "state=COMPLETED&state=FAILED") == [1]
    assert shown(alice, "state=FAILED&state=COMPLETED") == []


def save(client: Client, name: str, address: str) -> str:
    """The address that saving leads to."""
    return client.post("/saved-filters/", {"name": name, "address": address})["Location"]


def test_a_filter_is_saved_under_a_name_shown_and_removed(cast) -> None:
    run(1)
    alice = cast("alice")
    assert save(alice, "to <fix>", "state=FAILED&sort=use&nonsense=1") == "/jobs/?state=FAILED&sort=use"
    content = alice.get("/jobs/?state=FAILED&sort=use").content.decode()
    assert "Saved as “to &lt;fix&gt;”." in content
    assert '<a class="chip" href="/jobs/?state=FAILED&amp;sort=use" aria-current="true"' in content
    (kept,) = SavedFilter.objects.all()
    assert alice.post(f"/saved-filters/{kept.pk}/remove/")["Location"] == "/jobs/"
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize(
    ("name", "address", "why"),
    [
        ("", "q=a", "a filter needs a name of at most 60 characters."),
        ("n" * 61, "q=a", "a filter needs a name of at most 60 characters."),
        ("name", "", "no filter is on."),
        ("name", "sort=use", "no filter is on."),
        ("name", "state=SPLENDID", "no filter is on."),
        ("name", "q=" + "x" * 8000, "the filter is too long."),
    ],
)
def test_what_is_no_filter_or_has_no_name_is_not_saved(cast, name: str, address: str, why: str) -> None:
    alice = cast("alice")
    assert save(alice, name, address).startswith("/jobs/")
    assert f"Not saved: {why}" in alice.get("/jobs/").content.decode()
    assert not SavedFilter.objects.exists()


def test_a_name_that_another_filter_has_is_said_and_replaced_only_when_asked_for(cast) -> None:
    run(1)
    alice = cast("alice")
    save(alice, "mine", "q=a")
    where = save(alice, "mine", "q=b")
    content = alice.get(where).content.decode()
    assert "Not saved yet: you have another filter with the name “mine”." in content
    assert "Replace “<bdi>mine</bdi>” with this filter" in content
    assert SavedFilter.objects.get().address == "q=a"
    assert "Replace “" not in alice.get(where).content.decode(), "it is offered once"
    answer = alice.post("/saved-filters/", {"name": "mine", "address": "q=b", "replaces": "1"}, follow=True)
    assert "Saved as “mine”." in answer.content.decode()
    assert SavedFilter.objects.get().address == "q=b"
    save(alice, "mine", "q=b")
    assert "Saved as “mine”." in alice.get("/jobs/").content.decode(), "the same again changes nothing"


def test_a_name_with_a_mark_that_turns_text_comes_back_without_it(cast) -> None:
    alice = cast("alice")
    for address in ("q=a", "q=b"):
        where = save(alice, "a\u202eb", address)
        content = alice.get(where).content.decode()
        assert "“a\ufffdb”" in content
        assert "\u202e" not in content


def test_the_longest_filter_is_saved_and_one_past_all_limits_is_not(cast) -> None:
    run(1)
    alice = cast("alice")
    longest = urlencode({"q": "\N{GRINNING FACE}" * 256, "array": "é" * 64 + "/" + "9" * 16})
    save(alice, "longest", longest)
    assert SavedFilter.objects.get().address == longest
    save(alice, "nothing", f"owner=%00&partition=%00&q=%00{'x' * 9000}")
    assert SavedFilter.objects.count() == 1


def test_the_twenty_first_filter_is_refused_with_the_reason(cast) -> None:
    alice = cast("alice")
    for number in range(21):
        save(alice, f"{number}", "q=a")
    assert "you have 20 saved filters. Remove one first." in alice.get("/jobs/").content.decode()
    assert SavedFilter.objects.count() == 20


def test_nobody_removes_or_sees_the_filter_of_another_person(cast) -> None:
    save(cast("alice"), "mine alone", "q=a")
    kept = SavedFilter.objects.get()
    bob = cast("bob")
    answer = bob.post(f"/saved-filters/{kept.pk}/remove/", follow=True)
    assert answer.redirect_chain == [("/jobs/", 302)]
    assert "already removed" in answer.content.decode(), "no more than of a filter that never was"
    assert "mine alone" not in bob.get("/jobs/").content.decode()
    assert SavedFilter.objects.exists()


IGNORED = re.compile(r'<p class="note ignored">(.*?)</p>', re.DOTALL)


def ignored(client: Client, address: str) -> str:
    """The line above the list, as it reads; empty where there is none."""
    answer = client.get(f"/jobs/?{address}")
    assert answer.status_code == 200
    lines = IGNORED.findall(answer.content.decode())
    return unescape(re.sub("</?bdi>", "", lines[0])) if lines else ""


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("efficiency_class=wasted", "class “wasted”"),
        ("finding=bogus&state=COMPLETED", "finding “bogus”"),
        ("owner=alice", "owner “alice”"),
        ("project=project_465000009", "project “project_465000009”"),
        ("since=9999-12-31&until=0001-01-01", "ended from “9999-12-31”, until “0001-01-01”"),
        ("days=2&sort=name&array=x", "time “2”, order “name”, array “x”"),
        (urlencode({"q": "x" * 300}), f"search “{'x' * 59}…”"),
        (urlencode({"state": "a\u202eb"}), "state “a\ufffdb”"),
        (urlencode({"state": "<script>"}), "state “<script>”"),
    ],
)
def test_a_filter_that_cannot_be_followed_is_named_above_the_list(cast, address: str, named: str) -> None:
    run(1)
    alice = cast("alice")
    reads = ignored(alice, address)
    assert reads == f"Ignored: {named}. Not understood, or not among the jobs that you see."
    assert shown(alice, address) == [1]
    assert "<script>" not in alice.get(f"/jobs/?{address}").content.decode()


def test_filters_that_have_an_effect_are_not_called_ignored(cast) -> None:
    run(1)
    assert ignored(cast("alice"), "q=x&efficiency_class=WASTED&days=7&sort=use&owner=&since=2026-11-01") == ""


def test_an_owner_out_of_reach_and_one_who_does_not_exist_read_the_same(cast) -> None:
    carol = cast("carol")
    Project.objects.create(name="project_465000002")
    run(3, owner="dave", project="project_465000002")
    assert ignored(carol, "owner=dave").replace("dave", "nobody") == ignored(carol, "owner=nobody") != ""


def test_a_filter_sent_after_the_session_ended_is_on_and_its_name_in_the_form(cast) -> None:
    run(1)
    cast("alice")
    sent = {"name": "my <nights>", "address": "q=a&sort=use&nonsense=1"}
    late = Client()
    answer = late.post("/saved-filters/", sent | {"writer": str(User.objects.get(username="alice").pk)})
    assert answer["Location"] == "/sign-in/?next=/saved-filters/"
    page = late.post(answer["Location"], {"username": "alice", "password": PASSWORD}, follow=True)
    assert page.redirect_chain[-1] == ("/jobs/?q=a&sort=use", 302)
    content = page.content.decode()
    assert "Not saved yet: you were signed out" in content
    assert 'name="name" value="my &lt;nights&gt;"' in content
    assert '<details id="save-filter" open>' in content
    assert not SavedFilter.objects.exists()
    assert "nights" not in late.get("/jobs/?q=a&sort=use").content.decode()


def test_nobody_else_finds_the_name_that_was_typed(cast) -> None:
    cast("alice")
    late = Client()
    sent = {"name": "secret", "address": "q=secret", "writer": str(User.objects.get(username="alice").pk)}
    answer = late.post("/saved-filters/", sent)
    page = late.post(answer["Location"], {"username": "carol", "password": PASSWORD}, follow=True)
    assert page.redirect_chain[-1] == ("/jobs/", 302)
    assert "secret" not in page.content.decode()


@pytest.mark.parametrize("path", ["/saved-filters/", "/saved-filters/1/remove/"])
def test_a_link_to_what_only_takes_forms_leads_to_the_list(cast, path: str) -> None:
    answer = cast("alice").get(path, follow=True)
    assert answer.redirect_chain == [("/jobs/", 302)]
    assert "Nothing was" in answer.content.decode()


def test_a_filter_that_another_tab_removed_is_reported_as_removed(cast) -> None:
    alice = cast("alice")
    save(alice, "mine", "q=a")
    kept = SavedFilter.objects.get()
    for message in ("Removed the saved filter “mine”.", "This saved filter was already removed."):
        answer = alice.post(f"/saved-filters/{kept.pk}/remove/", follow=True)
        assert answer.redirect_chain == [("/jobs/", 302)]
        assert message in answer.content.decode()


@pytest.mark.parametrize(
    ("group", "sort"), [("", "jobs"), *(("work", name) for name in ("use", "runtime", "gpus", "finding", "class"))]
)
def test_an_order_that_only_the_other_rows_have_is_the_first_one_without_a_message(cast, group: str, sort: str) -> None:
    run(1)
    page = cast("alice").get(f"/jobs/?group={group}&sort={sort}")
    assert page.context["ignored"] == []
    assert page.context["choices"].order == "ended"


def test_an_order_that_both_kinds_of_rows_have_is_kept_and_an_unknown_one_is_ignored(cast) -> None:
    run(1)
    alice = cast("alice")
    for group in ("", "work"):
        assert alice.get(f"/jobs/?group={group}&sort=wasted").context["choices"].order == "wasted"
        assert "order “<bdi>odd</bdi>”" in alice.get(f"/jobs/?group={group}&sort=odd").content.decode()
