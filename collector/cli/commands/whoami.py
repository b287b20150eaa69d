"""kaiku whoami [--runs] [--json]

Whose token this is, which portal it is for, what it may do, and until when it is valid.

  --runs           of the token for `kaiku run-log`
  --json           as JSON
"""

from __future__ import annotations

from collector.cli.answers import age_line, document, print_raw, text, texts
from collector.cli.options import FLAG
from collector.cli.shapes import token_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.cli.session import Session

OPTIONS = {"json": FLAG, "runs": FLAG}
WORDS_MAX = 0


def run(session: Session) -> int:
    """Read it from the portal, or as it was stored, with its age."""
    if session.options.flag("runs"):
        session.use_log_token()
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
    if age := age_line(session, age_s):
        terminal.line(terminal.paint(age, "yellow"))
    return 0
