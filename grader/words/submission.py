"""What is wrong with the layout of a submission, its files and its settings."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "no_notebook": N_("{path}: not a Jupyter notebook (a JSON file with cells)"),
    "no_cells": N_(
        "{path}: no cell of this notebook holds CUDA code; such a cell begins with %%cu, %%cuda, %%grade, "
        "%%cuda_group_save or %%writefile x.cu"
    ),
    "nested": N_("{path}: line {line}: brackets are nested {depth} deep; at most {limit} are allowed"),
    "kernels": N_("{path}: {count} kernels; at most {limit} are allowed"),
    "too_large": N_("{path}: the program is too large or too deeply nested to be read"),
    "no_lab": N_("no such lab; {allowed}"),
    "block": N_("a block has at most {threads} threads, {x} × {y} × {z} along its axes (got {got}, which are {count})"),
    "tile": N_("a tile has at most {limit} elements (got {got}, which are {count})"),
    "no_variant": N_("the lab has no such variant; {allowed}"),
    "not_plain": N_("{path}: is not a plain file"),
    "unreadable": N_("{path}: cannot be read ({reason})"),
    "utf16": N_("{path}: is UTF-16 or UTF-32 text; save it as UTF-8"),
    "nul": N_("{path}: not a text file: NUL byte in line {line}; save the program as UTF-8 text"),
    "empty": N_("{path}: the file is empty"),
    "bytes": N_("{path}: the file has {size} bytes; at most {limit} are allowed"),
    "no_kernel": N_("no such kernel: {kernel}; {allowed}"),
    "kernel_twice": N_("the kernel {kernel} is named for the variant {other} already"),
    "instance_twice": N_(
        "the kernel {kernel} is named for the variant {other} already; template arguments tell two kernels of one "
        "template apart, as in tiled<32, 0> and tiled<32, 1>"
    ),
    "template_arguments": N_(
        "{got} template arguments for the kernel {kernel}, which has {expected} template parameters"
    ),
    "no_parameter": N_("no such parameter of the lab: {role}; {allowed}"),
    "roles": N_("{got} roles for the kernel {kernel}, which has {expected} parameters"),
    "cannot_be": N_("the parameter {name} of the kernel {kernel} cannot be {role}"),
    "missing_roles": N_("no parameter is {roles}"),
    "no_path": N_("{path}: no such file or folder"),
    "not_cu": N_("{path}: not a .cu file; a CUDA program or a notebook (.ipynb) is expected"),
    "too_many_files": N_("{path}: {count} .cu files; at most {limit} are allowed"),
    "entries": N_("{path}: more than {limit} files and folders lie there"),
    "no_file": N_("no such file: {file}"),
    "several": N_("{path}: several .cu files ({files}) and none is called {lab}.cu; name the right one in {settings}"),
    "nothing": N_("nothing"),
    "none": N_("{path}: no .cu file; looked for {lab}.cu and {lab}/*.cu; there lies: {found}"),
    "no_cuda_suffix": N_(
        "{path}: no .cu file; {file} is a CUDA program, but nvcc compiles {suffix} files without CUDA: "
        "rename it to {lab}.cu"
    ),
    "no_cuda_suffixes": N_(
        "{path}: no .cu file; {files} are CUDA programs, but nvcc compiles {suffix} files without CUDA: "
        "change {suffix} to .cu in their names"
    ),
    "other_name": N_("{path}: no .cu file, but {file} holds CUDA code; if it is the program, rename it to {lab}.cu"),
    "outside": N_("{path}: lies outside the student's folder {folder}"),
}
