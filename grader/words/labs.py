"""What is said of what people wrote: labs and their oracles, courses, rosters, `submission.yaml`, files handed in."""

from __future__ import annotations

from grader.i18n import _
from grader.words import N_, Plural, Texts


def at(where: str, what: str) -> str:
    """A file, with a line where there is one, and what is wrong there."""
    return f"{where}: {what}"


ERRORS: Texts = {
    "at": at,
    # What Linux calls its errors, by their symbols.
    "eacces": N_("Permission denied"),
    "eaddrinuse": N_("Address already in use"),
    "edquot": N_("Disk quota exceeded"),
    "eexist": N_("File exists"),
    "eisdir": N_("Is a directory"),
    "eloop": N_("Too many levels of symbolic links"),
    "emfile": N_("Too many open files"),
    "enametoolong": N_("File name too long"),
    "enoent": N_("No such file or directory"),
    "enomem": N_("Cannot allocate memory"),
    "enospc": N_("No space left on device"),
    "enotdir": N_("Not a directory"),
    "eperm": N_("Operation not permitted"),
    "erofs": N_("Read-only file system"),
}


def either(choices: list[str]) -> str:
    """One of some things."""
    return _(" or ").join(choices)


YAML: Texts = {
    "either": either,
    "allowed": N_("allowed: {names}"),
    "missing_key": N_("missing key `{name}`; {allowed}"),
    "unknown_key": N_("unknown key; {allowed}"),
    "kind": N_("must be {kind} (got {value})"),
    "at_least": N_("{kind} of at least {limit}"),
    "at_most": N_("{kind} of at most {limit}"),
    "more_than": N_("{kind} greater than {limit}"),
    "less_than": N_("{kind} less than {limit}"),
    "at_least_long": N_("{kind} of length {limit} or more"),
    "at_most_long": N_("{kind} of length {limit} or less"),
    "unknown_value": N_("{value} is not known here; {allowed}"),
    "fault": N_("{fault} (got {value})"),
    "keys": N_("keys with values"),
    "list": N_("a list"),
    "text": N_("text"),
    "whole_number": N_("a whole number"),
    "number": N_("a number"),
    "boolean": N_("true or false"),
    "nothing": N_("nothing"),
    "not_plain": N_("is not a plain file"),
    "large": N_("{size} bytes; at most {limit} are allowed"),
    "unreadable": N_("cannot be read: {reason}"),
    "not_utf8": N_("not UTF-8 text"),
    "tab": N_("the line is indented with a tab; YAML takes spaces only"),
    "not_yaml": N_("not YAML: {problem}"),
    "alias": N_("anchors and aliases (&, *) are not allowed"),
    "deep": N_("nested more than {most} levels deep"),
    "key_text": N_("keys must be plain text"),
    "twice": N_("{key}: the key is there twice, first in line {line}"),
    "tag": N_("the tag {tag} is not allowed"),
    "long_number": N_("a number of {count} characters; at most {limit} are allowed"),
    "did_you_mean": N_("did you mean {near}?"),
}


