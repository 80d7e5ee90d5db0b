"""How many wavefronts and sectors a warp's memory request takes: pure functions of its addresses.

The shared-memory model is for compute capability 5.0 and later: 32 banks of 4 bytes (CUDA C++
programming guide, "Shared Memory").  It gives what the counters `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*`,
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_*` and `l1tex__t_sectors_pipe_lsu_mem_global_op_*` of an H200 show
for 2,556 requests of all widths, to the digit (tests/ptx/observers/test_hardware_requests.py).  Nsight Compute's
`smsp__sass_…wavefronts_mem_shared*`, which are worked out from addresses and not counted, differ from them for a sixth
of the wide loads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BANKS = 32
BANK_BYTES = 4
SECTOR_BYTES = 32
WAVEFRONT_BYTES = BANKS * BANK_BYTES


def shared_wavefronts(offsets: Array, active: Array, width: int, op: str) -> tuple[Array, Array]:
    """Wavefronts of shared-memory requests, and what they would be without bank conflicts.

    Parameters
    ----------
    offsets : (n, 32) int64 byte addresses of the lanes' accesses.
    active : (n, 32) bool, which lanes take part.
    width : bytes each lane accesses: 1, 2, 4, 8 or 16.
    op : "load", "store" or "atomic".

    Returns
    -------
    (wavefronts, ideal) : each (n,) int64.

    A request wider than 4 bytes is carried out in groups of lanes: two halves for 8 bytes, four quarters for 16.
    Within a group every bank serves one 4-byte word a wavefront; lanes that want the same word share it.  Two groups of
    a load are served at once where the two lanes of every neighbouring pair want one address, or one of them wants
    nothing (measured; NVIDIA states it for compute capability 7.x, without the lanes that take no part).  A request
    that no lane takes part in counts nothing, nor does a group.
    """
    n = len(offsets)
    if width <= 4:
        groups = np.ones(n, np.int64)
        return _conflicts(offsets // BANK_BYTES, active), groups * active.any(axis=1)
    words = width // 4
    wavefronts = np.zeros(n, np.int64)
    ideal = np.zeros(n, np.int64)
    at_once = lanes_at_once(offsets, active, width, op)
    for together in np.unique(at_once).tolist():
        rows = at_once == together
        some, mask = offsets[rows], active[rows]
        total = np.zeros(len(some), np.int64)
        used = np.zeros(len(some), np.int64)
        for start in range(0, 32, together):
            part = slice(start, start + together)
            base = some[:, part] // BANK_BYTES
            all_words = (base[:, :, None] + np.arange(words)).reshape(len(some), -1)
            total += _conflicts(all_words, np.repeat(mask[:, part], words, axis=1))
            used += mask[:, part].any(axis=1)
        wavefronts[rows], ideal[rows] = total, used
    return wavefronts, ideal


def lanes_at_once(offsets: Array, active: Array, width: int, op: str) -> Array:
    """(n,) how many neighbouring lanes of each shared-memory request are served together; see `shared_wavefronts`."""
    n = len(offsets)
    if width <= 4:
        return np.full(n, 32)
    lanes_per_group = 32 * 4 // width
    paired = _pairs_agree(offsets, active) if op == "load" else np.zeros(n, np.bool_)
    return np.where(paired, 2 * lanes_per_group, lanes_per_group)


def _pairs_agree(offsets: Array, active: Array) -> Array:
    """(n,) bool: no two active lanes l and l^1 have different addresses, or no two l and l^2."""
    result = np.zeros(len(offsets), np.bool_)
    lanes = np.arange(32)
    for distance in (1, 2):
        other = lanes ^ distance
        result |= ((offsets == offsets[:, other]) | ~active | ~active[:, other]).all(axis=1)
    return result & active.any(axis=1)


def _conflicts(words: Array, active: Array) -> Array:
    """(n,) the largest number of distinct words that one bank has to serve, for (n, k) word addresses."""
    n = len(words)
    if not n:
        return np.zeros(0, np.int64)
    # Sorted by (bank, word), equal words side by side: count what is new, bank by bank.
    low = int(words[active].min()) if active.any() else 0
    span = (int(words[active].max()) - low) // BANKS + 2 if active.any() else 1
    words = words - low // BANKS * BANKS
    keys = np.where(active, (words % BANKS) * span + words // BANKS, -1)
    keys.sort(axis=1)
    new = np.empty(keys.shape, np.bool_)
    new[:, 0] = True
    np.not_equal(keys[:, 1:], keys[:, :-1], out=new[:, 1:])
    new &= keys >= 0
    rows = np.broadcast_to(np.arange(n)[:, None] * BANKS, keys.shape)[new]
    counts = np.bincount(rows + keys[new] // span, minlength=n * BANKS)
    return counts.reshape(n, BANKS).max(axis=1)


def unique_bytes(offsets: Array, active: Array, width: int) -> Array:
    """(n,) distinct bytes that the active lanes of each request address (naturally aligned accesses)."""
    return distinct(offsets // width, active) * width


def sectors(offsets: Array, active: Array) -> Array:
    """(n,) distinct 32-byte sectors that each global-memory request touches.

    `offsets` are relative to something aligned to 32 bytes; accesses are naturally aligned and thus never straddle.
    """
    return distinct(offsets // SECTOR_BYTES, active)


def distinct(keys: Array, active: Array) -> Array:
    """(n,) number of distinct values among the active entries of each row."""
    big = np.iinfo(np.int64).max
    ordered = np.where(active, keys, big)
    ordered.sort(axis=1)
    new = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered[:, 1:] != big
    return new.sum(axis=1) + (ordered[:, 0] != big)


def efficiency_pct(bytes_used: int, bytes_moved: int) -> float | None:
    """100 · used / moved, None when nothing moved (nvprof's shared_efficiency, gld_efficiency, gst_efficiency)."""
    return 100.0 * bytes_used / bytes_moved if bytes_moved else None


def shared_efficiency_pct(bytes_used: int, wavefronts: int) -> float | None:
    """Unique bytes a wavefront of 128: 6.06 % for loads with 32-way conflicts beside stores without."""
    return efficiency_pct(bytes_used, wavefronts * WAVEFRONT_BYTES)
