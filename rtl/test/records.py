"""The packed structs of the packages for Python. Their fields come from the SystemVerilog sources."""

from functools import cache
from pathlib import Path

from pyslang.driver import Driver

RTL = Path(__file__).resolve().parents[1]
PACKAGES = ("accelerator_pkg", "axi_pkg", "search_pkg", "scan_pkg", "layout_pkg", "memory_pkg")


class Record:
    """A packed struct: its width and the positions of its fields. A nested struct is a number; unpack it
    with its own record."""

    def __init__(self, name: str, width: int, fields: dict[str, tuple[int, int]]):
        self.name, self.width, self.fields = name, width, fields

    def pack(self, **values: int) -> int:
        """Returns the bits of a struct with the given fields. All other fields are zero."""
        word = 0
        for name, value in values.items():
            shift, width = self.fields[name]
            assert 0 <= value < 1 << width, f"{self.name}.{name} has {width} bits, too few for {value}"
            word |= int(value) << shift
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Returns the fields by name."""
        return {name: word >> shift & (1 << width) - 1 for name, (shift, width) in self.fields.items()}


@cache
def record(name: str) -> Record:
    """Returns the struct with this name in the given package (`memory_pkg::burst_t`), or in any package."""
    *named, name = name.split("::")
    for package in named or PACKAGES:
        found = compilation().getPackage(package).find(name)
        if found is not None:
            kind = found.canonicalType
            fields = {field.name: (field.bitOffset, field.type.bitWidth) for field in kind}
            return Record(name, kind.bitWidth, fields)
    raise KeyError(f"no package has a type {name}")


@cache
def compilation():
    """Returns the packages, elaborated by slang."""
    driver = Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(f"slang -F {RTL / 'files.f'}") and driver.processOptions()
    assert driver.parseAllSources()
    return driver.createCompilation()
