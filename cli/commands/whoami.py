"""kaiku whoami [--runs] [--json]

Whose token this is, which portal it is for, what it may do, and until when it is valid.

  --runs           of the token for `kaiku run-log`
  --json           as JSON
"""

from __future__ import annotations

from cli.answers import age_lines, document, print_raw, text, texts
from cli.options import FLAG
from cli.shapes import token_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cli.session import Session

OPTIONS = {"json": FLAG, "runs": FLAG}
WORDS_MAX = 0


def run(session: Session) -> int:
    """Read it from the portal, or as it was stored, with its age."""
    answer, age_s = session.get("/api/v1/whoami/", check=token_owner)
    if session.options.flag("json"):
        print_raw(session, answer.content, age_s)
        return 0
    said, terminal = document(answer), session.terminal
    named = f" ({text(said, 'display_name')})" if text(said, "display_name") else ""
    terminal.line(f"{text(said, 'user')}{named} at {session.address}")
    until = text(said, "token", "expires_at")[:10]
    scopes = ", ".join(texts(said, "scopes"))
    terminal.line(f"token “{text(said, 'token', 'name')}”, {scopes}" + (f", until {until}" if until else ""))
    for line in age_lines(session, age_s):
        terminal.line(line)
    return 0
