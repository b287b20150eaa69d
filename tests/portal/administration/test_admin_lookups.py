"""What administrators may filter by: what a list names itself, and nothing else of any model or of what it leads to."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from jobs.models import UnknownIdentity, User
from jobs.tokens.services import issue_token
from portal.admin import administration
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

REGISTERED = sorted(administration._registry, key=lambda model: model._meta.label)
LOOKUPS = ("", "__exact", "__startswith", "__regex", "__gt", "__in", "__isnull")
each_model = pytest.mark.parametrize("model", REGISTERED, ids=lambda model: model._meta.label_lower)


@pytest.fixture
def grace(cast) -> Client:
    """The administrator of the cast."""
    return cast("grace")


def page_of(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def paths(model: type[Model], depth: int = 2) -> Iterator[str]:
    """Every field of a model, and what relations lead to from it, forward and back."""
    for field in model._meta.get_fields():
        yield field.name
        if field.is_relation and depth:
            yield from (f"{field.name}__{further}" for further in paths(field.related_model, depth - 1))


def listed(model: type[Model]) -> set[str]:
    return {str(name) for name in administration._registry[model].list_filter}


@each_model
def test_nothing_but_the_filters_of_the_list_is_looked_up(grace: Client, model: type[Model]) -> None:
    every = sorted(set(paths(model)) - listed(model))
    assert len(every) > 3
    looked_up = [f"{path}{lookup}" for path in every for lookup in LOOKUPS]
    shown = administration._registry[model]
    assert [key for key in looked_up if shown.lookup_allowed(key, "1", None)] == []
    # And so the page, of which each look-up is a request: one of each path.
    for path in every:
        assert grace.get(page_of(model), {f"{path}__startswith": "a"}).status_code == 400, path


@each_model
def test_a_listed_field_is_not_looked_through(grace: Client, model: type[Model]) -> None:
    for name in listed(model):
        for lookup in ("__startswith", "__regex", "__contains", "__in"):
            assert grace.get(page_of(model), {f"{name}{lookup}": "a"}).status_code == 400, name


@each_model
def test_every_filter_that_a_list_shows_works(grace: Client, model: type[Model]) -> None:
    page = grace.get(page_of(model), {"_facets": "1"})
    links = set(re.findall(r'<a href="(\?[^"]*)"', page.content.decode()))
    assert bool(links) >= bool(listed(model))
    for link in links:
        assert grace.get(page_of(model) + link.replace("&amp;", "&")).status_code == 200, link


@pytest.mark.parametrize("more", [{}, {"_facets": "1"}, {"_popup": "1"}, {"o": "1"}, {"q": "alice"}, {"all": ""}])
def test_a_password_is_not_guessed_letter_by_letter(grace: Client, more: dict[str, str]) -> None:
    User.objects.filter(username="alice").update(password="md5$abc$def")
    for guess in ("m", "x"):
        answer = grace.get(page_of(User), {"password__startswith": guess, **more})
        assert answer.status_code == 400
        assert b"alice" not in answer.content


def test_no_address_of_a_row_or_of_a_field_is_one_of_a_secret(grace: Client) -> None:
    create_collector_token("nodes", "lumi")
    issue_token(User.objects.get(username="alice"), name="n", days=30, now=timezone.now())
    for model in REGISTERED:
        for field in ("password", "digest", "oidc_subject", "name", "username"):
            if field in {each.name for each in model._meta.get_fields()}:
                answer = grace.get(page_of(model), {"_to_field": field, "_popup": "1"})
                assert answer.status_code == 400, (model, field)
                assert grace.get(f"{page_of(model)}a/change/", {"_to_field": field}).status_code == 400, (model, field)


@each_model
def test_lists_are_ordered_by_their_columns_alone(grace: Client, model: type[Model]) -> None:
    for order in ("password", "-password", "99", "-99", "digest", "1.password"):
        assert grace.get(page_of(model), {"o": order}).status_code == 200, order
    columns = {getattr(column, "__name__", column) for column in administration._registry[model].list_display}
    assert not columns & {"password", "digest", "session_epoch"}


@each_model
def test_the_search_looks_into_no_secret(model: type[Model]) -> None:
    # What is looked for among unknown identities is hashed, and found by all of its digest alone.
    fields = () if model is UnknownIdentity else administration._registry[model].search_fields
    assert not [field for field in fields if field.rpartition("__")[2] in ("password", "digest", "session_epoch")]