LABS: Texts = {
    "no_parameter": N_("no parameter of kind {kind}"),
    "missing_key": N_("missing key `{backend}`"),
    "unknown_type": N_("unknown type {dtype!r}; {allowed}"),
    "size_shape": N_("a size has no shape"),
    "missing_shape": N_("missing key `shape`: an array needs the sizes of its axes, slowest first"),
    "extent": N_("an extent must be at least 1 (got {got})"),
    "only_size": N_("only a size has this key"),
    "only_input": N_("is for an input only"),
    "only_gpu": N_("only a GPU runs large sizes"),
    "no_timed_size": N_("at least one size must be timed"),
    "tolerance": N_("a tolerance must not be negative (got {got!r})"),
    "formula": N_("{text!r} is not a formula; allowed: {names}"),
    "unknown_name": N_("unknown name {name!r} in the formula; {allowed}"),
    "range": N_("{got}: a number, or the smallest and the largest: [1, 4000]"),
    "missing_size": N_("missing size `{name}`"),
    "size": N_("a size must be at least 1 (got {got})"),
    "unknown_name_here": N_("unknown name {name!r}; {allowed}"),
    "pattern": N_("not a regular expression: {error} in {pattern!r}"),
    "no_file": N_("no such file: {path}"),
    "block": N_("a block is one to three numbers or formulas, x first (got {got})"),
    "tile": N_("a tile has a number for each of `covers` (got {got})"),
    "variant_name": N_("a variant's name is lower-case letters, digits and _"),
    "no_kernel": N_("{file} has no kernel {kernel!r}"),
    "tile_numbers": N_("a tile is one to three positive numbers, x first"),
    "multiple": N_("a multiple is at least 1 (got {got})"),
    "unknown_check": N_("unknown check; {allowed}"),
    "check_of_others": N_("a check of labs with another `interface` ({interfaces}); {allowed}"),
    "below_best": N_("1 is the best that there is (got {got:g}): a threshold has to be 1 or more"),
    "speed_untimed": N_("speed is asked for, but nothing is timed: the lab has no `timing`"),
    "speed_against": N_(
        "either `against` (whose reference is compared with: {allowed}) or `own: true` (the student's own kernel of "
        "the first variant), one of the two"
    ),
    "speed_own": N_("`own` compares with the student's own kernel of {first}: only for other variants, and kernels"),
    "speed_scale": N_("one of `full`, `time` and `classes` has to say how points follow from the speed"),
    "speed_order": N_("these have to be positive and ascending (got {least:g} and {most:g})"),
    "speed_class": N_("a class has a `share`, above 0 and at most 1, and one of `speedup` and `time`, above 0"),
    "speed_classes": N_("a faster class has to earn a larger share of the points, each at another speed"),
    "no_function_name": N_("must be the name of a function of the oracle (got {got!r})"),
    "shown": N_("must say to whom the test is shown (got {got!r}); allowed: {allowed}"),
    "tests_in_repository": N_(
        "{lab}: students are not shown these tests, but could read them in the repository: {tests}. Give them a copy "
        "of the lab without these, or use a service that keeps the lab to itself (gradescope, moodle; got {service})"
    ),
    "points": N_("points must be a number from 0 to {total_points:g} (got {points})"),
    "asks_nothing": N_("the check asks for nothing: give at least one of {names}"),
    "must_and_must_not": N_("{name} stands in both must and must_not"),
    "of_runtime": N_("{name} cannot be asked of labs for kernels, whose launches the grader makes"),
    "share": N_("a share is a number from 0 to 1 (got {got:g})"),
    "slack": N_("slack is a factor of at least 1 (got {got:g})"),
    "lanes": N_("a warp's lanes at one address are a number from 1 to {most} (got {got})"),
    "negative": N_("a limit is a number from 0 on (got {got:g})"),
    "no_value": N_("the formula has no value at one of the lab's sizes (got {text!r})"),
    "grows_nowhere": N_(
        "the formula has to have different values at the exact sizes, or nothing can grow (got {text!r})"
    ),
    "no_variant": N_("a lab needs at least one variant"),
    "points_total": N_("the points of all checks add up to {total:g}, not {total_points:g} ({by_variant})"),
    "block_numbers": N_("a block is one to three positive numbers, x first (got {got})"),
    "block_threads": N_("a block has at most 1024 threads (got {got})"),
    "sweep_name": N_("a sweep's name is lower-case letters, digits and _"),
    "lines_and_memory": N_("a sweep has `lines` or `host_memory`, not both"),
    "x_twice": N_("`x` has the name {name!r} too"),
    "swept_name": N_("a name for formulas, and none of a size that it does not set (got {got!r})"),
    "changes_nothing": N_("changes nothing; one of `sizes`, `block`, `constants`, `unroll` is needed"),
    "block_formulas": N_("a block is one to three formulas, x first (got {got})"),
    "values": N_("one to {most} values (got {got})"),
    "ascending": N_("values must ascend"),
    "values_range": N_("values are from 1 to {most}"),
    "no_metric": N_("at least one metric is needed"),
    "unknown_metric": N_("unknown metric {name!r}; {allowed}"),
    "needs_timing": N_("{name} needs the lab's `timing`"),
    "not_for_memory": N_("{name} is not for sweeps over kinds of host memory"),
    "only_for_memory": N_("{name} is only for sweeps over kinds of host memory"),
    "only_interface": N_("is for labs with `interface: {interface}` only"),
    "only_kind": N_("is for a parameter of kind {kind} only"),
    "missing_values": N_("missing key `values`: a scalar needs the numbers that it is called with"),
    "reference": N_("not a reference of this lab's interface (got {got}); allowed: {allowed}"),
    "signature": N_(
        "not a signature that can be read (got {got!r}); allowed: a C++ function as in "
        "`void solve(const float *in, float *out, int n)`, every parameter with a name, of the types {types}"
    ),
    "signature_of_harness": N_("several functions, or a kernel, need a `harness` of the lab's own that calls them"),
    "signature_form": N_(
        "not a signature that can be read (got {got!r}); allowed: a C++ function as in "
        "`void solve(const float *in, float *out, int n)`, every parameter with a name"
    ),
    "needs_file": N_("says something of a file, and `file` names none"),
    "only_stdout": N_("is for `file: stdout` only"),
    "file_name": N_(
        "not a name of a file (got {got!r}); allowed: letters, digits, `_`, `-` and dots, in folders parted by /"
    ),
    "file_format": N_("not a format for this file (got {got!r}); {allowed}"),
    "no_header": N_("a file of format {format} has no header of the lab's; allowed: bin, text, csv"),
    "picture": N_("a {format} file cannot hold this array (got {got}); allowed: {allowed}"),
    "not_handed": N_(
        "{name!r} is an array that no file holds; numbers of an input can stand in `stdin`; else give it a `file`"
    ),
    "never_handed": N_("no argument, file or `stdin` brings it to the program; write {place} where it belongs"),
    "no_output_file": N_("missing key `file`: where the program leaves it; a file's name, {stdout} or {copied}"),
    "file_twice": N_("{file} is the file of {name!r} as well"),
    "signature_returns": N_(
        "the function must return nothing (got {got}); allowed: void, or a `harness` of the lab's own that takes what "
        "is returned"
    ),
    "signature_lacks": N_("the signature must have this parameter once (got {signature}); name: {name}"),
    "signature_type": N_(
        "the signature has {got} for this parameter of kind {kind}; allowed: {wanted}, where T is one of {types}"
    ),
    "signature_lanes": N_(
        "an element of {type} has {lanes} numbers, and these are an axis of their own; got {got}; allowed: a shape "
        "whose last extent is {lanes}"
    ),
    "signature_size": N_("the signature has {got} for a size; allowed: a type of whole numbers"),
    "signature_dtype": N_("the signature says another type (got {got}); allowed: {allowed}, or leave the key out"),
    "signature_number": N_("{got} is no {dtype}"),
    "no_folder": N_("--labs {directory}: no such folder"),
    "unknown_lab": N_("unknown lab {lab!r}; {allowed}"),
    "harness_calls": N_("{name}() is called nowhere: a harness asks by it for each call"),
    "harness_asks": N_("no parameter of the lab is called {name!r}; {allowed}"),
    "harness_type": N_("{name!r} is handed over as {wanted} (got {got!r}); `dtype` in lab.yaml can say another"),
    "harness_lacks": N_("the lab's parameter {name!r} is asked for nowhere"),
    "own_file": N_("the lab's own file is not accepted by the compiler: {what}"),
    "new_signature": N_(
        "no lab can be made of this signature (got {got!r}); allowed: a void function with a pointer to what it "
        "writes, and a whole number for the size, every parameter with a name, of the types {types}. Whatever else is "
        "asked for, such as a struct that is returned, needs a `harness` of the lab's own (docs/labs.md)"
    ),
    "new_of_function": N_("{option} is for --interface function only"),
    "new_program_from": N_("a lab of a whole program is proposed from one: give --from with a solution"),
    "new_not_with_from": N_("{option} is not for --from: the solution says it"),
    "new_name": N_(
        "{name}: a lab's name is lower-case letters and digits, in words joined by hyphens, at most {limit} "
        "characters: row-sums"
    ),
    "new_exists": N_("a lab or a folder of that name exists: {path}; choose another name"),
    "cannot_write": N_("{path}: {reason}"),
    "new_made": N_("The lab is in {folder}; it is ready to be graded:"),
}


