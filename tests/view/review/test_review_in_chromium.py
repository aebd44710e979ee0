"""The page in a real browser: two visits of a person, a server that is killed in between, a second tab."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("jinja2")
pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from browser import CHROMIUM
from conftest import start_process, wait_until
from isthmus.view.review.decisions import read_decisions

DRIVER = shutil.which("chromedriver") or ("chromedriver" if os.environ.get("CI") else None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium with its driver")]
SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
WORDS = [
    "red",
    "blue",
    "dark",
    "pale",
    "old",
    "new",
    "oak",
    "pine",
    "steel",
    "lamp",
    "chair",
    "table",
    "clock",
    "radio",
    "bench",
    "mirror",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables of 60 objects; an eighth of the second have few words in common with the first."""
    where, rng = tmp_path_factory.mktemp("review"), np.random.default_rng(100)
    names = [f"{' '.join(rng.choice(WORDS, 4))} {rng.integers(1000, 9999)}" for _ in range(60)]
    evil = "<img src=x onerror=document.title='evil'>"
    others = [" ".join(name.split()[:4]) if i % 8 else " ".join(name.split()[:2]) for i, name in enumerate(names)]
    for file, column in (("a", [f"{n} {evil}" for n in names]), ("b", others)):
        with (where / f"{file}.csv").open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerows([["id", "name"], *([f"{file}{i}", n] for i, n in enumerate(column))])
    return where


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(CHROMIUM)
    for switch in (*SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Two tables of 60 rows of three classes, described by other words; B has a class for six rows, of two classes."""
    where, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(101)
    for file, words in (("a", WORDS), ("b", [word[::-1] for word in WORDS])):
        rows = [["id", "text", "kind"]]
        for i in range(60):
            c = i % 3
            known = ["furniture", "lamps", "clocks"][c] if file == "a" or (i < 9 and c < 2) else ""
            rows.append([f"{file}{i}", " ".join(rng.choice(words[5 * c : 5 * c + 6], 5)), known])
        with (where / f"{file}.csv").open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerows(rows)
    return where


def start_server(stack, folder, *more):
    """Start `isthmus review`; return its process and its address."""
    words = [sys.executable, "-m", "isthmus", "review", "a.csv", "b.csv", "--id", "id", "--no-browser", *more]
    process = start_process(
        stack, words, cwd=folder, stdout=subprocess.PIPE, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    )
    for line in process.stdout:
        if "http://" in line:
            return process, line.split()[-1]
    raise AssertionError(process.communicate())


def find(chromium, selector):
    return chromium.find_element(By.CSS_SELECTOR, selector)


def count(chromium):
    """The number of answers that the page shows; -1 where it shows none."""
    words = find(chromium, "#count").text.split()
    return int(words[0]) if words else -1


def ready(chromium):
    shown = (
        "return document.querySelector('#card:not([hidden])') !== null && document.querySelector('#working').hidden"
    )
    wait_until(lambda: chromium.execute_script(shown))


def press(chromium, key):
    """Press a key, and wait until the page has counted it."""
    before = count(chromium)
    find(chromium, "body").send_keys(key)
    wait_until(lambda: count(chromium) == before + (-1 if key == "u" else 1))


def check_quiet(chromium):
    """Check that nothing was complained of, and nothing requested beyond this machine."""
    assert chromium.get_log("browser") == []
    hosts = set()
    for entry in chromium.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            where = urlsplit(message["params"]["request"]["url"])
            hosts |= {where.hostname} if where.scheme not in ("chrome", "chrome-untrusted", "data") else set()
    assert hosts == {"127.0.0.1"}
    assert chromium.title == "a.csv and b.csv"


def test_two_visits_with_a_killed_server_in_between(chromium, folder, processes):
    server, address = start_server(processes, folder)
    chromium.get(address)
    ready(chromium)
    for key in ("y", "n", "?", "y"):
        press(chromium, key)
    said = find(chromium, "#last summary").get_attribute("textContent")
    assert "said" in said
    assert "100.0" not in said, "what is nearly certain is not rounded to certain"
    assert find(chromium, "#command").is_displayed(), "what to do at the end is not hidden in a help text"
    press(chromium, "u")
    find(chromium, "button.yes").click()
    wait_until(lambda: count(chromium) == 4)
    verdicts = sorted(read_decisions(folder / "decisions.csv").values())
    assert verdicts == ["?", "n", "y", "y"]
    question = find(chromium, "#records").text
    chromium.refresh()
    ready(chromium)
    assert (count(chromium), find(chromium, "#records").text) == (4, question)

    first = chromium.current_window_handle
    chromium.switch_to.new_window("tab")
    chromium.get(address)
    wait_until(lambda: find(chromium, "#other").is_displayed())
    assert "open in another tab" in find(chromium, "#other").text
    chromium.close()
    chromium.switch_to.window(first)
    press(chromium, "y")

    find(chromium, "body").send_keys("m")
    wait_until(lambda: "The last run" in find(chromium, "#changes").text)
    ready(chromium)
    press(chromium, "n")
    check_quiet(chromium)

    before = read_decisions(folder / "decisions.csv")
    assert len(before) == 6
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    find(chromium, "body").send_keys("y")
    wait_until(lambda: "does not answer" in find(chromium, "#problem").text)
    assert read_decisions(folder / "decisions.csv") == before

    server, address = start_server(processes, folder)
    chromium.get(address)
    ready(chromium)
    chromium.get_log("browser")
    assert count(chromium) == 6
    for key in ("y", "?"):
        press(chromium, key)
    assert find(chromium, "#quality").text
    assert find(chromium, "#sentence").text.startswith("The last run, doubtful matches included: "), (
        "more than are kept"
    )
    check_quiet(chromium)
    after = read_decisions(folder / "decisions.csv")
    assert list(after.items())[:6] == list(before.items())
    os.kill(server.pid, signal.SIGINT)
    out = server.stdout.read()
    assert server.wait() == 0
    command = "isthmus match a.csv b.csv --id id --decisions decisions.csv -o matches.csv"
    assert out.strip().splitlines()[-1] == f"8 decisions are in decisions.csv. To use them: {command}"


def test_two_visits_that_review_classes(chromium, labels, processes):
    server, address = start_server(processes, labels, "--label", "kind", "--text", "text")
    chromium.get(address)
    ready(chromium)
    guesses = [button.text.split()[0] for button in chromium.find_elements(By.CSS_SELECTOR, ".guesses button")]
    assert find(chromium, "#ask").text == f"Is this row of class “{guesses[0]}”?"
    assert len(chromium.find_elements(By.CSS_SELECTOR, ".near")) == 4
    press(chromium, "y")
    assert find(chromium, "#ask").text == "Is this row of class “clocks”?", "no row of B has this class"
    for key in ("n", "?"):
        press(chromium, key)
    assert "the program said" in find(chromium, "#last summary").get_attribute("textContent")
    second = chromium.find_elements(By.CSS_SELECTOR, ".guesses button")[1].text.split()[0]
    press(chromium, "2")
    assert [*read_decisions(labels / "decisions.csv").items()][-1][0][0] == second
    press(chromium, "u")
    other = find(chromium, "select")
    row = find(chromium, ".head.wide").text.split()[-1]
    other.find_element(By.XPATH, "option[text()='lamps']").click()
    wait_until(lambda: count(chromium) == 4)
    assert read_decisions(labels / "decisions.csv")["lamps", row] == "y"
    before = find(chromium, "#records").text
    chromium.refresh()
    ready(chromium)
    assert (count(chromium), find(chromium, "#records").text) == (4, before)

    first = chromium.current_window_handle
    chromium.switch_to.new_window("tab")
    chromium.get(address)
    wait_until(lambda: find(chromium, "#other").is_displayed())
    find(chromium, "#take").click()
    ready(chromium)
    press(chromium, "y")
    chromium.close()
    chromium.switch_to.window(first)
    find(chromium, "body").send_keys("y")
    wait_until(lambda: find(chromium, "#other").is_displayed())
    assert len(read_decisions(labels / "decisions.csv")) == 5, "the tab that lost its place has written nothing"
    # The refusal is a line of the console, and the only one.
    assert ["409" in entry["message"] for entry in chromium.get_log("browser")] == [True]
    find(chromium, "#take").click()
    ready(chromium)
    find(chromium, "body").send_keys("m")
    wait_until(lambda: "The last run" in find(chromium, "#changes").text)
    ready(chromium)
    press(chromium, "n")
    check_quiet(chromium)

    before = read_decisions(labels / "decisions.csv")
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    find(chromium, "body").send_keys("y")
    wait_until(lambda: "does not answer" in find(chromium, "#problem").text)
    assert read_decisions(labels / "decisions.csv") == before

    server, address = start_server(processes, labels, "--label", "kind", "--text", "text")
    chromium.get(address)
    ready(chromium)
    chromium.get_log("browser")
    assert count(chromium) == 6
    for key in ("1", "y", "?"):
        press(chromium, key)
    assert "sampled are right" in find(chromium, "#quality").text
    assert "recall" not in find(chromium, "#quality").text, "every row has a class"
    check_quiet(chromium)
    assert list(read_decisions(labels / "decisions.csv").items())[:6] == list(before.items())
    os.kill(server.pid, signal.SIGINT)
    out = server.stdout.read()
    assert server.wait() == 0
    command = "isthmus label a.csv b.csv --id id --text text --label kind --decisions decisions.csv -o labels.csv"
    assert out.strip().splitlines()[-1] == f"9 decisions are in decisions.csv. To use them: {command}"
    words = [sys.executable, "-m", *command.split(), "--quiet"]
    subprocess.run(words, cwd=labels, check=True)
    with (labels / "labels.csv").open(newline="", encoding="utf-8") as file:
        classes = {line["id"]: line["class"] for line in csv.DictReader(file)}
    confirmed = {
        row: name for (name, row), verdict in read_decisions(labels / "decisions.csv").items() if verdict == "y"
    }
    assert {row: classes[row] for row in confirmed} == confirmed


def test_the_page_on_a_phone_has_no_wider_content_than_the_screen(chromium, folder, processes, tmp_path):
    for name in ("a.csv", "b.csv"):
        shutil.copy(folder / name, tmp_path / name)
    _, address = start_server(processes, tmp_path)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chromium.get(address)
    ready(chromium)
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= 390
    press(chromium, "y")
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= 390
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
