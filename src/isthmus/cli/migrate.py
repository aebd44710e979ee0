"""``isthmus migrate``: keep, bridge, convert or re-embed an old index of vectors under a new model.

Examples
--------
  isthmus migrate old.npy new.npy -o adapter/                       # row i of both is the same object
  isthmus migrate old.parquet new.parquet --id doc -o adapter/      # rows of the same id
  isthmus migrate old.npy new.npy --queries q_old.npy q_new.npy --judgements relevant.csv
  isthmus migrate lancedb://./db/docs --text body --embed my_model:embed --sample 2000 --dry-run
  isthmus migrate lancedb://./db/docs --text body --embed my_model:embed --apply convert -o run/
  isthmus migrate qdrant://db/docs --text body --embed my_model:embed --queries q.npy r.npy --apply progressive -o run
  isthmus migrate run/ --resume
  isthmus migrate run/ --rollback

Files written to FOLDER: adapter.npz (for isthmus.Adapter.load), matrix.npy (the matrix from new to old vectors, with
the offset as its last row; only for affine maps), recall.txt (the measurements) and, with --apply, manifest.json and
sample.npz, which a migration is resumed by.
Exit status 3: --gate was not reached, and nothing was written.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus._core.files import check_folder, fill_folder, show_path, write_whole
from isthmus.cli.arguments import add_column_options, add_output_options, parse_count
from isthmus.cli.console import Console
from isthmus.cli.inputs import load_pairs, pair_by_id, read_inputs
from isthmus.exceptions import InputError, warn

if TYPE_CHECKING:
    from isthmus.stores.store import Store
    from isthmus.stores.store_migration import Embedding, Manifest
    from isthmus.tasks.migration.result import Adapter

# With more features than this, fitting takes minutes.
MANY = 2000
FILES = "adapter.npz", "recall.txt", "matrix.npy"
# The exit status where the gate was not reached.
GATE_STATUS = 3
MEASURES = "recall@1", "recall@10", "ndcg@10"
STORES = """OLD is lancedb://FOLDER/TABLE, chroma://FOLDER/NAME, qdrant://FOLDER/NAME,
qdrant+http://HOST:PORT/NAME, postgresql://USER@HOST/DATABASE#TABLE, or a
.npy, .parquet or .faiss file. Its ids are in the column id, or in --id."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    stores = "vectors of the old model: a file, or a store (with --embed); for --resume and --rollback the FOLDER"
    add("old", metavar="OLD", help=stores)
    add("new", metavar="NEW", nargs="?", type=Path, help="file of vectors of the new model")
    known = "known pairs: two columns of ids (default: equal ids, or row by row)"
    add("--pairs", type=Path, metavar="FILE", help=known)
    add("-o", "--output", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    kinds = "kind of map: auto, ridge, procrustes, low_rank or kernel_ridge (default: auto)"
    add("--kind", default="auto", metavar="NAME", help=kinds)
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    asked = parser.add_argument_group("queries", "Real queries, to compare what can be done with the old index.")
    both = ".npy files of the same queries by the old model and by the new one"
    asked.add_argument("--queries", nargs=2, type=Path, metavar="FILE", help=both)
    relevant = "table of relevant rows: the number of a query (from 0) and the id of a row of OLD"
    asked.add_argument("--judgements", type=Path, metavar="FILE", help=relevant)
    asked.add_argument("--cost-per-1k", type=float, metavar="C", help="cost of embedding 1,000 rows")
    gate = f"a measure ({', '.join(MEASURES)}) and its least value; below it nothing is written"
    asked.add_argument("--gate", type=parse_gate, metavar="NAME=VALUE", help=gate)
    store = parser.add_argument_group("stores", STORES)
    store.add_argument("--vector", default="vector", metavar="COL", help="column of the vectors (default: vector)")
    model = "the new model: module:function (texts to vectors), a command (JSON lines), or FILE.npy (row by row)"
    store.add_argument("--embed", metavar="MODEL", help=model)
    store.add_argument("--sample", type=parse_count, default=2000, metavar="N", help="rows to embed (default: 2000)")
    store.add_argument("--dry-run", action="store_true", help="measure, say what would be done, and write nothing")
    todo = "bridge: write the adapter only; convert: map all vectors; reembed: embed all; progressive: some of either"
    store.add_argument("--apply", choices=("bridge", "convert", "progressive", "reembed"), help=todo)
    first = "with progressive: share of the rows to embed, those that --queries retrieve most (default: 0.25)"
    store.add_argument("--share", type=float, choices=(0.1, 0.25, 0.5), default=0.25, help=first)
    store.add_argument("--resume", action="store_true", help="go on with the migration in the FOLDER given as OLD")
    store.add_argument("--rollback", action="store_true", help="put back the index of the FOLDER given as OLD")
    add_column_options(parser, label=False)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> int:
    """Measure, print the figures, write the adapter, and migrate a store; return the exit status."""
    if options.output is not None:
        check_folder(options.output)
    if options.new is None:
        from isthmus.stores.store_migration import name_failures

        again = options.resume or options.rollback
        folder = Path(options.old) if again else options.output
        with name_failures(options.old, folder, "--rollback" if options.rollback else "--resume"):
            return _continue(options, screen) if again else _migrate_store(options, screen)
    if options.embed or options.apply or options.dry_run:
        raise InputError("--embed, --apply and --dry-run need a store; got a file NEW.")
    options.old = Path(options.old)
    old, new = read_inputs(options, (options.old, options.new), ("old", "new"), screen, scale=False)
    pairs: Any = load_pairs(options.pairs, old, new, screen)
    if pairs is None and options.id:
        pairs = pair_by_id(old, new, screen)
    if pairs is None and old.table.n_rows != new.table.n_rows:
        got = f"none, and {old.table.n_rows:,} and {new.table.n_rows:,} rows"
        raise InputError(f"--pairs: expected known pairs, or files whose rows are the same objects, got {got}.")
    if max(old.X.shape[1], new.X.shape[1]) > MANY:
        screen.say(f"With more than {MANY:,} features this takes minutes; reduce texts by `components` in --plan.")
    adapter = _learn(options, screen, old.X, new.X, "rows" if pairs is None else pairs, old.ids)
    passed = _finish(options, screen, adapter, "bridge")
    if passed and options.output is not None:
        screen.say(f"The adapter is in {options.output}.")
    facts = {"old": old.facts, "new": new.facts, "output": None if options.output is None else str(options.output)}
    screen.answer(facts | _adapter_facts(adapter))
    return 0 if passed else GATE_STATUS


def _learn(
    options: argparse.Namespace, screen: Console, old: Any, new: Any, pairs: Any, ids: Sequence[str]
) -> Adapter:
    from isthmus import migrate
    from isthmus.io.tables.plan import read_pairs
    from isthmus.io.tables.read import MATRIX, read_npy

    queries = judgements = None
    if options.queries is not None:
        queries = [read_npy(path, show_path(path)).matrix(MATRIX) for path in options.queries]
        if options.judgements is not None:
            judgements = read_pairs(options.judgements, [str(i) for i in range(len(queries[0]))], ids)
    elif options.judgements is not None:
        raise InputError("--judgements: expected --queries with it.")
    known: dict[str, Any] = {"queries": queries, "judgements": judgements}
    known |= {"kind": options.kind, "random_state": options.seed}
    return migrate(old, new, pairs, progress=screen.progress, **known)


def _finish(
    options: argparse.Namespace, screen: Console, adapter: Adapter, action: str, seconds: float | None = None
) -> bool:
    """Print the figures; where the action reaches the gate, write the adapter and return True."""
    lines = _describe(adapter, options.cost_per_1k, seconds)
    screen.say("", *lines)
    passed = _check_gate(options.gate, adapter, action, options.share, screen)
    if passed and options.output is not None and not options.dry_run:
        from isthmus.io.onnx import export_map

        with fill_folder(options.output, FILES) as folder:
            adapter.save(folder / "adapter.npz")
            write_whole(folder / "recall.txt", "\n".join([*lines, ""]).encode())
            if adapter.kind != "kernel_ridge":
                export_map(adapter, folder / "matrix.npy")
    return passed


def _adapter_facts(adapter: Adapter) -> dict[str, Any]:
    recall = adapter.recall
    return {
        "kind": adapter.kind,
        "pairs": adapter.n_pairs,
        "learned_from": list(recall.n_pairs),
        "recall_at_1": [float(row[0]) for row in recall.at_1],
        "recall_at_10": [float(row[0]) for row in recall.at_10],
        "action": adapter.advice.action,
        "advice": str(adapter.advice),
        "options": None if adapter.options is None else adapter.options.to_dict(),
    }


def _describe(adapter: Adapter, cost: float | None, seconds: float | None) -> list[str]:
    """Return the advice, the options, the learning curve and the controls, for the screen and ``recall.txt``."""
    recall = adapter.recall
    options = [] if adapter.options is None else ["Options:", *adapter.options.lines(cost, seconds)]
    curve = [f"    {n:,}: {figures}" for n, figures in zip(recall.n_pairs, recall.figures, strict=True)]
    controls = [f"    {name}: {figures}" for name, figures in recall.controls.items()]
    cuts = ", ".join(f"{cut} → {adapter.threshold(cut):.2f}" for cut in (0.5, 0.7, 0.8, 0.9))
    head = [repr(adapter).strip("<>"), str(recall), adapter.sentence, *options]
    tail = ["Controls:", *controls, f"Thresholds of the old model for adapted queries: {cuts}"]
    return [*head, "By the number of pairs learned from:", *curve, *tail]


def parse_gate(text: str) -> tuple[str, float]:
    """Return the measure of --gate and the share that it has to reach."""
    found = re.fullmatch(r"(recall@1|recall@10|ndcg@10)=(0?\.\d+|0|1(?:\.0*)?)", text)
    if found is None:
        expected = f"one of {', '.join(MEASURES)} and a value from 0 to 1, such as recall@10=0.9"
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r:.60}")
    return found[1], float(found[2])


