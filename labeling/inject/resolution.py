"""To be written."""

from labeling.inject.draft import Family

FAMILIES: tuple[Family, ...] = ()
