"""Django's administration, for administrators only: accounts, roles and tokens. Data that a directory owns are
read-only."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin import action, display
from django.contrib.admin.views.main import ChangeList
from django.contrib.messages import WARNING
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from jobs.accounts.services import ADMINISTRATION, change_account, end_membership, give_role, save_membership, take_role
from jobs.audit.services import by_person
from jobs.directory import subject_of
from jobs.models import AuditEntry, Grant, Membership, Project, Token, UnknownIdentity, User, WorkFailure
from jobs.selectors import own_memberships
from jobs.services import end_sessions
from jobs.tokens.services import revoke_token
from jobs.work_queue.selectors import failures
from jobs.work_queue.services import try_named_again
from portal.access import person
from portal.administration.audit_log import AuditLog, UnknownIdentities
from portal.administration.site import Administration, ReadOnly
from portal.failed_work import named_work
from wire.numbers import counted


class AccountForm(forms.ModelForm):
    """Whether an account is open, and which identity signs in to it."""

    oidc_subject = forms.CharField(
        label="Identity",
        required=False,
        strip=False,
        help_text="The identifier of this person at the provider. Change a directory's link in the directory.",
    )

    class Meta:
        model = User
        fields = ("is_active", "oidc_subject")
        labels = {"is_active": "Open"}
        help_texts = {
            "is_active": "If closed, nobody can sign in to this account, and its tokens can neither read nor send.",
        }

    def clean_oidc_subject(self) -> str | None:
        said = self.cleaned_data["oidc_subject"]
        subject = subject_of(said, settings.OIDC_SUBJECT_CASE)
        if said and subject is None:
            raise forms.ValidationError("An identifier has at most 255 ASCII characters and no white space.")
        return subject


class Accounts(ReadOnly):
    """People; names, addresses and links come from directories and sign-ins."""

    form = AccountForm
    actions = ("sign_out_everywhere",)
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "linked_by", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("username", "email", "oidc_subject")
    ordering = ("username",)
    fields = (
        *("username", "email", "is_active", "oidc_subject", "linked_by"),
        *("roles", "projects", "last_login", "date_joined"),
    )

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Nobody can change their own account here, so the last administrator cannot be locked out by mistake."""
        return obj is None or obj.pk != person(request).pk

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        is_ours = obj is None or obj.linked_by in ("", ADMINISTRATION)
        changeable = {"is_active", "oidc_subject"} if is_ours else {"is_active"}
        return [name for name in self.fields if name not in changeable]

    @staticmethod
    def roles(user: User) -> str:
        return ", ".join(f"{grant.get_role_display()} (from {grant.source})" for grant in user.grants.order_by("role"))

    @staticmethod
    def projects(user: User) -> str:
        return ", ".join(f"{row.project.name} ({row.get_role_display()})" for row in own_memberships(user))

    def save_model(self, request: HttpRequest, obj: User, form: forms.ModelForm, change: bool) -> None:
        if form.has_changed():
            change_account(obj, is_active=obj.is_active, subject=obj.oidc_subject, by=by_person(person(request)))

    @action(description="Sign out everywhere")
    def sign_out_everywhere(self, request: HttpRequest, chosen: QuerySet[User]) -> None:
        for user in chosen:
            end_sessions(user, by=by_person(person(request)))
        self.message_user(request, "Signed out everywhere.")


class Projects(ReadOnly):
    list_display = ("name", "is_listed", "created_at")
    list_filter = ("is_listed",)
    search_fields = ("name",)
    ordering = ("name",)
    fields = (*list_display, "members")

    @staticmethod
    def members(project: Project) -> str:
        rows = project.memberships.select_related("user").order_by("user__username")
        return ", ".join(f"{row.user.username} ({row.get_role_display()})" for row in rows)


def named(queryset: QuerySet[Any], column: str, help_text: str) -> forms.ModelChoiceField:
    """A row by the name that people know it by, because there are too many to choose from a list."""
    return forms.ModelChoiceField(queryset, to_field_name=column, widget=forms.TextInput, help_text=help_text)


def named_user() -> forms.ModelChoiceField:
    return named(User.objects.all(), "username", "The user name, as in the list of users.")


class MembershipForm(forms.ModelForm):
    """Memberships of projects that no directory lists."""

    user = named_user()
    project = named(Project.objects.all(), "name", "The name, as in the list of projects.")

    class Meta:
        model = Membership
        fields = ("user", "project", "role")

    def clean_project(self) -> Project:
        project: Project = self.cleaned_data["project"]
        if project.is_listed:
            raise forms.ValidationError("A directory manages the members of this project.")
        return project


class Memberships(ReadOnly):
    """Memberships of a project that a directory lists belong to the directory."""

    form = MembershipForm
    list_display = ("user", "project", "role", "is_listed")
    list_filter = ("role", "project__is_listed")
    list_select_related = ("user", "project")
    search_fields = ("user__username", "project__name")
    ordering = ("project__name", "user__username")

    @display(description="Source")
    def is_listed(self, membership: Membership) -> str:
        return "a directory" if membership.project.is_listed else "jobs or an administrator"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def has_change_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return obj is None or not obj.project.is_listed

    has_delete_permission = has_change_permission

    def save_model(self, request: HttpRequest, obj: Membership, form: forms.ModelForm, change: bool) -> None:
        save_membership(obj, by=by_person(person(request)))

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        end_membership(obj, by=by_person(person(request)))

    def name_in_log(self, membership: Membership) -> str:
        return f"{membership.user} in {membership.project}"


