"""Tables and verdicts from records made by hand: right cells, three formats that agree, nothing out of thin air."""

import re
from dataclasses import replace

import numpy as np
import pytest
from small_tables import GROUPS, record, records_of, small

from isthmus.evidence.comparison import Difference
from isthmus.exceptions import InputError
from isthmus.study.board import HOLDS, LEVEL, OPEN, REVERSED, UNRUN, Claim, TextTable, make_claim_table
from studies.paper.artefacts import boards, sensitivity_artefacts, table_artefacts
from studies.paper.comparisons import (
    AGAINST_CORRUPTED,
    COMPARISONS,
    FAMILIES,
    ORDER,
    READINGS,
    agreed,
    sensitivity_claims,
    slopes,
    table_claims,
)
from studies.paper.entrants import PAPER
from studies.paper.experiment import EXPERIMENTS, PaperBoard
from studies.paper.formats import FORMATS, latex
from studies.paper.published import TABLE1, TABLE2
from studies.paper.tables import (
    control_table,
    grid_table,
    paper_table,
    published_means,
    settings_table,
    toy_table,
)

SEEDS = tuple(range(10))
TABLE = small("table1")
LEVELS = {name: 0.3 + 0.02 * k for k, name in enumerate(TABLE.columns)}


def steady(column, g, seed):
    """Levels that no seed moves: every difference has the same sign in every trial."""
    return LEVELS[column] + 0.01 * g + 0.001 * seed


def board_of(records, seeds=SEEDS, experiment=TABLE, variant="whole"):
    return PaperBoard(experiment, records, variant, seeds)


@pytest.fixture(scope="module")
def board():
    return board_of(records_of(TABLE, steady, SEEDS))


# --- the table as a value ---------------------------------------------------------------------------------------

AWKWARD = TextTable(
    "A & B: 50 % of #1_x",
    ("name of rows", "first column", "p"),
    (("a → b", "1.0±0.2†", "−0.5"), ("x_y {z} ~ ^ \\ $ #", "–", "<.001"), ("λ1 λ2 MMD²", "", "> 3"), ("mean", "2", "5")),
    ("Note: 95 % & more.",),
    footer=1,
)  # fmt: skip


def printed(table, form):
    return FORMATS[form][1](table)


def text_cells(table):
    """The body of the text, cut where the rule has its gaps."""
    lines = str(table).split("\n")
    rule = next(line for line in lines if re.fullmatch(r"-+(  -+)*", line))
    ends = [(m.start(), m.end()) for m in re.finditer("-+", rule)]
    first = lines.index(rule) + 1
    body = [line for line in lines[first : first + len(table.rows) + (table.footer > 0)] if line != rule]
    return [tuple(line[a:b].strip() for a, b in ends) for line in body]


def markdown_cells(table):
    lines = [line for line in table.markdown.split("\n") if line.startswith("|")]
    return [tuple(cell.strip().strip("*") for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines[2:]]


def latex_cells(table):
    unescaped = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"$\to$": "→",
                 r"$\pm$": "±", "$-$": "−", r"$^\dagger$": "†", r"$\lambda_1$": "λ1", r"$\lambda_2$": "λ2",
                 "$^2$": "²", "$<$": "<", "$>$": ">", r"\&": "&", r"\%": "%", r"\$": "$", r"\#": "#", r"\_": "_",
                 r"\{": "{", r"\}": "}", "--": "–"}  # fmt: skip
    pattern = re.compile("|".join(map(re.escape, unescaped)))
    lines = [line.removesuffix(r" \\") for line in latex(table).split("\n") if line.endswith(r"\\")]
    return [tuple(pattern.sub(lambda m: unescaped[m.group()], c) for c in line.split(" & ")) for line in lines[1:]]


