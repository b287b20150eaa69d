"""The content of log lines: plain, or one JSON object; with the request or task, and without personal data.

Names, addresses and tokens get into logs through errors (a database quotes the row that it rejects), through paths and
queries of requests, and through messages of libraries about their arguments. Therefore only the type and the place of
errors are logged, only the pattern of a request's address, and of libraries' messages one line without anything that
looks like such data.
"""

import json
import logging
import re
import sys
import threading
import traceback
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from http import HTTPMethod, HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any

from celery import current_task
from django.db import DatabaseError, InterfaceError, OperationalError

OWN = ("jobs", "metrics", "analysis", "education", "reports", "portal", "wire")
"""Loggers and errors whose messages are the portal's own."""

OF_SERVICES = ("celery", "kombu", "redis", "_granian")
"""Libraries whose messages name hosts of the site, which operators need; hosts in other messages may be people's."""

HIDDEN = "[…]"
SECRETS = re.compile(
    r"kaiku_(?:pat|run|log|feed|policy|hook)_[\w-]+"  # tokens of people and policy readers, and of webhooks
    r"|(?<=Bearer )\S+|(?<=Basic )\S+"  # credentials of HTTP
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]*"  # signed tokens (RFC 7519)
    r"|(?<=://)[^/@\s]+(?=@)"  # name and password in an address
    r"|\?[^\s'\"<>]*=[^\s'\"<>]*"  # a query
    r"|\b(?!celery@)[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"  # an address of mail, not a worker's name
)
ADDRESSES = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4})(?![\w.])")
"""Addresses of machines: IPv4 and IPv6."""

# Celery's messages about a task's outcome quote its arguments, result and exception.
OF_TASKS = ("exc", "traceback", "args", "kwargs", "return_value")
TYPE_NAME = re.compile(r"[\w.]+")

REQUEST_ID = re.compile(r"[0-9A-Fa-f][0-9A-Fa-f-]{14,62}[0-9A-Fa-f]")
"""Hexadecimal digits as of a UUID or of nginx's $request_id, 16 to 64 characters: they identify no person."""

ROOT = Path(__file__).resolve().parents[1]

_request_id: ContextVar[str] = ContextVar("request_id", default="")
_task: ContextVar[tuple[str, str]] = ContextVar("task", default=("", ""))


@contextmanager
def during_request(given: str) -> Iterator[str]:
    """Lines logged meanwhile have this request's identifier: the one it came with if that is valid, or a new one."""
    number = given.lower() if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    token = _request_id.set(number)
    try:
        yield number
    finally:
        _request_id.reset(token)


@contextmanager
def during_task(name: str) -> Iterator[None]:
    """Lines logged meanwhile have the name of this step, and the identifier of Celery's task, or a new one."""
    number = current_task.request.id if current_task else None
    token = _task.set((name, number or uuid.uuid4().hex))
    try:
        yield
    finally:
        _task.reset(token)


