"""Text of others inside a message, which Streamlit reads as Markdown."""

import re

_MEANT = re.compile(r"([!-/:-@\[-`{-~])")  # every ASCII mark that Markdown lets a backslash take back


def literal(text: str) -> str:
    r"""The text as Markdown that shows it unchanged, on one line.

    >>> print(literal("*a* and $x$"))
    \*a\* and \$x\$
    """
    return _MEANT.sub(r"\\\1", " ".join(text.split()))