def _check_gate(gate: tuple[str, float] | None, adapter: Adapter, action: str, share: float, screen: Console) -> bool:
    """Return whether the action reaches the gate, on queries where there are any, else on held-out rows."""
    if gate is None:
        return True
    name, least = gate
    if adapter.options is not None and name != "recall@1":
        option = adapter.options.find(action, share)
        value = (option.recall if name == "recall@10" else option.ndcg).value
    elif name == "ndcg@10":
        raise InputError("--gate: ndcg@10 needs --queries.")
    elif action == "re-embed":
        raise InputError("--gate: reembed is measured by recall@10 or ndcg@10 on --queries.")
    else:
        last = adapter.recall.last
        value = (last.at_1 if name == "recall@1" else last.at_10).value
    passed = value >= least
    screen.say(f"Gate {name} of {action}: {value:.3f}, {'reached' if passed else 'not reached'} ({least:g}).")
    return passed


def _migrate_store(options: argparse.Namespace, screen: Console) -> int:
    from isthmus.io.tables.read import MATRIX, read_npy
    from isthmus.stores.store import Columns, open_store
    from isthmus.stores.store_migration import Embedding, choose_rows, plan_migration, sample_store
    from isthmus.tasks.migration.options import BRIDGE, CONVERT, PROGRESSIVE, REEMBED

    if options.embed is None:
        raise InputError("migrate: expected a file NEW, or a store and --embed.")
    if options.apply and options.output is None:
        raise InputError("--apply: expected -o FOLDER for the adapter and the manifest.")
    if options.apply and Path(options.output, "manifest.json").exists():
        got = f"another migration, which is what --resume {options.output} or --rollback is for"
        raise InputError(f"{show_path(options.output)}: expected a folder without a manifest, got {got}.")
    if options.apply == "progressive" and options.queries is None:
        raise InputError("--apply progressive: expected --queries, whose rows are embedded first, got none.")
    columns = Columns(options.vector, next(iter(options.id), "id"), next(iter(options.text), None))
    store = open_store(options.old, columns)
    embedding = Embedding.of(options.embed, store.n)
    screen.say(f"{options.old}: {store.n:,} vectors of {store.dimension} columns")
    if store.warning:
        warn(f"{options.old}: {store.warning}", UserWarning)
    with screen.bar("migrate") as bar:
        sample = sample_store(store, embedding, options.sample, _read_judged(options), options.seed, bar)
    adapter = _learn(options, screen, sample.old, sample.new, sample.pairs, sample.ids)
    action = {"convert": CONVERT, "reembed": REEMBED, "progressive": PROGRESSIVE}.get(options.apply, BRIDGE)
    passed = _finish(options, screen, adapter, action, 1000.0 * embedding.seconds[-1] if embedding.seconds else None)
    facts: dict[str, Any] = {"store": options.old, "rows": store.n, **_adapter_facts(adapter), "gate": passed}
    if options.apply and passed:
        vectors = sample.expect(options.apply, options.share, adapter.to_new)
        manifest = plan_migration(options.old, columns, store, options.apply, options.embed, sample, vectors)
        did = "would be written beside and swapped" if action != "bridge" else "would be stamped"
        if options.dry_run:
            screen.say(f"Dry run of {options.apply}: {store.n:,} rows {did}; nothing was written.")
        else:
            first: Any = ()
            if action == PROGRESSIVE:
                queries = read_npy(options.queries[0], show_path(options.queries[0])).matrix(MATRIX)
                with screen.bar("migrate") as bar:
                    first = choose_rows(store, queries, options.share, options.seed, bar)
            sample.save(options.output, first)
            model = embedding if action in (REEMBED, PROGRESSIVE) else None
            _run(manifest, options.output, adapter, model, screen, store)
        facts["manifest"] = {"run": manifest.run, "state": manifest.state}
    screen.answer(facts)
    return 0 if passed else GATE_STATUS