class PlainLine(logging.Formatter):
    """`time LEVEL logger [request 4f…] [task name 9a…]: message`, followed by the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        within = "".join(f" [{name} {number}]" for name, number in _within(record).items())
        line = f"{self.formatTime(record)} {record.levelname} {record.name}{within}: {_in_one_line(message(record))}"
        error = _error_of(record)
        return f"{line}\n{told(error[1], error[2])}" if error else line


class JsonLine(logging.Formatter):
    """One object: `time` (RFC 3339, UTC), `level`, `logger`, `message`, `request_id`, `task`, `task_id`, and of an
    error `error`, its type, `place`, the last line of our code in its traceback, and `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": at, "level": record.levelname, "logger": record.name, "message": message(record)}
        request_id, (task, task_id) = request_of(record), task_of(record)
        line |= {"request_id": request_id, "task": task, "task_id": task_id}
        if error := _error_of(record):
            line |= {"error": type_of(error[1]), "place": place(error[2]), "traceback": told(error[1], error[2])}
        return json.dumps({name: value for name, value in line.items() if value})


def message(record: logging.LogRecord) -> str:
    """The message of a record, without what it quotes."""
    if hasattr(record, "request") or record.name.startswith("django.security"):
        return _of_request(record)
    is_own = record.name.partition(".")[0] in OWN
    try:
        text = str(record.msg) % _arguments(record) if record.args else str(record.msg)
    except (TypeError, ValueError, KeyError):
        text = str(record.msg)
    text = SECRETS.sub(HIDDEN, text if is_own else text.partition("\n")[0])
    if is_own or record.name.startswith(OF_SERVICES):
        return text
    return ADDRESSES.sub(HIDDEN, text)


def request_of(record: logging.LogRecord) -> str:
    """The identifier of a record's request; Django logs some requests after they are over."""
    return _request_id.get() or getattr(getattr(record, "request", None), "request_id", "")


def task_of(record: logging.LogRecord) -> tuple[str, str]:
    """Name and identifier of a record's task, empty without: the step that runs, otherwise Celery's task."""
    about = getattr(record, "data", None)
    if isinstance(about, dict) and "id" in about and "name" in about:
        return str(about["name"]), str(about["id"])
    if not _task.get()[0] and current_task and current_task.request.id:
        return current_task.name, current_task.request.id
    return _task.get()


def said(error: BaseException) -> str:
    """The part of an error's own text that may be logged: of our errors all, of an unreachable database the first
    line."""
    if type(error).__module__.partition(".")[0] in OWN:
        return str(error)
    if isinstance(error, OperationalError | InterfaceError):
        return f"{type_of(error)}: {str(error).partition(chr(10))[0]}"
    if isinstance(error, OSError) and not isinstance(error, DatabaseError) and error.strerror and error.errno:
        return f"{type_of(error)}: {error.strerror}"
    return type_of(error)


def told(error: BaseException, through: TracebackType | None) -> str:
    """The traceback of an error and those before it, as Python prints it, without the texts of the errors."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    earlier = f"{told(before, before.__traceback__)}\n\n" if before is not None and before is not error else ""
    frames = traceback.StackSummary.extract(traceback.walk_tb(through))
    return f"{earlier}Traceback (most recent call last):\n{''.join(frames.format())}{SECRETS.sub(HIDDEN, said(error))}"


def type_of(error: BaseException) -> str:
    """The name of an error's type with its module, as Python prints it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def place(through: TracebackType | None) -> str:
    """The last line of our own code in an error's traceback, otherwise the last line of all."""
    frames = list(traceback.StackSummary.extract(traceback.walk_tb(through), lookup_lines=False))
    files = [(Path(frame.filename), frame.lineno) for frame in frames]
    own = [(path.relative_to(ROOT), line) for path, line in files if path.is_relative_to(ROOT) and _is_ours(path)]
    return "{}:{}".format(*(own or files)[-1]) if files else ""


def take_over(is_json: bool) -> None:
    """Log errors that end a thread like all others; in JSON also those that end the process, and warnings."""
    threading.excepthook = _thread_ended
    if is_json:
        sys.excepthook = _process_ended
        logging.captureWarnings(True)


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        about = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        logging.getLogger(__name__).error("a thread ended", exc_info=about)


def _process_ended(kind: type[BaseException], error: BaseException, through: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, through)
    else:
        logging.getLogger(__name__).critical("the process ended", exc_info=(kind, error, through))


def _is_ours(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] in OWN


def _within(record: logging.LogRecord) -> dict[str, str]:
    """The request and the task of a record, for a plain line."""
    request_id, (task, task_id) = request_of(record), task_of(record)
    found = {"request": request_id, f"task {task}": task_id}
    return {name: number for name, number in found.items() if number}


def _error_of(record: logging.LogRecord) -> tuple[type[BaseException], BaseException, TracebackType | None] | None:
    found = record.exc_info
    return found if isinstance(found, tuple) and found[1] is not None else None


def _arguments(record: logging.LogRecord) -> Any:
    """The arguments of a message, with errors reduced to what may be logged of them."""
    if isinstance(record.args, dict):
        return {name: _argument(name, value) for name, value in record.args.items()}
    return tuple(_argument("", value) for value in record.args or ())


def _argument(name: str, value: object) -> object:
    if isinstance(value, BaseException):
        return said(value)
    if name in OF_TASKS:
        found = TYPE_NAME.match(str(value)) if name == "exc" else None
        return found.group() if found else HIDDEN
    return value


def _of_request(record: logging.LogRecord) -> str:
    """Django's message about a request that it rejected or that failed: status, reason, method and pattern of its
    address.

    Django's own text contains the path, the host or the query of the request.
    """
    request, status = getattr(record, "request", None), getattr(record, "status_code", None)
    parts = [f"{status} {HTTPStatus(status).phrase}"] if status in list(HTTPStatus) else []
    kind = record.name.removeprefix("django.security").strip(".")
    if kind == "csrf":
        # The reason, up to the host that it quotes.
        reason = record.args[0] if isinstance(record.args, tuple) and record.args else ""
        parts.append(f"CSRF, {str(reason).partition(' - ')[0]}")
    elif record.name.startswith("django.security"):
        parts.append(kind or "suspicious")
    if request is not None:
        parts.append(f"{_method(request)} {_route(request)}")
    return ": ".join(parts) or "a request"


def _method(request: Any) -> str:
    method = getattr(request, "method", "")
    return method if method in list(HTTPMethod) else "another method"


def _route(request: Any) -> str:
    """The pattern of its address, which contains neither jobs nor people, nor the token of an opt-out."""
    found = getattr(request, "resolver_match", None)
    return f"/{found.route}" if found else "an address without a page"


def _in_one_line(text: str) -> str:
    """Quoted text cannot start new log lines."""
    return "".join(each if each.isprintable() else " " for each in text)