TOGETHER = {Grant.Role.SUPPORT, Grant.Role.POLICY}
NAMES_KEYS = (
    "Support staff see by name whose flag is raised, policy readers see figures and flags by key. One person with both "
    "roles can find out whose figures are whose, which the policy figures withhold."
)


class GrantForm(forms.ModelForm):
    """A role in the portal, given by an administrator."""

    user = named_user()

    class Meta:
        model = Grant
        fields = ("user", "role")
        help_texts = {"role": f"{NAMES_KEYS} Administrators can, too."}

    def clean(self) -> None:
        given = Grant.objects.filter(source=ADMINISTRATION)
        if given.filter(user=self.cleaned_data.get("user"), role=self.cleaned_data.get("role")).exists():
            raise forms.ValidationError("The account already has this role.")


class Grants(ReadOnly):
    """Roles in the portal. Roles that an administrator gave can be removed here, others at their source."""

    form = GrantForm
    list_display = ("user", "role", "source")
    list_filter = ("role", "source")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("user__username", "role")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def has_delete_permission(self, request: HttpRequest, obj: Grant | None = None) -> bool:
        return obj is None or (obj.source == ADMINISTRATION and obj.user_id != person(request).pk)

    def save_model(self, request: HttpRequest, obj: Grant, form: forms.ModelForm, change: bool) -> None:
        obj.pk, obj.source = give_role(obj.user, obj.role, by=by_person(person(request))).pk, ADMINISTRATION
        if obj.role in TOGETHER and set(Grant.objects.filter(user=obj.user).values_list("role", flat=True)) >= TOGETHER:
            self.message_user(request, f"The account {obj.user} now has both roles. {NAMES_KEYS}", WARNING)

    def delete_model(self, request: HttpRequest, obj: Grant) -> None:
        take_role(obj, by=by_person(person(request)))

    def name_in_log(self, grant: Grant) -> str:
        return grant.user.username


class Tokens(ReadOnly):
    """Created by each person under Settings, or with `manage.py create_token`; no secret can be shown here."""

    actions = ("revoke",)
    list_display = fields = (
        *("name", "kind", "user", "cluster", "node"),
        *("created_at", "expires_at", "last_used_at", "revoked_at"),
    )
    list_filter = ("kind",)
    list_select_related = ("user",)
    search_fields = ("user__username", "name", "node")
    ordering = ("kind", "user__username", "name")

    @action(description="Revoke")
    def revoke(self, request: HttpRequest, chosen: QuerySet[Token]) -> None:
        for token in chosen.filter(revoked_at=None).select_related("user"):
            revoke_token(token, timezone.now(), by_person(person(request)))
        self.message_user(request, "Revoked. They can no longer be used to read or send.")

    def name_in_log(self, token: Token) -> str:
        return token.name_in_log


class NamedFailures(ChangeList):
    """A page of failed work that knows what each row belongs to."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = shown_rows(self.result_list, person(request))


def shown_rows(rows: Iterable[WorkFailure], reader: User) -> list[WorkFailure]:
    """These rows for display: each knows what it belongs to, and work that was set aside has no next try."""
    rows = list(rows)
    names = named_work(rows, reader)
    for row in rows:
        # For the columns of the list.
        row.name, row.url = names[row.pk]  # type: ignore[attr-defined]
        row.next_at = None if row.set_aside_at else row.next_at
    return rows


class WorkFailures(ReadOnly):
    """Background work that failed: retried after pauses, and set aside after some tries."""

    actions = ("try_again",)
    list_display = ("kind", "of", "error", "tries", "first_at", "last_at", "next_at", "set_aside_at")
    fields = (*list_display, "key")
    # The piece of work may itself be shown as a link.
    list_display_links = ("kind",)
    list_filter = ("kind",)
    ordering = ("-last_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkFailure]:
        return failures()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NamedFailures

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> WorkFailure | None:
        row = super().get_object(request, *args, **kwargs)
        return row and shown_rows([row], person(request))[0]

    @display(description="of")
    def of(self, row: WorkFailure) -> str:
        name, url = row.name, getattr(row, "url", "")
        return format_html('<a href="{}">{}</a>', url, name) if url else name

    @action(description="Try again")
    def try_again(self, request: HttpRequest, chosen: QuerySet[WorkFailure]) -> None:
        names = [str(row) for row in shown_rows(chosen, person(request))]
        count = try_named_again(chosen, names, by=by_person(person(request)))
        self.message_user(request, f"{counted(count, 'task')} will be retried now.")


administration = Administration()
for model, shown_as in (
    (User, Accounts),
    (Project, Projects),
    (Membership, Memberships),
    (Grant, Grants),
    (Token, Tokens),
    (WorkFailure, WorkFailures),
    (AuditEntry, AuditLog),
    (UnknownIdentity, UnknownIdentities),
):
    administration.register(model, shown_as)
