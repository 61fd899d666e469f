"""What keeps a model from being used."""


class LoadError(RuntimeError):
    """A model cannot be used; the message says why and what to do.

    Attributes:
        code: "not-fetched", "damaged", "not-found", "no-network", "gated", "no-weights", "no-tokenizer", "too-large",
            "incomplete", "disk", "device" or "unsupported".
        name: the model that was asked for.
        values: numbers of the message, for whoever words it anew.
    """

    def __init__(self, code: str, name: str, message: str, **values: float) -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.values = values


def first_line(error: Exception) -> str:
    """The first line of what an error says, without its full stop; its kind where it says nothing."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__).rstrip(".")