def _read_judged(options: argparse.Namespace) -> list[str]:
    """Return the ids of the judged rows: they have to be embedded too."""
    if options.judgements is None:
        return []
    from isthmus.io.tables.read import read_table

    table = read_table(options.judgements)
    return [str(cell) for cell in table.column(table.names[1]).to_list()] + [table.names[1]]


def _run(
    manifest: Manifest, folder: Path, adapter: Adapter, embedding: Embedding | None, screen: Console, store: Store
) -> None:
    """Migrate the store: by the new model, or by the adapter where there is none."""
    from isthmus.stores.store_migration import SOME, map_vectors, mix_vectors, run_migration

    make = map_vectors(adapter.to_new) if embedding is None else partial(embedding, store)
    if embedding is not None and manifest.action == SOME:
        make = mix_vectors(adapter.to_new, embedding, store, folder)
    with screen.bar("migrate") as bar:
        run_migration(manifest, folder, make, bar, store)
    restore = f"isthmus migrate {folder} --rollback"
    screen.say(f"{manifest.store}: {manifest.action} is done and verified; to undo it: {restore}")
    if "recall@10" in manifest.after:
        n, recall = manifest.after["recall_queries"], manifest.after["recall@10"]
        screen.say(f"recall@10 of the new vectors, by {n} rows that the map was learned from: {recall:.3f}")


def _continue(options: argparse.Namespace, screen: Console) -> int:
    """Go on with a migration, or undo it."""
    from isthmus import Adapter
    from isthmus.stores.store_migration import SOME, Embedding, Manifest, roll_back

    folder = Path(options.old)
    if options.rollback:
        manifest = roll_back(folder)
        screen.say(f"{manifest.store}: the old index is back.")
    else:
        manifest = Manifest.load(folder)
        adapter, store = Adapter.load(folder / "adapter.npz"), manifest.open()
        embedding = Embedding.of(manifest.embed, store.n) if manifest.action in ("reembed", SOME) else None
        _run(manifest, folder, adapter, embedding, screen, store)
    names = "run", "state", "action", "restore"
    screen.answer({name: getattr(manifest, name) for name in names})
    return 0