def all_tables():
    complete = records_of(TABLE, steady, SEEDS)
    oracle = records_of(
        TABLE, steady, SEEDS, setting="oracle", columns=("mlhd-rbf", "arc-rbf", "kcca+nn"), grid=(0.1,) * 4
    )
    doubtful = [replace(r, status="iteration limit") if r.system == "arc-rbf" else r for r in complete]
    partial = [r for r in complete if r.seed < 4 or r.system != "mlhd-rbf"]
    for name, found in {"complete": complete + oracle, "doubtful": doubtful, "partial": partial, "empty": []}.items():
        for k, table in enumerate(table_artefacts(TABLE, found, ("whole", "held-out"), [SEEDS, (10, 11)]).tables):
            yield pytest.param(table, id=f"{name} {k}")
        for k, table in enumerate(sensitivity_artefacts(TABLE, found, ("whole",), [SEEDS]).tables):
            yield pytest.param(table, id=f"{name} sensitivity {k}")
    yield pytest.param(AWKWARD, id="awkward")


TABLES = list(all_tables())


@pytest.mark.parametrize("table", TABLES)
def test_the_three_formats_have_the_same_cells(table):
    assert text_cells(table) == list(table.rows)
    assert markdown_cells(table) == list(table.rows)
    assert latex_cells(table) == list(table.rows)
    for form in FORMATS:
        assert "nan" not in printed(table, form)
        assert "None" not in printed(table, form)


@pytest.mark.parametrize("table", TABLES)
def test_latex_is_balanced_and_has_no_bare_special_characters(table):
    text = latex(table)
    for line in text.split("\n"):
        if line.endswith(r"\\") or line.startswith(r"\caption"):
            assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0
            assert not re.search(r"(?<!\\)[%#]", line)
            bare = re.sub(r"\$[^$]*\$|\\_", "", line.replace(r"\$", ""))
            assert not re.search(r"(?<!\\)[_^~]", bare), line
        assert len(re.findall(r"(?<!\\)\{", line)) == len(re.findall(r"(?<!\\)\}", line))
        if line.endswith(r"\\"):
            assert line.count(" & ") == len(table.head) - 1
    assert text.isascii() or not re.search("[→±−–†λ²]", text)
    assert text.count(r"\hline") == (4 if table.footer else 3)
    assert f"{{l{'r' * (len(table.head) - 1)}}}" in text
    assert all(part in text for part in (r"\begin{table}", r"\end{table}", r"\begin{tabular}", r"\end{tabular}"))


@pytest.mark.parametrize("table", TABLES)
def test_text_columns_are_aligned_to_the_right(table):
    lines = str(table).split("\n")
    rules = [k for k, line in enumerate(lines) if re.fullmatch(r"-+(  -+)*", line)]
    assert len(rules) == (2 if table.footer else 1)
    ends = [m.end() for m in re.finditer("-+", lines[rules[0]])]
    for line in lines[2 : rules[0] + len(table.rows) + len(rules)]:
        padded = line.ljust(ends[-1])
        assert len(padded) == ends[-1], "a line sticks out"
        assert all(padded[end : end + 2].strip() == "" for end in ends[:-1])
        assert line == line.rstrip()
    for row, line in zip(table.rows[:1], lines[rules[0] + 1 :], strict=False):
        assert line.startswith(row[0])
        assert line.endswith(row[-1])
    assert all(len(line) <= 118 for line in str(table).split("\n\n")[-1].split("\n")) or not table.notes


def test_the_footer_is_bold_in_markdown_and_under_a_rule():
    assert "| **mean** | **2** | **5** |" in AWKWARD.markdown
    lines = str(AWKWARD).split("\n")
    (mean,) = [k for k, line in enumerate(lines) if line.startswith("mean")]
    assert set(lines[mean - 1]) == {"-", " "}
    assert r"\hline" + "\nmean & 2 & 5" in latex(AWKWARD)


def test_a_bar_in_a_cell_does_not_make_a_column():
    table = TextTable("t", ("a", "b"), (("x|y", "1"),))
    assert table.markdown.split("\n")[-1] == r"| x\|y | 1 |"
    assert "x|y" in str(table)


def test_a_table_without_rows_or_notes_prints():
    for form in FORMATS:
        assert printed(TextTable("nothing", ("a", "b c"), ()), form)


# --- paper / ours / difference ------------------------------------------------------------------------------------


def row(table, name):
    (found,) = [r for r in table.rows if r[0] == name]
    return dict(zip(table.head[1:], found[1:], strict=True))


