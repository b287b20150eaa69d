"""kaiku whoami [--json]

Whose token this is, which portal it is for, what it may do, and until when it is valid.

  --json           as JSON
"""

from __future__ import annotations

from collector.cli.errors import NoAnswer
from collector.cli.options import FLAG
from collector.cli.session import age_told
from collector.cli.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.cli.session import Session

OPTIONS = {"json": FLAG}
WORDS_MAX = 0


def run(session: Session) -> int:
    """Read it from the portal, or as it was stored, with its age."""
    answer, age_s = session.get("/api/v1/whoami/")
    said, terminal = answer.json(), session.terminal
    token = said.get("token") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(token, dict):
        raise NoAnswer("the portal's answer is not one to this: check KAIKU_URL")
    if session.options.flag("json"):
        terminal.raw(answer.content.rstrip(b"\n") + b"\n")
        return 0
    named = f" ({harmless(said['display_name'])})" if said.get("display_name") else ""
    terminal.line(f"{harmless(said.get('user', ''))}{named} at {session.address}")
    scopes = ", ".join(harmless(scope) for scope in said["scopes"])
    terminal.line(
        f"token “{harmless(token.get('name', ''))}”, {scopes}, until {harmless(token.get('expires_at', ''))[:10]}"
    )
    if age_s is not None:
        terminal.line(terminal.paint(f"as it was {age_told(age_s)} ago: the portal did not answer", "yellow"))
    return 0