ORACLE: Texts = {
    "masked": N_("the oracle leaves elements of `{name}` open; only labs of functions and programs can"),
    "missing": N_("`{function}` does not give `{name}`; got: {got}"),
    "no_arrays": N_("`{function}` returns {got}; allowed: a dictionary of arrays by their names in lab.yaml"),
    "shape": N_("`{name}` has shape {got}, the lab says {shape}"),
    "failed": N_("the oracle failed at {sizes}: {kind}: {error}"),
    "no_python": N_("is not a Python file"),
    "no_function": N_("has no function `{name}`"),
    "without_effect": N_(
        "`expected` gives the same whatever stands in `{name}` ({kind}), and so no solution need use it: "
        "say there what hangs on it"
    ),
}


COURSE: Texts = {
    "no_time": N_("{text}: not a time; write 2026-09-05 18:14"),
    "no_zone": N_("{zone}: not a time zone; write Europe/Moscow"),
    "no_check": N_("{check}: no such check in this lab; allowed: {allowed}"),
    "too_many": N_("{got} points; at most {most}"),
    "file_gone": N_(
        "{file}: the decisions that hold for {folder} stood there; put the file back, or into that folder "
        "(an empty one for none)"
    ),
    "file_unknown": N_(
        "{student}: what was decided stood in {file}, and {folder} no longer tells where that is; put the file into "
        "that folder (an empty one for none)"
    ),
    "two_files": N_("there are {one} and {other}; keep one of them"),
    "asks_time": N_("It is not known when work was handed in by {students}. Write it into the roster or {file}."),
    "no_days": N_("{text}: not a number of days"),
    "roster_kind": N_("{path}: a roster is a .csv or .xlsx file"),
    "roster_unread": N_("{path}: cannot be read: {reason}"),
    "no_value": N_(
        "the value of the formula in cell {cell} is not stored; open the file in a spreadsheet program and save it"
    ),
    "error_value": N_("cell {cell} holds the error {value}"),
    "open_quotes": N_("a quotation mark without the one that closes the cell"),
    "roster_columns": N_("{path}: no column identifies a student; name one id, name, e-mail or number"),
    "roster_line": N_("{path}, line {line}: {what}"),
    "roster_twice": N_("{path}, line {line}: {student} is listed twice"),
    "not_in_roster": N_("{student}: not in the roster"),
    "one_line_for_many": N_("{students}: any of them may be {listed} in the roster, so none is taken to be"),
    "decided_twice": N_("{first} and {second} are one student: write what is decided under one of the two names"),
    "not_applied": N_("{file}: what is decided of {students} has no effect, as there is no result to decide about"),
    "unknown_student": N_("{file} speaks of {student}, but nobody here goes by that name"),
    "unknown_student_like": N_("{file} speaks of {student}, but nobody here goes by that name; is it {like}?"),
    "unknown_lab": N_("{file} speaks of the lab {lab}, which is unknown; known labs: {known}"),
}