def test_known_means_give_the_right_cells():
    scores = {"EN → FR": (0.40, 0.50), "EN → GR": (0.60, 0.60), "FR → EN": (0.30, 0.34)}
    found = [
        record(name, s + 0.1 * (name == "arc-rbf"), group=group, seed=seed)
        for name in PAPER for group, pair in scores.items() for seed, s in enumerate(pair)
    ]  # fmt: skip
    table = paper_table(board_of(found, (0, 1)))
    first = row(table, "EN → FR")
    assert (first["mlhd-rbf: paper"], first["mlhd-rbf ours"], first["mlhd-rbf diff."]) == (
        "46.6±4.0",
        "45.0±7.1",
        "−1.6",
    )
    assert (first["arc-rbf: paper"], first["arc-rbf ours"], first["arc-rbf diff."]) == (
        "45.8±6.0",
        "55.0±7.1",
        "+9.2",
    )
    assert row(table, "EN → GR")["mlhd-rbf ours"] == "60.0±0.0"
    assert row(table, "FR → EN")["mlhd-rbf ours"] == "32.0±2.8"
    mean = row(table, "mean")  # (45 + 60 + 32) / 3 and (46.6 + 45.0 + 46.3) / 3
    assert (mean["mlhd-rbf: paper"], mean["mlhd-rbf ours"], mean["mlhd-rbf diff."]) == ("46.0", "45.7", "−0.3")
    assert table.footer == 1
    assert [r[0] for r in table.rows] == ["EN → FR", "EN → GR", "FR → EN", "mean"]


def test_the_deviation_is_that_of_a_sample_over_the_seeds(board):
    scores = 100 * board.scores("mlhd-rbf")[0]
    assert row(paper_table(board), "EN → FR")["mlhd-rbf ours"] == f"{scores.mean():.1f}±{np.std(scores, ddof=1):.1f}"


def test_missing_trials_give_a_dash_and_never_a_mean_of_the_rest(board):
    complete = records_of(TABLE, steady, SEEDS)
    lost = ("mlhd-rbf", "EN → GR", 7)
    table = paper_table(board_of([r for r in complete if (r.system, r.group, r.seed) != lost]))
    assert row(table, "EN → GR")["mlhd-rbf ours"] == row(table, "EN → GR")["mlhd-rbf diff."] == "–"
    assert row(table, "mean")["mlhd-rbf ours"] == row(table, "mean")["mlhd-rbf diff."] == "–"
    whole = paper_table(board)
    for name in whole.head[1:]:
        if not name.startswith("mlhd-rbf"):
            assert [row(table, r[0])[name] for r in table.rows] == [row(whole, r[0])[name] for r in whole.rows]
    assert row(table, "EN → FR") == row(whole, "EN → FR")
    assert any(note.startswith("–") for note in table.notes)
    assert not any(note.startswith("–") for note in whole.notes)


def test_other_experiments_variants_settings_and_seeds_do_not_enter(board):
    foreign = [
        *records_of(TABLE, lambda *_: 0.99, SEEDS, variant="held-out"),
        *records_of(TABLE, lambda *_: 0.99, SEEDS, setting="oracle"),
        *records_of(TABLE, lambda *_: 0.99, (10, 11)),
        *[replace(r, experiment="table2") for r in records_of(TABLE, lambda *_: 0.99, SEEDS)],
    ]
    assert paper_table(board_of(foreign + records_of(TABLE, steady, SEEDS))) == paper_table(board)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("status", ["iteration limit", "not converged", "2 of 36 fits: iteration limit"])
def test_an_uncertified_fit_is_marked_in_every_format_and_noted(form, status):
    complete = records_of(TABLE, steady, SEEDS)
    doubt = [
        replace(r, status=status) if (r.system, r.group, r.seed) == ("arc-rbf", "EN → GR", 3) else r for r in complete
    ]
    for make, column in ((paper_table, "arc-rbf ours"),):
        table = make(board_of(doubt))
        assert row(table, "EN → GR")[column].endswith("†")
        assert sum("†" in cell for r in table.rows for cell in r) == 1
        assert any("certified" in note for note in table.notes)
    dagger = r"$^\dagger$" if form == "latex" else "†"
    assert printed(paper_table(board_of(doubt)), form).count(dagger) == 2  # the cell and the note
    assert dagger not in printed(paper_table(board_of(complete)), form)
    assert dagger in printed(settings_table(board_of(doubt)), form)


