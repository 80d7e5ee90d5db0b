"""What is wrong with a YAML file, and what is allowed there."""

from __future__ import annotations

from grader.i18n import _
from grader.words.texts import N_, Texts


def either(choices: list[str]) -> str:
    """One of some things."""
    return _(" or ").join(choices)


TEXTS: Texts = {
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