SUBMISSION: Texts = {
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


INTAKE: Texts = {
    "too_much": N_("{name}: the archive is larger than allowed"),
    "broken": N_("{name}: cannot be unpacked: {reason}"),
    "link": N_("{name}: a link, skipped"),
    "encrypted": N_("{name}: needs a password, skipped"),
    "outside": N_("{name}: leads out of its folder, skipped"),
    "large": N_("{name}: larger than {limit} MiB, skipped"),
    "unread": N_("{name}: archives of this kind are not read; zip and tar are"),
    "no_archive": N_("{path}: {reason}"),
    "renamed": N_("{name}: read as {meant}"),
    "doubled": N_("{name}: the archive holds two files of this name; the later one counts"),
    "name_taken": N_("{name}: another file or folder has this name, skipped"),
    "nobodys": N_("{name}: lies in no student's folder, skipped"),
    "nobody": N_("{path}: no submissions in it"),
    "problem": N_("{student}: {what}"),
    "twice": N_("submitted several times ({archives}), and it is not known which was last: name only one archive"),
    "earlier": N_("{student}: submitted several times; the last one counts, from {archive}"),
    "nothing": N_("nothing was submitted"),
}


SELFTEST: Texts = {
    "no_folder": N_("no such folder: {path}"),
    "no_table": N_("no kernel has a verdict yet: `grade selftest {lab} --record` grades them and writes what they get"),
    "no_verdict": N_(
        "{name} is in the folder, but has no verdict here: `grade selftest {lab} --record` writes what it gets now"
    ),
    "no_kernel": N_("no such kernel: {path}"),
    "unknown_variant": N_("unknown variant {variant!r}; {allowed}"),
    "unknown_check": N_("unknown check {check!r}; {allowed}"),
    "good_and_bad": N_("a bad kernel fails something, a good one nothing"),
    "failed": N_("the grader failed: {reason}"),
    "binding": N_("found as {got} instead of {expected}"),
    "nothing": N_("nothing"),
    "fails": N_("{check} fails: {message}"),
    "why": N_("{check}: {message}"),
    "passes": N_("{check} does not fail"),
    "line": N_("{check} fails at line {got} instead of {expected}"),
    "lab_without": N_("{lab}: the lab file sets no `selftest` folder of kernels"),
    "kernel": N_("Kernel"),
    "must_fail": N_("Must fail"),
    "verdict": N_("Verdict"),
    "count": Plural(
        "{n} of {total} kernels got the expected verdict.", "{n} of {total} kernels got the expected verdict."
    ),
    "place": N_("{check} (line {line})"),
    "recorded": N_("recorded: {row}"),
    "not_recorded": N_("{name}: no verdict recorded: {why}"),
    "uncaught": N_("{name}: wrong, but the lab does not catch it"),
    "would": N_("{name}: not caught; in {variant} `{setting}` would catch it"),
    "would_at": N_("{name}: not caught; in {variant} `{setting}` with the ragged size {sizes} would catch it"),
    "nothing_would": N_("{name}: not caught, and no check would: it may be right, or the inputs do not show it"),
}


PROPOSING: Texts = {
    "no_kernel": N_("no kernel with a body in it: a lab is proposed from a whole solution"),
    "nothing_launched": N_(
        "the program was run, and launched no kernel: {why}; of one that takes files or arguments "
        "`--interface program` proposes a lab, and `--run` says how it is started"
    ),
    "no_main": N_("there is no `main` in it: a lab of a whole program is proposed from one"),
    "not_started": N_(
        "the program launched no kernel with any of the numbers and files that were tried; say how it is started: "
        "--run '-n 1000 -i in.txt out.txt', with whole numbers and any names for the files"
    ),
    "takes_nothing": N_(
        "the program takes no number and reads nothing, so that it has one size only: make its sizes arguments"
    ),
    "unknown_format": N_(
        "the program reads {names}, and copies none of the numbers to the device that were written there as text, "
        "table, picture or binary: a lab of it is written by hand, with `interface: program`"
    ),
    "chain": N_(
        "the kernels {kernels} hand arrays on to each other in `main`: put their launches into a function "
        "`void {name}(const float *in, float *out, int n)` that `main` calls, and a lab of that function is proposed"
    ),
    "no_candidate": N_(
        "neither a function of numbers and arrays that launches kernels nor such a kernel that `main` launches; "
        "allowed are arrays and numbers of {types}"
    ),
    "not_called": N_("{function} could not be called with arrays of the grader's: {why}"),
    "why_not_returned": N_("it did not come back"),
    "why_faulted": N_("a kernel was not run to its end"),
    "why_nothing_written": N_("nothing was written to its arrays"),
    "parameter": N_("{name}: {kind} {shape}, as it was touched"),
    "made_const": N_("{names} of {function}: never written to, so that the lab's file says const"),
    "relation": N_("{name} = {text}, as the solution gave it at {calls} calls"),
    "no_relation": N_("what comes out in {name} could not be told: write `expected` in {path}"),
    "fill_in": N_("{path}:{line}: {text}"),
    "then": N_("Look for FILL IN in {folder}; then go on with:"),
    "with_main": N_("the size of {names} is a constant of the file: make it a parameter of the kernel"),
    "made_parameters": N_("{names}: constants of the file that arrays are as large as, made parameters of the kernels"),
}


CALIBRATE: Texts = {
    "which_lab": N_("grade calibrate LAB: name a lab, or --device and a file; {allowed}"),
    "no_gpu": N_("grade calibrate needs an NVIDIA GPU; see grade doctor"),
    "no_speed_check": N_("{lab}: the lab has no speedup check or no sizes to time at"),
    "refused": N_("grade calibrate: {reason}; see grade doctor"),
    "file_name": N_("grade calibrate --device {file}: the file's name has to end in {ending}"),
    "unknown_architecture": N_(
        "grade calibrate --device: no GPU of the architecture {architecture} is known, and not all can be measured"
    ),
    "throttled": N_("grade calibrate --device: the GPU ran below its usual clock all the time; try again"),
    "launch_bound": N_("{lab}: the kernels of {variant} take hardly longer than an empty launch"),
    "sound": N_("sound"),
    "in_noise": N_("within the noise"),
    "out_of_reach": N_("the reference kernel itself does not reach it"),
    "too_close": N_("minimum and full are closer together than the noise"),
}

AREAS: dict[str, Texts] = {
    "errors": ERRORS,
    "yaml": YAML,
    "labs": LABS,
    "oracle": ORACLE,
    "course": COURSE,
    "submission": SUBMISSION,
    "intake": INTAKE,
    "selftest": SELFTEST,
    "proposing": PROPOSING,
    "calibrate": CALIBRATE,
}
"""Texts by the first parts of their ids."""