def test_a_failed_fit_is_a_marked_dash():
    complete = records_of(TABLE, steady, SEEDS)
    name = "target SVM"
    failed = [
        replace(r, score=None, status="failed: no") if r.system == name and r.seed == 0 else r for r in complete
    ]
    table = control_table(board_of(failed))
    assert {row(table, r[0])[name] for r in table.rows[:-1]} == {"–†"}
    assert row(table, "mean")[name] == "–"
    assert len(table.notes) == 3


def test_controls_are_named_and_the_settings_side_by_side(board):
    oracle = records_of(TABLE, lambda *a: steady(*a) + 0.1, SEEDS, setting="oracle", columns=("mlhd-rbf",))
    table = settings_table(board_of(records_of(TABLE, steady, SEEDS) + oracle))
    assert table.head == ("system", "control", "default", "oracle")
    assert {r[0] for r in table.rows if r[1] == "yes"} == set(TABLE.controls)
    assert not set(PAPER) & set(TABLE.controls)
    mlhd, arc = row(table, "mlhd-rbf"), row(table, "arc-rbf")
    assert float(mlhd["oracle"]) == pytest.approx(float(mlhd["default"]) + 10, abs=0.11)
    assert arc["oracle"] == "–"
    assert any("never a result" in note for note in table.notes)
    assert "never a result" in paper_table(board, "oracle").title


def test_one_seed_has_no_deviation_to_speak_of():
    table = paper_table(board_of(records_of(TABLE, steady, (0,)), (0,)))
    assert all(r[2].endswith("±0.0") for r in table.rows[:-1])


def test_the_toy_table_has_no_mean_over_some_of_the_seeds():
    toy = EXPERIMENTS["toy"]
    found = records_of(toy, lambda *_: 0.5, (0, 1), variant="as drawn", figures={"mmd": 0.25})
    whole = toy_table(PaperBoard(toy, found, "as drawn", (0, 1)))
    assert row(whole, "mlhd")["MMD²"] == "0.250±0.000"
    part = toy_table(PaperBoard(toy, found, "as drawn", (0, 1, 2)))
    assert {cell for r in part.rows for cell in r[2:]} == {"–"}


# --- what the paper printed -----------------------------------------------------------------------------------------


def test_the_published_tables_are_complete():
    assert len(TABLE1) == 20
    assert len(TABLE2) == 16
    languages = ("EN", "FR", "GR", "IT", "SP")
    assert [(r.source, r.target) for r in TABLE1] == [(a, b) for a in languages for b in languages if a != b]
    assert len({(r.source, r.target) for r in TABLE2}) == 16
    for table in (TABLE1, TABLE2):
        assert all(len(r.figures) == len(PAPER) for r in table)
        assert all(0 < sd < 10 < mean < 50 for r in table for mean, sd in r.figures)


@pytest.mark.parametrize(
    ("table", "pair", "figures"),
    [  # copied by hand from the paper
        (TABLE1, ("EN", "FR"), ((19.3, 4.5), (46.4, 3.7), (45.8, 6.0), (46.6, 4.0))),
        (TABLE1, ("FR", "IT"), ((18.2, 2.4), (32.5, 6.3), (36.6, 6.3), (35.8, 6.1))),
        (TABLE1, ("IT", "SP"), ((17.2, 0.6), (36.1, 7.8), (37.6, 6.2), (41.6, 8.3))),
        (TABLE1, ("SP", "IT"), ((17.8, 1.5), (37.4, 3.4), (38.3, 4.5), (40.0, 6.4))),
        (TABLE2, ("amazon surf600", "webcam sift900"), ((15.7, 2.6), (29.7, 2.6), (30.1, 3.2), (31.1, 2.9))),
        (TABLE2, ("dslr surf600", "webcam sift900"), ((16.1, 1.9), (29.1, 1.8), (29.8, 1.9), (31.8, 2.7))),
        (TABLE2, ("webcam surf600", "dslr sift900"), ((13.3, 3.6), (27.8, 2.6), (27.4, 4.6), (29.8, 3.5))),
    ],
)
def test_rows_are_as_printed(table, pair, figures):
    assert [r.figures for r in table if (r.source, r.target) == pair] == [figures]


