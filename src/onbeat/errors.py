"""The errors of onbeat, split by what the caller should do; each message carries the numbers it speaks of."""

__all__ = (
    "BadInput",
    "ClockMismatch",
    "Damaged",
    "DeviceError",
    "EpochChanged",
    "Forgotten",
    "Gap",
    "MissingExtra",
    "NotSynced",
    "NotYet",
    "OnbeatError",
)


class OnbeatError(Exception):
    """Base of all errors that onbeat raises on purpose."""


class BadInput(OnbeatError, ValueError):
    """An argument, a file or a setting is not acceptable; the message names the fact and the fix."""


class Damaged(BadInput):
    """A file ends early or is broken; the message says where, and what of it could still be read."""


class NotYet(OnbeatError):
    """The instant asked for is newer than the newest sample: wait, or ask for a hold by name."""


class Forgotten(OnbeatError):
    """The instant asked for is older than the oldest sample that is kept: it is too late to ask."""


class Gap(OnbeatError):
    """The instant asked for lies between two samples that are further apart than the stream allows."""


class ClockMismatch(OnbeatError):
    """Two instants of different clocks met; only a ClockMap crosses from one clock to another."""


class NotSynced(OnbeatError):
    """The clock is not known as well as the caller requires."""


class EpochChanged(OnbeatError):
    """The clock was stepped: instants from before the step are on another time line."""


class DeviceError(OnbeatError):
    """A device did not do what it was asked to, or could not be reached."""


class MissingExtra(OnbeatError):
    """An optional dependency is not installed; the message gives the command that installs it."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} is not installed; install it with: pip install 'onbeat[{extra}]'")
        self.need = need
        self.extra = extra
