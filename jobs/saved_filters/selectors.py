"""Reading saved filters: nobody reads another person's."""

from django.db.models import QuerySet

from jobs.models import SavedFilter, User


def own_filters(user: User) -> QuerySet[SavedFilter]:
    """The filters that this person keeps, by name."""
    return SavedFilter.objects.filter(user=user).order_by("name", "pk")
