"""The common shape of what isthmus answers."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Answer(Protocol):
    """A conclusion in one sentence, with the measurements it rests on; ``str`` returns the sentence."""

    @property
    def ok(self) -> bool | None:
        """True: the measurements support the answer; False: they contradict it; None: they do not decide."""

    @property
    def sentence(self) -> str:
        """The conclusion in plain words, with its main figures."""

    @property
    def evidence(self) -> Any:
        """The measurements behind the conclusion."""
