"""How lists of the read API come in pages."""

from __future__ import annotations

from rest_framework.pagination import PageNumberPagination


class JobPages(PageNumberPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200
