"""The body of a check: resource options and names of jobs alone; anything else is refused and never repeated."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jobs.records import JOB_NAME_LENGTH_MAX, RESOURCE_OPTIONS, Slug

SCHEMA = "check-request/1"
BODY_BYTES_MAX = 64 * 1024
COMPONENTS_MAX = 16
OTHER_OPTIONS = frozenset({"--account", "--qos", "--constraint", "--array"})
"""What a check may know beside the options about resources."""

VALUE_PATTERN = r"\A([!-~]([ -~]{0,254}[!-~])?)?\Z"
Value = Annotated[str, Meta(pattern=VALUE_PATTERN)]
Name = Annotated[str, Meta(max_length=JOB_NAME_LENGTH_MAX)]
"""In any language; `check_request` refuses what is not printable."""

FIELD = {option: option.removeprefix("--").replace("-", "_") for option in sorted(RESOURCE_OPTIONS | OTHER_OPTIONS)}
CheckOptions = msgspec.defstruct(
    "CheckOptions",
    [(field, Value | msgspec.UnsetType, msgspec.UNSET) for field in FIELD.values()],
    rename={field: option for option, field in FIELD.items()},
    forbid_unknown_fields=True,
    frozen=True,
    module=__name__,
)
"""The options of one component in sbatch's long form; the value of a flag is empty."""


class CheckComponent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One component of a job; a job that is not heterogeneous has one."""

    options: CheckOptions  # type: ignore[valid-type]
    job_name: Name | None = None

    @property
    def given(self) -> dict[str, str]:
        """The options that were given."""
        values: dict[str, Any] = {option: getattr(self.options, field) for option, field in FIELD.items()}
        return {option: value for option, value in values.items() if value is not msgspec.UNSET}


class CheckRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be checked; `array_tasks` is how many tasks an array has."""

    schema: Literal["check-request/1"]
    components: Annotated[list[CheckComponent], Meta(min_length=1, max_length=COMPONENTS_MAX)]
    cluster: Slug | None = None
    array_tasks: Annotated[int, Meta(ge=1, le=10**7)] = 1
    elsewhere: bool = False


class CheckRefused(ValueError):
    """The body is no check; `path` is where, the message what is wrong there without any of its values."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def check_request(body: bytes) -> CheckRequest:
    """The request in a body. Raises CheckRefused.

    >>> check_request(b'{"schema": "check-request/1", "components": [{"options": {"--wrap": "rm"}}]}')
    Traceback (most recent call last):
    portal.api.check_body.CheckRefused: has a name that a check does not take
    """
    if len(body) > BODY_BYTES_MAX:
        raise CheckRefused("$", f"is longer than {BODY_BYTES_MAX:,} bytes")
    try:
        decoded = msgspec.json.decode(body, type=CheckRequest)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at ")
        raise CheckRefused(path.strip("`") or "$", _without_values(message)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise CheckRefused("$", "is not JSON") from None
    for place, component in enumerate(decoded.components):
        if not (component.job_name or "").isprintable():
            raise CheckRefused(f"$.components[{place}].job_name", "must be printable text")
    return decoded


def _without_values(message: str) -> str:
    """msgspec's message without what somebody sent.

    >>> _without_values("Object contains unknown field `--wrap`"), _without_values("Invalid enum value 'x'")
    ('has a name that a check does not take', 'is not one of the values that a check takes')
    """
    if message.startswith("Object contains unknown field"):
        return "has a name that a check does not take"
    if message.startswith("Invalid enum value"):
        return "is not one of the values that a check takes"
    if "matching regex" in message:
        return "must be printable ASCII text, at most 256 characters, without blanks at its ends"
    return re.sub(r"^Expected", "must be", message)
