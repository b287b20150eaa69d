"""Why a target of the automatic export takes nothing, in words for administrators."""

import errno
import re
from enum import Enum

AWS_ERROR = re.compile(r"AWS Error ([A-Z_]+)")


class Fault(Enum):
    """One reason: what is wrong, and what to do about it."""

    MISSING = ("the folder is not there", "Create it, or mount it: Kaiku does not create it itself.")
    NOT_PERMITTED = ("it must not be written to", "Give the account of the workers the right to write to it.")
    FULL = ("no space is left", "Free space there, or raise the quota.")
    READ_ONLY = ("it is read-only", "End its read-only mode.")
    UNREACHABLE = ("it does not answer", "Check EXPORT_S3_ENDPOINT, and that workers reach it.")
    REFUSED = ("it refuses the keys", "Check EXPORT_S3_ACCESS_KEY and its secret, and that it may put objects there.")
    NO_BUCKET = ("there is no such bucket", "Create the bucket, or correct EXPORT_TARGET.")
    BUSY = ("it is too busy", "Nothing, if it ends by itself; otherwise ask its operators.")
    OTHER = ("writing fails", "Check the log of the workers.")

    @property
    def said(self) -> str:
        return self.value[0]

    @property
    def advice(self) -> str:
        return self.value[1]


class TargetError(Exception):
    """A target took nothing; `fault` is why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.said)
        self.fault = fault


OF_ERRNO = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), Fault.MISSING),
    **dict.fromkeys((errno.EACCES, errno.EPERM), Fault.NOT_PERMITTED),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), Fault.FULL),
    errno.EROFS: Fault.READ_ONLY,
}
# Names of the C++ SDK (aws/core/client/CoreErrors.h, aws/s3/S3Errors.h), as pyarrow's messages have them.
OF_STORE = {
    "NETWORK_CONNECTION": Fault.UNREACHABLE,
    "REQUEST_TIMEOUT": Fault.UNREACHABLE,
    "NO_SUCH_BUCKET": Fault.NO_BUCKET,
    "RESOURCE_NOT_FOUND": Fault.NO_BUCKET,
    **dict.fromkeys(
        ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN_ID"),
        Fault.REFUSED,
    ),
    **dict.fromkeys(("SLOW_DOWN", "SERVICE_UNAVAILABLE", "THROTTLING", "INTERNAL_FAILURE"), Fault.BUSY),
}


def fault_of(error: OSError) -> Fault:
    """What an error of a file or of the object store means.

    >>> fault_of(OSError(errno.ENOSPC, "No space left on device"))
    <Fault.FULL: ('no space is left', 'Free space there, or raise the quota.')>
    >>> fault_of(OSError("When uploading: AWS Error NO_SUCH_BUCKET during PutObject operation: …")).name
    'NO_BUCKET'
    """
    if error.errno in OF_ERRNO:
        return OF_ERRNO[error.errno]
    named = AWS_ERROR.search(str(error))
    return OF_STORE.get(named[1], Fault.OTHER) if named else Fault.OTHER
