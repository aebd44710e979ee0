"""Small reviews for tests: rows whose partner is the row of the same number, and a program that knows most of them."""

import numpy as np

from isthmus.tasks.questions import Proposal
from isthmus.view.review.decisions import DecisionLog
from isthmus.view.review.session import Review, ReviewTask

N = 40


def make_task(seen=None):
    """Forty rows; the claims of the last five are wrong, until they are rejected."""
    seen = [] if seen is None else seen

    def propose(confirmed, rejected, reserved, progress):
        seen.append((confirmed.tolist(), rejected.tolist()))
        progress("comparing")
        claim = np.arange(N)
        claim[-5:] = [0, 1, 2, 3, 4]
        for row, option in rejected.tolist():
            claim[row] = row if claim[row] == option else claim[row]
        confidence = np.linspace(0.99, 0.51, N)
        questions = [(row, int(claim[row])) for row in range(N - 1, -1, -1) if not reserved[row]]
        return Proposal(claim, confidence, lambda row: [int(claim[row]), row], questions, 5.0, "matched: 40 pairs.")

    def show(row, option):
        return {"files": ["a.csv", "b.csv"], "shared": [("name", f"lamp {row}", f"lamp {option}")], "only": [[], []]}

    def reveal(row, option):
        return {"probability": 0.5, "parts": [("name", 1.0)]}

    ids = [f"a{k}" for k in range(N)], [f"b{k}" for k in range(N)]
    return ReviewTask("match", *ids, 0, propose, show, reveal, "isthmus match")


def make_review(path, seen=None, start=True):
    """A review that has matched once."""
    review = Review(make_task(seen), DecisionLog(path))
    if start:
        review._working = ""
        review._work()
    return review


def true_verdict(question):
    return "y" if question["source"][1:] == question["target"][1:] else "n"
