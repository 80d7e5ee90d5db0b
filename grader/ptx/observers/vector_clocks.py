"""What orders the accesses of a batch's threads: barriers and `__syncwarp()`, warp by warp (vector clocks)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.ptx.values.lanes import WARP_SIZE, Array, Lanes, Layout


@dataclass(frozen=True, slots=True, eq=False)
class VectorClock:
    """How far the warps of a batch have come, from one synchronisation to the next.  Never changed once made.

    epochs: (warps,) int32, the barriers that each warp has passed or has arrived at.
    segments: (warps,) int32, its `__syncwarp()` calls; (lanes,) those of each lane where `heard` is there.
    heard: (lanes, 32) int32, the last segment of each lane of its warp that is over for this lane.  None as long as all
    lanes of a warp that had not returned met at each of its calls: every earlier segment is over then.
    known: (warps, warps of a block) int32, the last epoch of each warp of its block that is over for this warp.
    None while all barriers were for whole blocks: every earlier epoch is over then.
    """

    epochs: Array
    segments: Array
    known: Array | None = None
    heard: Array | None = None

    @classmethod
    def start(cls, layout: Layout) -> VectorClock:
        """That of a batch that has not run yet."""
        warps = layout.blocks * layout.padded // 32
        return cls(np.zeros(warps, np.int32), np.zeros(warps, np.int32))

    @property
    def size_bytes(self) -> int:
        """How much memory it holds."""
        tables = (self.epochs, self.segments, self.known, self.heard)
        return sum(table.nbytes for table in tables if table is not None)

    def segments_of(self, ids: Array) -> Array:
        """(n,) the segment in which each lane is."""
        return self.segments[ids >> 5 if self.heard is None else ids]

    def is_over(self, warp: int, other: int, epoch: int) -> bool:
        """Whether an epoch of warp `other` of its block is over for a warp."""
        return epoch < int(self.epochs[warp]) if self.known is None else int(self.known[warp, other]) >= epoch

    def after_warp_sync(self, lanes: Lanes, masks: Array | None = None) -> VectorClock:
        """Lanes have met, those of a warp that name the same ones: (n,) uint32.

        None: all of their warps that have not returned, each warp by itself.
        """
        warps = np.unique(lanes.ids >> 5)
        if self.heard is None and masks is None:
            segments = self.segments.copy()
            segments[warps] += 1
            return replace(self, segments=segments)
        if self.heard is None:
            segments = np.repeat(self.segments, WARP_SIZE)
            heard = np.repeat(segments[:, None] - np.int32(1), WARP_SIZE, axis=1)
        else:
            segments, heard = self.segments.copy(), self.heard.copy()
        if masks is None:
            last = segments.reshape(-1, WARP_SIZE)[warps].max(axis=1, keepdims=True)
            segments.reshape(-1, WARP_SIZE)[warps] = last + 1
            heard.reshape(-1, WARP_SIZE, WARP_SIZE)[warps] = last[:, :, None]
            return replace(self, segments=segments, heard=heard)
        teams = (lanes.ids >> 5) << 32 | masks
        order = np.argsort(teams, kind="stable")
        ids, teams = lanes.ids[order], teams[order]
        starts = np.flatnonzero(np.concatenate([[True], teams[1:] != teams[:-1]]))
        team = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))
        together = np.maximum.reduceat(heard[ids], starts, axis=0)
        together[team, ids & 31] = np.maximum(together[team, ids & 31], segments[ids])
        heard[ids] = together[team]
        segments[ids] += 1
        return replace(self, segments=segments, heard=heard)

    def after_barrier(self, blocks: Array | None, layout: Layout) -> VectorClock:
        """All threads of some blocks have met: (blocks,) bool, None for all of them."""
        warps = slice(None) if blocks is None else np.repeat(blocks, layout.padded // 32)
        epochs = self.epochs.copy()
        epochs[warps] += 1
        if blocks is None and self.heard is not None:
            # What was done before is over for everybody.
            return VectorClock(epochs, np.zeros_like(epochs), self.known).with_known(self.epochs, layout)
        if self.known is None:
            return replace(self, epochs=epochs)
        known = self.known.copy()
        known[warps] = _by_warp(self.epochs, layout)[warps]
        return replace(self, epochs=epochs, known=known)

    def with_known(self, epochs: Array, layout: Layout) -> VectorClock:
        """The same, every warp knowing these epochs of its block to be over."""
        return self if self.known is None else replace(self, known=_by_warp(epochs, layout))

    def after_arrival(self, lanes: Lanes, layout: Layout) -> VectorClock:
        """Some warps have come to a barrier for which they do not wait: what they do next is not before it."""
        epochs = self.epochs.copy()
        epochs[np.unique(lanes.ids >> 5)] += 1
        return replace(self, epochs=epochs, known=self._known(layout))

    def _known(self, layout: Layout) -> Array:
        return _by_warp(self.epochs, layout) - np.int32(1) if self.known is None else self.known.copy()

    def after_completion(
        self, parties: Sequence[tuple[Lanes, bool]], arrived: Array | None, layout: Layout
    ) -> VectorClock:
        """Some threads of a block have met at a barrier for just so many: (lanes, whether they waited for the others).

        Who waited knows what all knew who came; who only arrived learns nothing.  arrived: (warps,) the epochs in
        which those who did not wait came.
        """
        per_block = layout.padded // 32
        known = self._known(layout)
        came = np.unique(np.concatenate([lanes.ids >> 5 for lanes, _ in parties]))
        waited = np.unique(np.concatenate([lanes.ids[: lanes.n if waits else 0] >> 5 for lanes, waits in parties]))
        together = np.full((layout.blocks, per_block), -1, np.int32)
        np.maximum.at(together, came // per_block, known[came])
        over = self.epochs if arrived is None else np.where(arrived < 0, self.epochs, arrived)
        together[came // per_block, came % per_block] = over[came]
        known[waited] = np.maximum(known[waited], together[waited // per_block])
        epochs = self.epochs.copy()
        epochs[came] += 1
        return replace(self, epochs=epochs, known=known)


def _by_warp(epochs: Array, layout: Layout) -> Array:
    """(warps, warps of a block): the epochs of the warps of each warp's own block."""
    per_block = layout.padded // 32
    return np.repeat(epochs.reshape(layout.blocks, per_block), per_block, axis=0)
