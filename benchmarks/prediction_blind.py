"""Launches of `prediction_blind.cu`: kernels whose times were looked at once the model and its coefficients stood."""

from __future__ import annotations

from prediction_own_launches import Data, M, Measured
from prediction_unseen import Launches, zero


def blind_launches() -> list[Measured]:
    """Each kernel at two sizes, in the blocks that its kind is usually given."""
    made = Launches("blind")
    add, flat, plane = made.add, made.flat, made.plane

    for n in (4 * M, 24 * M):
        flat("adam_step", n // 2, Data(n // 2), Data(n // 2), Data(n // 2), Data(n // 2), 0.001, n // 2)
        flat("gelu", n, Data(n), zero(n), n)
        flat("gated", n // 16, Data(n), Data(n), zero(n), n // 4)
        flat("add_bias", n, Data(n), Data(64), 64, 3136, n)
        flat("rotary", n // 2, Data(n), 16, n // 2, block=128)
        flat("gamma_correct", n, Data(n), zero(n), 2.2, n)
        flat("blend", n, Data(n), Data(n), zero(n), n)
        flat("to_luma", n, Data(n), zero(n // 4), zero(n // 4), zero(n // 4), n, block=128)
        flat("inverses_3x3", n // 8, Data(9 * n // 8), zero(9 * n // 8), n // 8)
        flat("hash_records", n // 16, Data(n), zero(n // 16), n // 16)
        add("count_bits", (528,), (256,), Data(n), zero(1), n // 4)
        flat("count_matches", n, Data(n // 4), zero(n // 32), n)
        flat("windowed", n, Data(n), zero(n), n, 1024)
        flat("moving_average", n // 32, Data(n), zero(n), n, 100, block=128)
        flat("compact_pairs", n, Data(2 * n), zero(2 * n), n)
        add("dot_double", (264,), (256,), Data(n, "unit64"), Data(n, "unit64"), zero(2 * 264), n // 2)
        flat("diagonals_times_vector", n // 8, Data(9 * n // 8), Data(n // 8), zero(n // 8), n // 8, 9)
    for n in (M, 8 * M):
        flat("pi_by_chance", n // 4, zero(n // 128), 256)
        flat("integrate", n // 4, zero(n // 4), 200, 0.001, block=128)
        flat("skip_ahead", n, zero(2 * n), n, 64)
        flat("mixing_rounds", n // 2, Data(2 * n), zero(2 * n), n // 2, 20)
        flat("primes_by_trial", n // 4, zero(n // 16), n // 4, 199)
        flat("nearest_centre", n, Data(n), Data(n), Data(64), Data(64), zero(n), n, 64, shared=512)
    for images, channels in ((8, 64), (32, 256)):
        add(
            "channel_means", (channels,), (256,), Data(images * channels * 3136), zero(channels), images, channels, 3136
        )
    for w, h, deep in ((224, 224, 64), (512, 512, 96)):
        points = w * h * deep
        plane("max_pool", w // 2, h // 2, Data(points), zero(points // 4), w, h, deep=deep)
        plane("upsample", w, h, Data(points // 4), zero(points), w, h, block=(32, 8), deep=deep)
        plane("depthwise", w, h, Data(points), Data(9 * deep), zero(points), w, h, block=(32, 4), deep=deep)
    for w, h in ((1280, 720), (3840, 2160)):
        plane("image_to_columns", w, h, Data(w * h), zero(9 * w * h), w, h)
        plane("bilateral", w, h, Data(w * h), zero(w * h), w, h)
        plane("median", w, h, Data(w * h), zero(w * h), w, h, block=(32, 8))
        plane("springs", w, h, Data(2 * w * h), Data(2 * w * h), w, h, block=(32, 4))
        plane("lattice_step", w, h, Data(9 * w * h), zero(9 * w * h), w, h, block=(64, 2))
    for n in (1024, 3072):
        plane("attention_scores", n, n, Data(64 * n), Data(64 * n), zero(n * n), n)
        plane("product_of_bytes", n, n, Data(n * n // 4), Data(n * n // 4), zero(n * n), n, n // 4)
        plane("reaction", n, n, Data(n * n), Data(n * n), zero(n * n), zero(n * n), n, block=(32, 16))
        plane("potential_map", n, n, Data(4 * 1024), zero(n * n), n, 1024)
        plane("cosines_8x8", n, n, Data(n * n), zero(n * n), n, block=(8, 8))
    for n in (2048, 6144):
        plane("wave_step", n, n, Data(n * n), Data(n * n), zero(n * n), n, 0.2, block=(64, 4))
        plane("fields_h", n, n, Data(n * n), Data(n * n), Data(n * n), n, block=(32, 8))
        plane("red_black", n // 2, n, Data(n * n), Data(n * n), n, 0, block=(32, 8))
        plane("rotate_image", n, n, Data(n * n), zero(n * n), n, 0.8, 0.6)
        plane("haar_rows", n // 2, n, Data(n * n), zero(n * n), n, block=(128, 1))
        plane("haar_columns", n, n // 2, Data(n * n), zero(n * n), n, block=(32, 8))
        plane(
            "heat_double",
            n // 2,
            n // 2,
            Data((n // 2 + 2) ** 2, "unit64"),
            zero(2 * (n // 2 + 2) ** 2),
            n // 2 + 2,
            block=(32, 8),
        )
        add("rms_norm", (n,), (256,), Data(n * 4096), Data(4096), zero(n * 4096), 1024)
        add("argmax_rows", (n,), (256,), Data(n * 5000), zero(n), 5000)
        add("variance_columns", (n // 32,), (32, 8), Data(n * 2000), zero(n), 2000, n)
    for systems, n in ((16384, 64), (131072, 128)):
        flat("thomas", systems, *(Data(systems * n) for _array in range(4)), zero(systems * n), systems, n, block=128)
    for count in (8192, 65536):
        add("cholesky_16", (count,), (16, 16), Data(256 * count), zero(256 * count))
    for n in (4096, 16384):
        flat("slow_transform", n, Data(n), zero(2 * n), n, block=128)
    for n in (128, 320):
        plane("brightest_along", n, n, Data(n**3), zero(n * n), n)
        add("axes_exchanged", (n // 16, n // 16, n), (16, 16), Data(n**3), zero(n**3), n)
    for lags, n in ((132, 65536), (1000, 1 << 18)):
        add("autocorrelation", (lags,), (512,), Data(n), zero(lags), n, lags)
    return made.all
