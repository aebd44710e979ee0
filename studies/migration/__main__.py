"""Run the study, or make its page from the records: ``python -m studies.migration run|maps|page``."""

from __future__ import annotations

import argparse
import json
import os
from itertools import product
from pathlib import Path

from studies.migration.trials import CHANGES, COLLECTIONS, PAIRS, run_maps, run_trial

RECORDS = Path(__file__).parent / "records.jsonl"
PAGE = Path("docs/migration-study.md")


def main() -> None:
    """Append the records of what is missing, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "maps", "page"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("TMPDIR", "/tmp")) / "migration-embeddings")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=list(PAIRS))
    parser.add_argument("--changes", type=lambda k: CHANGES[int(k)], nargs="+", default=list(CHANGES))
    options = parser.parse_args()
    if options.what == "page":
        from studies.migration.page import write_page

        PAGE.write_text(write_page(read_records(options.records)), encoding="utf-8")
        return
    done = {_key(record) for record in read_records(options.records)}
    run = run_maps if options.what == "maps" else run_trial
    for n_pairs, seed, name, (old, new) in product(options.pairs, options.seeds, COLLECTIONS, options.changes):
        if (options.what == "maps", name, old, new, n_pairs, seed) not in done:
            record = run(name, old, new, n_pairs, seed, options.data, options.cache)
            if record is not None:
                with options.records.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_records(path: Path) -> list[dict[str, object]]:
    """The records of a file; none where there is no file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def _key(record: dict[str, object]) -> tuple[object, ...]:
    return ("maps" in record, *(record[key] for key in ("collection", "old", "new", "pairs", "seed")))


if __name__ == "__main__":
    main()
