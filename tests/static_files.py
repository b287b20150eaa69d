"""The static files, found once for all test clients of a process: each of them loads the middleware anew."""

from __future__ import annotations

from typing import Any

from portal.static_files import StaticFiles

FOUND: dict[str, Any] = {}


class StaticFilesFoundOnce(StaticFiles):
    """Looking for some 200 files takes longer than most pages."""

    def add_files_from_finders(self) -> None:
        if not FOUND:
            super().add_files_from_finders()
            FOUND.update(self.files)
        self.files.update(FOUND)
