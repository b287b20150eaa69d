"""The states of a case in the support queue, and what leads from one to another."""

from enum import StrEnum


class State(StrEnum):
    """Where a case is."""

    OPEN = "open"
    CLAIMED = "claimed"
    WAITING = "waiting"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"

    @property
    def label(self) -> str:
        """The state as people read it.

        >>> State.WAITING.label
        'Waiting for the user'
        """
        return "Waiting for the user" if self is State.WAITING else self.value.capitalize()


CLOSED = (State.RESOLVED, State.DISMISSED)


class Action(StrEnum):
    """What staff can do to a case, by what its button sends."""

    CLAIM = "claim"
    RELEASE = "release"
    WAIT = "wait"
    CONTINUE = "continue"
    RESOLVE = "resolve"
    DISMISS = "dismiss"
    REOPEN = "reopen"


BUTTONS = {
    Action.CLAIM: "Claim",
    Action.RELEASE: "Release",
    Action.WAIT: "Wait for the user",
    Action.CONTINUE: "Continue",
    Action.RESOLVE: "Resolve",
    Action.DISMISS: "Dismiss",
    Action.REOPEN: "Reopen",
}

NEXT = {
    State.OPEN: {Action.CLAIM: State.CLAIMED, Action.DISMISS: State.DISMISSED},
    State.CLAIMED: {
        **{Action.CLAIM: State.CLAIMED, Action.WAIT: State.WAITING, Action.RESOLVE: State.RESOLVED},
        **{Action.DISMISS: State.DISMISSED, Action.RELEASE: State.OPEN},
    },
    State.WAITING: {
        **{Action.CLAIM: State.WAITING, Action.CONTINUE: State.CLAIMED, Action.RESOLVE: State.RESOLVED},
        **{Action.DISMISS: State.DISMISSED, Action.RELEASE: State.OPEN},
    },
    State.RESOLVED: {Action.REOPEN: State.CLAIMED},
    State.DISMISSED: {Action.REOPEN: State.CLAIMED},
}
"""State -> action -> the state after it. To claim what somebody else claimed takes it over."""


def after(state: State, action: Action) -> State | None:
    """The state after an action; None where it is not possible.

    >>> after(State.OPEN, Action.CLAIM).value, after(State.OPEN, Action.RESOLVE)
    ('claimed', None)
    """
    return NEXT[state].get(action)
