"""How wide the report as text is (`report.txt`): the portal's own width, and the least that a terminal may request."""

from __future__ import annotations

COLUMNS = 78
COLUMNS_MIN = 20
