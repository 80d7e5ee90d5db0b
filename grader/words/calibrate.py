"""What `grade calibrate` says."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "which_lab": N_("grade calibrate LAB: name a lab; {allowed}"),
    "no_gpu": N_("grade calibrate needs an NVIDIA GPU; see grade doctor"),
    "no_speed_check": N_("{lab}: the lab has no speedup check or no sizes to time at"),
    "refused": N_("grade calibrate: {reason}; see grade doctor"),
    "launch_bound": N_("{lab}: the kernels of {variant} take hardly longer than an empty launch"),
    "sound": N_("sound"),
    "in_noise": N_("within the noise"),
    "out_of_reach": N_("the reference kernel itself does not reach it"),
    "too_close": N_("minimum and full are closer together than the noise"),
}
