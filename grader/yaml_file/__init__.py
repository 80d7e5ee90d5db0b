"""YAML files whose errors name the line and the key: plain data, no aliases, no duplicate keys, no surprises."""

from grader.yaml_file.file import YamlFile, choose, shortened
from grader.yaml_file.reading import read
from grader.yaml_file.schema import KeyPath

__all__ = ["KeyPath", "YamlFile", "choose", "read", "shortened"]
