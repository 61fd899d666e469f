"""Results kept for all visitors together, up to a number of entries and of bytes; the longest unused goes first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """A bounded memory of results, safe to use from several threads; the newest is always kept.

    Args:
        most: entries.
        most_bytes: bytes of all entries together.
        size: bytes of a result.
    """

    def __init__(self, *, most: int, most_bytes: int, size: Callable[[Value], int]) -> None:
        self._most, self._most_bytes, self._size = most, most_bytes, size
        self._guard = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The result of a key: as it is kept, or made now; who asks for the same meanwhile waits and shares it."""
        with self._guard:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
            turn = self._making.setdefault(key, threading.Lock())
        with turn:
            with self._guard:
                if key in self._entries:
                    return self._entries[key][0]
            try:
                made = make()
                with self._guard:
                    self._entries[key] = (made, self._size(made))
                    while len(self._entries) > 1 and (
                        len(self._entries) > self._most or self._total() > self._most_bytes
                    ):
                        self._entries.popitem(last=False)
            finally:
                with self._guard:
                    self._making.pop(key, None)
        return made

    def clear(self) -> None:
        """Forgets everything."""
        with self._guard:
            self._entries.clear()

    @property
    def held(self) -> int:
        """Bytes of what is kept."""
        with self._guard:
            return self._total()

    def __contains__(self, key: Hashable) -> bool:
        with self._guard:
            return key in self._entries

    def __len__(self) -> int:
        with self._guard:
            return len(self._entries)

    def _total(self) -> int:
        return sum(size for _, size in self._entries.values())
