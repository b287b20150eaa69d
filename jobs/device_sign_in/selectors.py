"""Reading sign-ins of programs."""

from datetime import datetime

from jobs.models import DeviceSignIn


def of_device(device_digest: str) -> DeviceSignIn | None:
    """The one with this device code, in whatever state; also one that is over, until it is deleted."""
    return DeviceSignIn.objects.select_related("user").filter(pk=device_digest).first()


def waiting_with(user_digest: str, now: datetime) -> DeviceSignIn | None:
    """The one that waits for its person under this code; None also for one that was answered or is over."""
    rows = DeviceSignIn.objects.filter(user_digest=user_digest, state=DeviceSignIn.State.WAITING, expires_at__gt=now)
    return rows.first()
