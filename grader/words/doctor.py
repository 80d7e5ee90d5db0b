"""What `grade doctor` finds on a machine."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "system": N_("operating system"),
    "for_system": N_("what is confined, and what runs at all"),
    "container": N_("{system}, in a container"),
    "advice_windows": N_("WSL confines compilers and runs whole programs: see docs/places.md"),
    "advice_macos": N_("NVRTC is not published for macOS; grade in the container: docs/places.md"),
    "old_gpu": N_("{model}, compute capability {capability}: CUDA 13 no longer compiles for it"),
    "advice_old_gpu": N_("kernels are timed on Turing (7.5) and newer; everything else is graded all the same"),
    "unconfined": N_("not on this system: compilers are not confined to their files, nor bounded in memory"),
    "advice_elsewhere": N_("grade in WSL or in the container what you do not trust"),
    "for_python": N_("runs the grader"),
    "for_nvrtc": N_("compiles kernels"),
    "no_headers": N_("{version}; without cuda_fp16.h, cooperative_groups.h and other device headers"),
    "programs": N_("ziglang and wasmtime"),
    "for_programs": N_("run whole programs; without them launches are only read from the text, and grades may differ"),
    "lacks": N_("{package} is not installed"),
    "for_gpu": N_("measures times; without it speedup stays pending"),
    "gpu": N_("GPU and driver"),
    "advice_gpu": N_(
        "NVIDIA driver 580 or later (apt install nvidia-driver-580 on Ubuntu); everything but timing works without it"
    ),
    "advice_gpu_wsl": N_(
        "NVIDIA driver 580 or later, installed in Windows (not in WSL: a Linux driver would take its place); "
        "everything but timing works without it"
    ),
    "advice_gpu_container": N_(
        "start the container with --device nvidia.com/gpu=all; the host needs NVIDIA driver 580 or later and the "
        "NVIDIA container toolkit; everything but timing works without it"
    ),
    "advice_wsl1": N_("WSL 2 can use a GPU and confines compilers: wsl --set-version DISTRIBUTION 2, in PowerShell"),
    "no_gpu": N_("no NVIDIA GPU"),
    "no_driver": N_("no NVIDIA driver"),
    "driver": N_("driver {version}"),
    "sm_clock": N_("SM clock {now} of {most} MHz"),
    "for_pdf": N_("reports as PDF; without it HTML only"),
    "no_subset": N_("{version}; without libharfbuzz-subset PDFs take twice as long"),
    "found": N_("found"),
    "font": N_("font with Cyrillic"),
    "for_font": N_("Russian text in the PDF"),
    "none": N_("none"),
    "none_in": N_("none found in /usr/share/fonts"),
    "for_counters": N_("hardware counters beside the emulator's"),
    "for_memory": N_("memory and race checks on the GPU"),
    "advice_sanitizer": N_("comes with the CUDA toolkit"),
    "not_installed": N_("not installed"),
    "for_landlock": N_("keeps the compiler from reading other files"),
    "abi": N_("ABI {version}"),
    "advice_landlock": N_("a Linux kernel 5.13 or later started with lsm=landlock,…"),
    "no_landlock": N_("not in this kernel; #include lines are checked instead"),
}
