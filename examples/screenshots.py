"""Take the pictures of docs/review.md and docs/report.md: the review page and a report on matches, of made-up tables.

``python examples/screenshots.py`` needs the extras ``review`` and ``report``, selenium, and Chromium with its driver.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

DOCS = Path(__file__).resolve().parent.parent / "docs"
ADJECTIVES = ["red", "blue", "dark", "pale", "old", "oak", "pine", "steel", "round", "folding"]
NOUNS = ["lamp", "chair", "table", "clock", "radio", "bench", "mirror", "shelf", "stool", "desk"]
MAKERS = ["Alder", "Birch", "Cedar", "Elm", "Hazel", "Juniper", "Larch", "Maple"]


def write_tables(folder: Path) -> None:
    """Write two shops of 150 objects each, with 120 in common."""
    rng = np.random.default_rng(7)
    rows = [
        (
            f"{rng.choice(ADJECTIVES)} {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}",
            rng.choice(MAKERS),
            rng.integers(20, 400),
        )
        for _ in range(180)
    ]
    for name, some in (("shop", rows[:150]), ("catalogue", rows[30:])):
        spoilt = [
            (text if name == "shop" or rng.random() < 0.6 else " ".join(text.split()[1:]), *rest)
            for text, *rest in some
        ]
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            cells = [[f"{name[0]}{k}", *row] for k, row in enumerate(spoilt)]
            csv.writer(file).writerows([["id", "name", "maker", "price"], *cells])


def open_browser(folder: Path) -> webdriver.Chrome:
    """Return a browser without a window."""
    options = webdriver.ChromeOptions()
    for switch in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(switch)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_window_size(1200, 960)
    return driver


def main() -> None:
    """Make the tables, review some matches, write the report, take both pictures."""
    program = [sys.executable, "-m", "isthmus"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        files = ["shop.csv", "catalogue.csv", "--id", "id"]
        words = [*program, "review", *files, "--no-browser"]
        with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
            driver = open_browser(folder / "profile")
            driver.get(next(line.split()[-1] for line in server.stdout or () if "http://" in line))
            while not driver.find_elements(By.CSS_SELECTOR, "#card:not([hidden])"):
                time.sleep(0.2)
            for k in range(24):
                cells = [cell.text for cell in driver.find_elements(By.CSS_SELECTOR, ".pair > .equal")]
                driver.find_element(By.TAG_NAME, "body").send_keys("y" if len(cells) >= 4 else "n")
                while driver.find_element(By.ID, "count").text != f"{k + 1} answer{'s' * (k > 0)}":
                    time.sleep(0.1)
            driver.find_element(By.CSS_SELECTOR, "#last summary").click()
            driver.save_screenshot(str(DOCS / "review.png"))
            server.terminate()
        subprocess.run([*program, "match", *files, "-o", "matches.csv", "--quiet"], cwd=folder, check=True)
        report = ["report", "matches.csv", "--source", "shop.csv", "--target", "catalogue.csv", "-o", "report.html"]
        subprocess.run([*program, *report, "--quiet"], cwd=folder, check=True)
        driver.get((folder / "report.html").as_uri())
        time.sleep(2.0)
        driver.save_screenshot(str(DOCS / "report-matches.png"))
        driver.quit()


if __name__ == "__main__":
    main()
