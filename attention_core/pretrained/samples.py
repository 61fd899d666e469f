"""What a sample may be beside a text: two texts that belong together, or what a user says to an assistant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Messages = Sequence[Mapping[str, str]]
Render = Callable[[Messages], str]
"""Messages, each with "role" and "content", to the text that a model reads, up to where the assistant speaks."""

BETWEEN = "\n"
"""Stands between the two texts of a pair where they are shown as one."""


@dataclass(frozen=True)
class Pair:
    """Two texts that a model reads as one input, as a question and a passage; for tokenizers with a pair template.

    Attributes:
        first: before the separator.
        second: behind it.
    """

    first: str
    second: str

    @property
    def text(self) -> str:
        """Both as one text, as ``Run.texts`` holds it; the tokens' offsets go into this one."""
        return f"{self.first}{BETWEEN}{self.second}"


@dataclass(frozen=True)
class Chat:
    """One turn of a conversation, put to an instruct model by the chat template of its tokenizer.

    Attributes:
        user: what the user says.
        system: what the model is told beforehand; empty: what the template itself says, if it says something.
    """

    user: str
    system: str = ""

    @property
    def messages(self) -> Messages:
        """As chat templates take them."""
        said = {"role": "user", "content": self.user}
        return [{"role": "system", "content": self.system}, said] if self.system else [said]


Sample = str | Pair | Chat
"""One input of a model."""


@dataclass(frozen=True)
class Rendered:
    """A chat as the model reads it.

    Attributes:
        text: all of it.
        typed: (start, end) offsets into ``text`` of what the visitor typed, in order; all else is the template's.
    """

    text: str
    typed: tuple[tuple[int, int], ...]


def rendered(chat: Chat, render: Render) -> Rendered:
    """A chat in its template, and where in it the typed texts are.

    Raises:
        ValueError: if the template refuses the messages, or changes what was typed.
    """
    messages = chat.messages
    # The template is read with marks in place of the texts: what stands around the marks is the template's own.
    marks = [f"\ue000{place}\ue001" for place in range(len(messages))]
    try:
        text = render(messages)
        frame = render([{**one, "content": mark} for one, mark in zip(messages, marks, strict=True)])
    except Exception as error:  # templates are programs that say no in many ways
        lines = str(error).splitlines() or [type(error).__name__]
        advice = "leave the system text empty" if chat.system else "type a plain text instead of a chat"
        raise ValueError(f"a chat must fit the model's template: it says {lines[0]!r}; {advice}") from error
    for contents in ([one["content"] for one in messages], [one["content"].strip() for one in messages]):
        found = _filled(frame, marks, contents)
        if found is not None and found.text == text:
            return found
    raise ValueError(
        "a chat template must hold what was typed as it is: this one changes it; type a plain text instead"
    )


def _filled(frame: str, marks: Sequence[str], contents: Sequence[str]) -> Rendered | None:
    text, typed, rest = "", [], frame
    for mark, content in zip(marks, contents, strict=True):
        before, found, rest = rest.partition(mark)
        if not found:
            return None
        text += before + content
        typed.append((len(text) - len(content), len(text)))
    return Rendered(text + rest, tuple(typed))
