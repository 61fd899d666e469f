"""What travels to the browser: bytes that come back as they went, numbers never rounded to 0, states of every cell."""

import numpy as np
import pytest

from viz.components.packing import NOT_A_NUMBER, POSITIVE_INFINITY, UNITS, pack, packed_states, rounded, unpack


def test_what_is_packed_comes_back():
    arrays = {
        "odd": np.arange(7, dtype=np.uint8),  # 7 bytes: the next array must start at a multiple of 4 all the same
        "map": np.linspace(0, 1, 15, dtype=np.float32).reshape(3, 5),
        "rounded": np.arange(11, dtype=np.uint16),
        "none": np.zeros((2, 0), dtype=np.float32),
    }
    data = pack({"text": "你好 👩‍👩‍👧 שלום </script>"}, arrays)
    header, back = unpack(data)
    assert header["text"] == "你好 👩‍👩‍👧 שלום </script>"
    assert {name: array.dtype for name, array in back.items()} == {name: array.dtype for name, array in arrays.items()}
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
    start = 4 + int.from_bytes(data[:4], "little")
    assert start % 4 == 0 and all(place["start"] % 4 == 0 for place in header["arrays"])


def test_the_revision_follows_every_change():
    base = {"a": np.zeros(3, np.float32)}
    changed = {"a": np.array([0, 0, 1e-30], np.float32)}
    revisions = [
        unpack(pack(header, arrays))[0]["revision"]
        for header, arrays in (({"x": 1}, base), ({"x": 2}, base), ({"x": 1}, changed), ({"x": 1}, base))
    ]
    assert len(set(revisions)) == 3 and revisions[0] == revisions[3]
    assert pack({"x": 1}, base) == pack({"x": 1}, base)


def test_only_what_the_browser_can_read_is_packed():
    with pytest.raises(ValueError, match="arrays for the browser are float32, uint16, uint8: got float64 for 'a'"):
        pack({}, {"a": np.zeros(2)})
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack({"x": float("nan")}, {})


def test_rounding_keeps_what_the_marks_need():
    weights = np.array([0, 1e-30, 1e-9, 0.5, 1, np.nan, np.inf, -0.25, 1.5, 1 / UNITS], np.float32)
    np.testing.assert_array_equal(
        rounded(weights), [0, 1, 1, UNITS // 2, UNITS, NOT_A_NUMBER, POSITIVE_INFINITY, 1, UNITS, 1]
    )
    many = np.random.default_rng(3).random((5, 7, 11)).astype(np.float32)
    # half a step of rounding, and what float32 loses of a number below 1
    assert np.abs(rounded(many) / UNITS - many).max() <= 0.5 / UNITS + 1e-7


@pytest.mark.parametrize("size", [1, 4, 15, 16, 21])
def test_states_lie_four_to_a_byte(size):
    states = np.random.default_rng(size).integers(0, 4, size).astype(np.uint8)
    packed = packed_states(states)
    assert packed.shape == (-(-size // 4),)
    read = [(packed[cell >> 2] >> (2 * (cell & 3))) & 3 for cell in range(size)]  # as the browser reads it
    np.testing.assert_array_equal(read, states)
