"""The body of a check: resource options and names of jobs alone; anything else is refused and never repeated."""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jobs.records import JOB_NAME_LENGTH_MAX, RESOURCE_OPTIONS, Slug
from wire.safe_text import printable

SCHEMA = "check-request/1"
BODY_BYTES_MAX = 64 * 1024
COMPONENTS_MAX = 16
OTHER_OPTIONS = frozenset({"--account", "--qos", "--constraint", "--array"})
"""What a check may know beside the options about resources."""

VALUE_PATTERN = r"\A([!-~]([ -~]{0,254}[!-~])?)?\Z"
Value = Annotated[str, Meta(pattern=VALUE_PATTERN)]
Name = Annotated[str, Meta(pattern=rf"\A[^\x00-\x1f\x7f-\x9f]{{0,{JOB_NAME_LENGTH_MAX}}}\Z")]
"""In any language, without control characters."""

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

    def __post_init__(self) -> None:
        # As the names of runs are stored.
        msgspec.structs.force_setattr(self, "job_name", self.job_name and printable(self.job_name))

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
        return msgspec.json.decode(body, type=CheckRequest)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at ")
        path = path.strip("`") or "$"
        raise CheckRefused(path, _without_values(message, path)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise CheckRefused("$", "is not JSON") from None


def _without_values(message: str, path: str = "$") -> str:
    """msgspec's message without what somebody sent.

    >>> _without_values("Object contains unknown field `--wrap`"), _without_values("Invalid enum value 'x'")
    ('has a name that a check does not take', 'is not one of the values that a check takes')
    """
    if message.startswith("Object contains unknown field"):
        return "has a name that a check does not take"
    if message.startswith("Invalid enum value"):
        return "is not one of the values that a check takes"
    if "matching regex" in message and path.endswith(".job_name"):
        return f"must be at most {JOB_NAME_LENGTH_MAX} characters without control characters"
    if "matching regex" in message:
        return "must be printable ASCII text, at most 256 characters, without blanks at its ends"
    return re.sub(r"^Expected", "must be", message)
