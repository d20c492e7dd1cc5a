#!/usr/bin/env python3
"""Generates Rust, SystemVerilog, Python and Markdown from layout/layout.toml.

exit status: 0 all is well, 1 --check found stale files, 2 the layout was rejected

example: edit layout/layout.toml, then
  python3 layout/generate.py           write the generated files
  python3 layout/generate.py --check   name the files that are not what it would write
"""

import argparse
import sys
from pathlib import Path

import emit_markdown
import emit_python
import emit_rust
import emit_rust_test
import emit_sv
import schema
import soundness
from records import Invalid

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "layout" / "layout.toml"
EMITTERS = {
    "crates/layout/src/lib.rs": emit_rust.emit,
    "crates/layout/tests/names/mod.rs": emit_rust_test.emit,
    "rtl/layout_pkg.sv": emit_sv.emit,
    "python/honeycomb_layout.py": emit_python.emit,
    "docs/design/layout.md": emit_markdown.emit,
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    options = _options(arguments)
    try:
        texts = generate(options.source.read_text(encoding="utf-8"))
    except (Invalid, OSError, UnicodeDecodeError) as error:
        print(f"{options.source}: {error}", file=sys.stderr)
        return 2
    return _check(options.root, texts) if options.check else _write(options.root, texts)


def generate(source: str) -> dict[str, str]:
    """Returns the generated files by path, relative to the root of the repository. Raises `Invalid`."""
    layout = schema.read(source)
    soundness.check(layout)
    return {path: emit(layout) for path, emit in EMITTERS.items()}


def stale(root: Path, texts: dict[str, str]) -> list[str]:
    """Returns the paths below `root` whose files differ from the generated text."""
    return [path for path, text in texts.items() if _read(root / path) != text]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    about, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; name stale files and exit 1")
    parser.add_argument("--source", type=Path, default=SOURCE, help="the layout to read")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository to write to or check")
    return parser.parse_args(arguments)


def _check(root: Path, texts: dict[str, str]) -> int:
    paths = stale(root, texts)
    for path in paths:
        print(f"{path}: stale; run python3 layout/generate.py", file=sys.stderr)
    return 1 if paths else 0


def _write(root: Path, texts: dict[str, str]) -> int:
    for path in stale(root, texts):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(texts[path], encoding="utf-8", newline="\n")
        print(f"wrote {path}")
    return 0


def _read(path: Path) -> str | None:
    return path.read_bytes().decode(errors="replace") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
