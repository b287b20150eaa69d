"""Why a command ends without what was wanted: one exception, and an exit status for each kind.

CliError
  NotFound   1   the portal knows no such job, work, …, or it is not yours
  Usage      2   the command line, a file named in it, or a setting cannot be understood
  NoSignIn   3   no token, an expired or revoked one, or one that others can read
    SignInNeeded   of these, what `kaiku login` remedies
  NoAnswer   4   the portal cannot be reached, is too slow, too busy, or answers nonsense
"""

from __future__ import annotations


class CliError(Exception):
    """The message is one line for people; it may contain what a server sent, so it is made harmless when shown."""

    status = 4


class NotFound(CliError):
    status = 1


class Usage(CliError):
    status = 2


class NoSignIn(CliError):
    status = 3


class SignInNeeded(NoSignIn):
    """What `kaiku login` remedies: the command that shows the message adds how to run it."""


class NoAnswer(CliError):
    status = 4


def of_answer(status: int, detail: str, retry_after: str = "") -> CliError:
    """The error for an HTTP status that is not a success; `detail` is what the portal stated, or empty."""
    if status == 404 and detail:
        return NotFound(detail)
    if status == 404:
        # The API always states why: this is the page of another server, or of another part of this one.
        return NoAnswer("there is no portal's API at this address: check KAIKU_URL or --url")
    if status in (400, 413, 422):
        return Usage(detail or "the portal does not accept this request")
    if status == 401:
        return SignInNeeded("the token is not valid (expired or revoked)")
    if status == 403:
        return NoSignIn(detail or "this token may not read this")
    if status == 429:
        wait = f" in {retry_after} s" if retry_after.isdecimal() and len(retry_after) < 6 else " later"
        return NoAnswer(f"too many calls: try again{wait}")
    if 300 <= status < 400:
        return NoAnswer("the portal answers with another address: check KAIKU_URL")
    return NoAnswer(f"the portal answered {status}" + (f": {detail}" if detail else ""))
