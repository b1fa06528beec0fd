"""Maps the top-level folders to sub-packages of `dialint`: the folder ``app`` is imported as ``dialint.app``.

All else about the package is in ``pyproject.toml``. A new folder with an ``__init__.py`` is found by itself.
"""

from setuptools import find_packages, setup

ROOMS = ("app", "detector", "eval", "finetune", "labeling")
FOUND = find_packages(include=[f"{room}*" for room in ROOMS])

setup(
    packages=["dialint", *(f"dialint.{package}" for package in FOUND)],
    package_dir={"dialint": "dialint", **{f"dialint.{room}": room for room in ROOMS}},
)
