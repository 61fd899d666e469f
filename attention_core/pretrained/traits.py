"""What is known of a model before it runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What a model takes and gives.

    Attributes:
        takes_positions: its forward pass accepts ``position_ids``.
        first_position: number of the first position.
        pooled: it answers with the mean of its last states, at unit length.
        limit: most tokens it can read; None where there is no limit.
        vocabulary: number of token ids that it has a vector for.
        types: number of types that its tokens can have; 0 where it takes none.
    """

    takes_positions: bool
    first_position: int
    pooled: bool
    limit: int | None
    vocabulary: int
    types: int = 0