@pytest.mark.parametrize(
    ("table", "means"), [(TABLE1, (18.64, 38.08, 41.05, 42.365)), (TABLE2, (15.844, 27.369, 29.006, 29.113))]
)
def test_column_means_are_those_of_the_printed_rows(table, means):
    assert published_means(table).mean(axis=0) == pytest.approx(means, abs=6e-4)


def test_the_probable_slip_of_the_paper_is_kept_as_printed():
    by_pair = {(r.source, r.target): r.figures[0] for r in TABLE2}
    assert by_pair["dslr sift900", "webcam surf600"] == by_pair["webcam sift900", "dslr surf600"] == (13.1, 2.4)
    assert by_pair["dslr sift900", "webcam surf800"] == by_pair["webcam sift900", "dslr surf800"] == (14.5, 3.4)


def test_groups_of_the_experiments_are_the_published_rows():
    for name in GROUPS:
        experiment = EXPERIMENTS[name]
        assert experiment.groups == tuple(f"{r.source} → {r.target}" for r in experiment.published)


# --- verdicts -------------------------------------------------------------------------------------------------------

# As many groups as the real table: with fewer than five clusters no p-value is below 5 %.
FULL = replace(EXPERIMENTS["table1"])
UP = {name: 0.5 for name in FULL.columns} | {"mlhd-rbf": 0.7, "arc-rbf": 0.6, "kcca+itml": 0.65, "kcca+nn": 0.3}


def noisy(levels, size=0.02):
    rng = np.random.default_rng(0)
    noise = {(c, g, s): size * rng.normal() for c in FULL.columns for g in range(20) for s in range(20)}
    return lambda column, g, seed: levels[column] + noise[column, g, seed]


def verdicts(board):
    return dict(zip(COMPARISONS, [c.verdict for c in table_claims(board)], strict=True))


def test_clear_differences_hold_or_are_reversed_and_noise_is_not_shown():
    found = verdicts(board_of(records_of(FULL, noisy(UP), SEEDS), experiment=FULL))
    assert found["mlhd-rbf", "arc-rbf"] == HOLDS
    assert found["arc-rbf", "kcca+itml"] == REVERSED
    assert found["kcca+itml", "kcca+nn"] == HOLDS
    assert found["arc-rbf", "target 1-NN"] == HOLDS
    assert found["mlhd-rbf by target rows", "target SVM"] == OPEN
    assert found["mlhd-rbf", "mlhd-rbf, noise"] == HOLDS


def test_no_difference_at_all_is_not_shown():
    board = board_of(records_of(FULL, lambda *_: 0.5, SEEDS), experiment=FULL)
    assert set(verdicts(board).values()) == {OPEN}


def test_one_missing_trial_and_the_comparison_was_not_run():
    found = [
        r for r in records_of(FULL, noisy(UP), SEEDS) if (r.system, r.group, r.seed) != ("arc-rbf", "EN → FR", 0)
    ]
    by_pair = verdicts(board_of(found, experiment=FULL))
    assert {pair for pair, verdict in by_pair.items() if verdict == UNRUN} == {
        p for p in COMPARISONS if "arc-rbf" in p
    }
    assert set(verdicts(board_of([], experiment=FULL)).values()) == {UNRUN}


def test_a_single_trial_shows_nothing():
    one = replace(FULL, groups=FULL.groups[:1], published=FULL.published[:1])
    assert set(verdicts(board_of(records_of(one, noisy(UP), (0,)), (0,), one)).values()) == {UNRUN}


