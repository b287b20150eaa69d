"""Pages of lists in the read API."""

from __future__ import annotations

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from portal.api.asked import asked_number


class JobPages(PageNumberPagination):
    """`?page=` and `?page_size=`: whole numbers from 1; 400 for another size, 404 for a page that does not exist.

    `?limit=` is the size for programs that read one page alone: more fit on it, and too many are 400.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200
    limit_max = 500

    def get_page_size(self, request: Request) -> int | None:
        if "limit" in request.query_params:
            return asked_number(request, "limit", self.limit_max, self.limit_max)
        asked = request.query_params.get(self.page_size_query_param)
        if asked is not None and not (asked.isdecimal() and int(asked[:9])):
            raise ValidationError("page_size must be a whole number of at least 1.")
        return super().get_page_size(request)
