"""``python -m benchmarks``: measure, print the table and the bars; exit status 1 if a bar is not cleared."""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks import threads

SECTIONS = (
    "solvers",
    "itml",
    "paired",
    "projections",
    "systems",
    "span",
    "transform",
    "imports",
    "matching",
    "migration",
    "labels",
    "index",
    "rows",
    "streaming",
    "cluster",
    "blas",
)


def main() -> int:
    """Run what the command line asks for."""
    args = _arguments()
    threads.pin()
    from benchmarks import (
        blas,
        cluster,
        environment,
        imports,
        index,
        itml_single,
        labels,
        machine,
        many_rows,
        matching,
        migration,
        paired,
        projections,
        report,
        solvers,
        span,
        streaming,
        systems,
        transform,
    )
    from benchmarks.record import Options, Record, Verdict

    runs = {
        "solvers": solvers.run,
        "itml": itml_single.run,
        "paired": paired.run,
        "projections": projections.run,
        "systems": systems.run,
        "span": span.run,
        "transform": transform.run,
        "matching": matching.run,
        "imports": imports.run,
        "migration": migration.run,
        "labels": labels.run,
        "index": index.run,
        "rows": many_rows.run,
        "streaming": streaming.run,
        "cluster": cluster.run,
        "blas": blas.run,
    }
    record, options, problem = Record(), Options(budget=args.budget, repeats=args.repeats), ""
    load = machine.load()
    try:
        for section in args.only:
            runs[section](record, options, lambda what: print(f"… {what}", file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        problem = "Interrupted; above is what was measured until then."
    except (environment.EnvironmentBuildError, subprocess.CalledProcessError) as error:
        problem = f"Stopped: {error}"
    facts = {**machine.description(), "load average": machine.load_description(load, machine.load())}
    print(report.text(record, facts))
    if problem:
        print(f"\n{problem}", file=sys.stderr)
        return 130 if problem.startswith("Interrupted") else 2
    if args.write:
        report.PATH.write_text(report.format_for_file(record, facts), encoding="utf-8")
    return int(any(bar.verdict in (Verdict.FAIL, Verdict.OPEN) for bar in record.bars))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="what to measure (all)")
    parser.add_argument("--budget", type=float, default=120.0, help="processor seconds for a slow solver (120)")
    parser.add_argument("--repeats", type=int, default=9, help="runs behind each median (9)")
    parser.add_argument("--write", action="store_true", help="also write benchmarks/RESULTS.md")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before the first measurement, or a second time
        print("\nInterrupted.", file=sys.stderr)
        sys.exit(130)