def test_p_values_are_adjusted_for_the_whole_family():
    claims = table_claims(board_of(records_of(FULL, noisy(UP, 0.5), SEEDS), experiment=FULL))
    by_pair = dict(zip(COMPARISONS, claims, strict=True))
    decided = False
    for pairs in FAMILIES:
        raw = sorted((by_pair[pair].difference.p_value, by_pair[pair].difference.p_adjusted) for pair in pairs)
        m, largest = len(pairs), 0.0
        for k, (p, adjusted) in enumerate(raw):
            largest = max(largest, min(1.0, (m - k) * p))
            assert adjusted == pytest.approx(largest)
            decided |= p < 0.05 <= adjusted
    assert decided  # something is, by the adjustment alone


def test_a_question_is_small_enough_that_ten_seeds_can_answer_it():
    assert max(map(len, FAMILIES)) * 2.0 ** (1 - 10) < LEVEL
    assert sum(map(len, FAMILIES)) == len(COMPARISONS)


@pytest.mark.parametrize(
    ("mean", "p", "adjusted", "verdict"),
    [(0.1, 0.01, 0.04, HOLDS), (-0.1, 0.01, 0.04, REVERSED), (0.1, 0.01, 0.06, OPEN), (-0.1, 0.01, 0.05, OPEN)],
)
def test_the_adjusted_p_value_decides(mean, p, adjusted, verdict):
    claim = Claim("a > b", Difference(mean, mean - 0.01, mean + 0.01, p, adjusted, 100, 10, 0.95))
    assert claim.verdict == verdict


def test_a_difference_of_one_seed_only_is_not_taken_for_two_hundred_trials():
    def lucky(column, g, seed):
        return 0.5 + (0.3 if column == "mlhd-rbf" and seed == 0 else 0.0)

    assert verdicts(board_of(records_of(FULL, lucky, SEEDS), experiment=FULL))["mlhd-rbf", "arc-rbf"] == OPEN


def test_every_claim_names_columns_of_the_table():
    assert {name for pair in COMPARISONS for name in pair} <= set(EXPERIMENTS["table1"].columns)
    assert len(set(COMPARISONS)) == len(COMPARISONS)
    assert [len(pairs) for pairs in AGAINST_CORRUPTED.values()] == [3] * len(READINGS)
    assert ORDER == (("mlhd-rbf", "arc-rbf"), ("arc-rbf", "kcca+itml"), ("kcca+itml", "kcca+nn"))


@pytest.mark.parametrize("verdict", [HOLDS, REVERSED, OPEN, UNRUN])
def test_sets_of_seeds_agree_only_where_all_say_the_same(verdict):
    assert agreed([verdict]) == agreed([verdict] * 3) == verdict
    for other in {HOLDS, REVERSED, OPEN, UNRUN} - {verdict}:
        found = agreed([verdict, other])
        assert found == UNRUN if UNRUN in (verdict, other) else found not in (HOLDS, REVERSED, OPEN, UNRUN)


def test_the_table_of_claims_has_the_verdicts_of_every_set():
    sets = [SEEDS, tuple(range(10, 20))]
    down = UP | {"mlhd-rbf": 0.4}
    found = records_of(FULL, noisy(UP), sets[0]) + records_of(FULL, noisy(down), sets[1])
    every = boards(FULL, found, "whole", sets)
    claims = [table_claims(b) for b in every]
    table = make_claim_table(every, claims, "what holds")
    assert table.head[1] == "seeds 0–9: difference"
    first = table.rows[0]
    assert first[0] == "mlhd-rbf > arc-rbf"
    assert (first[4], first[8]) == (HOLDS, REVERSED)
    assert first[1].startswith("+")
    assert first[5].startswith("−")
    assert [(r[4], r[8]) for r in table.rows] == [(a.verdict, b.verdict) for a, b in zip(*claims, strict=True)]


# --- over the grid --------------------------------------------------------------------------------------------------

DECADES = np.arange(6)


def grid_records(surface, seeds=SEEDS, experiment=FULL):
    """Oracle records whose grid is surface(λ1 index, λ2 index) with a little noise."""
    rng = np.random.default_rng(1)
    points = np.array([[surface(a, b) for b in DECADES] for a in DECADES]).ravel()
    return [
        replace(r, grid=tuple(points + 0.005 * rng.normal(size=points.size)))
        for system in READINGS
        for r in records_of(experiment, lambda *_: 0.5, seeds, setting="oracle", columns=(system,))
    ]


