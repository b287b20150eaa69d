"""kaiku hints [--refresh]

The hints that `sbatch` shows after a submission, where the site has installed this: what earlier runs of the same work
suggest. They are stored on this machine and refreshed in the background, at most once an hour. To see none, set
KAIKU_HINTS=off, or clear "Show hints when I submit a job" under Settings, Appearance.

  --refresh        read them from the portal now
  --if-due         the same without output, if an hour has passed; sbatch starts this in the background
"""

from __future__ import annotations

import time

from cli import hints
from cli.errors import NotFound
from cli.layout import wrapped
from cli.options import FLAG
from cli.session import age_told
from cli.terminal import cut, harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.session import Session

OPTIONS = {"refresh": FLAG, "if-due": FLAG}
WORDS_MAX = 0

NONE = "No hints: nothing in your latest runs calls for one."


def run(session: Session) -> int:
    """Show what is stored, or store it again. Raises NotFound if nothing is stored."""
    if session.options.flag("if-due"):
        hints.detach()
        hints.refresh_if_due(session)
        return 0
    found = hints.refresh(session) if session.options.flag("refresh") else None
    found = found or hints.stored(session.environ)
    terminal = session.terminal
    if found is None or not found.was_read:
        raise NotFound("no hints are stored: run `kaiku hints --refresh`")
    lines: list[str] = []
    if not found.is_on:
        reason = harmless(found.off_reason()) or "This portal gives none."
        lines += wrapped(f"Hints are off. {reason}", terminal.columns)
    elif not found.works():
        lines += wrapped(NONE, terminal.columns)
    for name, hint in found.works() if found.is_on else ():
        lines.append(terminal.paint(cut(harmless(name), terminal.columns), "bold"))
        lines += [part for line in hint for part in wrapped(harmless(line), terminal.columns, "  ")]
    age = f"read from the portal {age_told(max(time.time() - found.made_s, 0))} ago"
    lines += [terminal.paint(line, "dim") for line in wrapped(age, terminal.columns)]
    terminal.page(lines)
    return 0