@pytest.mark.parametrize(
    ("surface", "rises", "matters"),
    [
        (lambda a, b: 0.3 + 0.05 * a, HOLDS, HOLDS),
        (lambda a, b: 0.6 - 0.05 * a, REVERSED, HOLDS),
        (lambda a, b: 0.3 + 0.05 * b, OPEN, REVERSED),
        (lambda a, b: 0.3 + 0.05 * a + 0.02 * b, HOLDS, HOLDS),
        (lambda a, b: 0.4, OPEN, OPEN),
    ],
    ids=["rises in λ1", "falls in λ1", "λ2 only", "both", "flat"],
)
def test_sensitivity_verdicts_follow_the_grid(surface, rises, matters):
    board = board_of(grid_records(surface), experiment=FULL)
    for system in READINGS:
        assert [c.verdict for c in sensitivity_claims(board, system)] == [rises, matters]


def test_large_weights_are_judged_alone():
    def surface(a, b):
        return 0.3 + 0.02 * a if b >= 3 else 0.6 - 0.05 * a

    board = board_of(grid_records(surface), experiment=FULL)
    everywhere, flat = (sensitivity_claims(board, "mlhd-rbf", flat=flat) for flat in (False, True))
    assert [c.verdict for c in everywhere] == [REVERSED, REVERSED]
    assert [c.verdict for c in flat] == [HOLDS, HOLDS]
    assert {c.verdict for c in sensitivity_claims(board_of([]), "mlhd-rbf", flat=True)} == {UNRUN}


def test_a_slope_is_the_rise_a_decade():
    accuracy = 0.2 + 0.03 * DECADES[:, None] + np.zeros((2, 3, 6, 6)) + 0.1 * DECADES
    assert slopes(accuracy) == pytest.approx(np.full((2, 3), 0.03))


def test_a_hole_in_the_grid_and_nothing_is_said():
    found = grid_records(lambda a, b: 0.3 + 0.05 * a)
    found[3] = replace(found[3], grid=(None, *found[3].grid[1:]))
    board = board_of(found, experiment=FULL)
    system, other = found[3].system, next(s for s in READINGS if s != found[3].system)
    assert {c.verdict for c in sensitivity_claims(board, system)} == {UNRUN}
    assert UNRUN not in {c.verdict for c in sensitivity_claims(board, other)}
    table = grid_table(board, system)
    assert table.rows[0][1] == "–"
    assert table.rows[-1][1] == table.rows[-1][-1] == table.rows[0][-1] == "–"
    assert table.rows[1][1] != "–"


def test_a_grid_of_another_size_is_refused():
    found = grid_records(lambda a, b: 0.5)
    found[0] = replace(found[0], grid=found[0].grid[:-1])
    with pytest.raises(
        InputError, match=r"records of mlhd-rbf, EN → FR, seed 0: expected a grid of 36 values, got 35"
    ):
        board_of(found, experiment=FULL).grid("mlhd-rbf")


def test_the_grid_table_has_means_over_rows_and_columns():
    board = board_of(grid_records(lambda a, b: 0.1 * a + 0.01 * b), experiment=FULL)
    table = grid_table(board, "mlhd-rbf")
    assert table.head == ("λ1 \\ λ2", "0.01", "0.1", "1", "10", "100", "1000", "mean")
    assert [r[0] for r in table.rows] == ["0.001", "0.01", "0.1", "1", "10", "100", "mean"]
    assert table.rows[2][-1] == "22.5"
    assert table.rows[-1][1] == "25.0"
    assert table.rows[-1][-1] == "27.5"
    assert not any("†" in note for note in table.notes)
    marked = [replace(r, status="1 of 36 fits: iteration limit") for r in grid_records(lambda a, b: 0.5)]
    doubt = grid_table(board_of(marked, experiment=FULL), "mlhd-rbf")
    assert "mlhd-rbf†" in doubt.title
    assert sum("certified" in note for note in doubt.notes) == 1
