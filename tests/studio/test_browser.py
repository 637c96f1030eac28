"""The studio in a real browser, with a server in a process of its own: what a person does and sees.

With the environment variable `STUDIO_PICTURES`, the pictures of docs/studio.md are written to the
folder that it names.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue

import numpy as np
import pandas as pd
import pytest

from graphmargin.datasets import load_digits

pytest.importorskip("starlette", reason="pip install 'graphmargin[studio]'")
sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: run tools/install_chromium, or apt-get install chromium"
)

HOSTILE = "</script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1>'\""


@dataclass
class Server:
    """A running `graphmargin studio`, its folder, what it printed, and addresses not used yet."""

    process: subprocess.Popen
    folder: Path
    printed: list[str] = field(default_factory=list)
    addresses: Queue = field(default_factory=Queue)
    origin: str = ""

    def __enter__(self):
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        address = self.new_address()
        self.origin = address.partition("/#")[0]
        self.addresses.put(address)
        return self

    def read(self):
        for line in self.process.stdout:
            self.printed.append(line)
            if address := re.search(r"http://\S+#token=\S+", line):
                self.addresses.put(address[0])
        self.addresses.put(None)

    def new_address(self):
        """Return the newest address in the terminal, which works once."""
        address = self.addresses.get(timeout=120)
        assert address, "".join(self.printed)
        return address

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def serve(folder, *options, browser=None):
    """Return a server of a process that was just started; it answers in its block."""
    options = [*options, "--no-browser"] if browser is None else options
    process = subprocess.Popen(
        [sys.executable, "-m", "graphmargin", "studio", *map(str, options)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # a line for the address
        env={**os.environ, "COLUMNS": "500", **({"BROWSER": browser} if browser else {})},
    )
    return Server(process, folder)


@pytest.fixture
def start():
    """Return a function that starts a server, which ends with the test."""
    with ExitStack() as servers:
        yield lambda *parts, **named: servers.enter_context(serve(*parts, **named))


@pytest.fixture(scope="module")
def truth():
    return load_digits()[1]


@pytest.fixture(scope="module")
def digits(tmp_path_factory, browser, truth):
    """Return a server of the digits: one of each kind has a label, and 20 suggested rows.

    The page has been asked for each of the 20 rows, and keys were pressed.
    """
    with serve(tmp_path_factory.mktemp("digits")) as server:
        with windows(browser) as visit:
            page = visit(server)
            for _ in range(20):
                label_suggested(page, truth)
        yield server


def two_groups():
    """Return a table of two groups of rows, without a label."""
    rng = np.random.default_rng(0)
    size = np.repeat([0.0, 10.0], 30) + rng.normal(size=60)
    return pd.DataFrame({"size": size, "weight": rng.normal(size=60)})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a server of a table without labels whose texts would run code, were they markup."""
    folder = tmp_path_factory.mktemp("hostile")
    table = two_groups().rename(columns={"size": HOSTILE})
    table["text"] = [f"{HOSTILE} {row}" for row in range(60)]
    table.to_csv(folder / "<b>pets.csv", index=False)
    with serve(folder, "<b>pets.csv", "--target", "<i>kind", "--ignore", "text") as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@contextmanager
def windows(browser):
    """Yield a function that opens windows; complaints and requests elsewhere are failures."""
    opened = []

    def open_window(server, *, width=1280, height=860, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        context.set_default_timeout(60_000)  # the machine may be busy
        page = context.new_page()
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(server.new_address())
        page.wait_for_selector("#row-panel .prediction", state="attached")
        page.wait_for_selector("#map-panel[data-rows]", state="attached")
        opened.append((page, server.origin))
        return page

    yield open_window
    for page, origin in opened:
        page.context.close()
        assert page.complaints == []
        asked = (url.removeprefix("blob:") for url in page.asked)  # pictures of the page itself
        assert [url for url in asked if not url.startswith(f"{origin}/")] == []


@pytest.fixture
def visit(browser):
    with windows(browser) as open_window:
        yield open_window


# --- What a person does.


def row_at_hand(page):
    return int(page.get_attribute("#row-panel", "data-row"))


def n_labels(page):
    return int(page.inner_text("#progress").split()[0].replace(",", ""))


def said(page, text):
    page.locator("#said", has_text=text).wait_for()
    page.wait_for_selector("#row-panel[aria-busy=false]")


def press(page, key, text):
    """Press a key, and wait for what the page says about it."""
    page.keyboard.press(key)
    said(page, text)


def label_suggested(page, truth):
    """Label the row at hand as a person does who knows the digits."""
    row = row_at_hand(page)
    press(page, str(truth[row]), f"Labeled row {row + 1:,}: {truth[row]}.")


def predictions(page):
    """Return the label, or else the predicted class, of each row, as names."""
    predicted, names = page.evaluate("""async () => {
        const { getBytes, getJson } = await import('/page/api.js');
        const bytes = new Uint8Array((await getBytes('/api/predictions')).bytes);
        const { classes } = await getJson('/api/state');
        const predicted = [...bytes].filter((_, i) => i % 4 === 1);
        return [predicted, classes.map((one) => [one.id, one.name])];
    }""")
    return np.array([dict(names).get(code) for code in predicted])


def circle(page, x, y, radius):
    """Draw a lasso around a place, with Shift."""
    angles = np.linspace(0, 2 * np.pi, 24)
    page.keyboard.down("Shift")
    page.mouse.move(x + radius, y)
    page.mouse.down()
    for angle in angles:
        page.mouse.move(x + radius * np.cos(angle), y + radius * np.sin(angle))
    page.mouse.up()
    page.keyboard.up("Shift")


def places(page):
    """Return where the map shows each row, in pixels of the window."""
    values = page.evaluate("""async () => {
        const { getBytes } = await import('/page/api.js');
        const points = new Float32Array((await getBytes('/api/map')).bytes);
        const { left, top, width, height } =
            document.getElementById('overlay').getBoundingClientRect();
        const scale = 0.9 * Math.min(width, height);
        const place = (p, i) => i % 2
            ? top + height / 2 + scale * (p - 0.5) : left + width / 2 + scale * (p - 0.5);
        return [...points].map(place);
    }""")
    return np.array(values).reshape(-1, 2)


def picture(page, name):
    """Write a picture of the documentation, if it is asked for."""
    if folder := os.environ.get("STUDIO_PICTURES"):
        page.wait_for_timeout(600)  # what fades has faded, and the map has its colors
        page.screenshot(path=Path(folder) / f"studio-{name}.png")


# --- Tests.


def test_twenty_suggested_labels_are_enough_for_digits(visit, digits, truth):
    page = visit(digits)
    assert n_labels(page) >= 30
    assert (predictions(page) == truth.astype(str)).mean() > 0.95
    assert page.locator("#estimate .chart .line").count() == 1
    figure = page.inner_text("#estimate .figure")
    assert re.fullmatch(r"about [\d.]+% between [\d.]+% and [\d.]+%", figure)
    assert "100%" not in figure
    assert page.locator(".queue li .soft").first.inner_text()


def test_a_lasso_labels_many_rows_after_a_preview(visit, digits, truth):
    page = visit(digits)
    before = n_labels(page)
    at = places(page)
    middle = np.median(at[truth == 0], axis=0)
    inside = np.hypot(*(at - middle).T) < 30
    circle(page, *middle, 30)
    dialog = page.locator("#bulk-dialog")
    shown = int(re.match(r"([\d,]+) rows in", dialog.inner_text())[1].replace(",", ""))
    assert shown == pytest.approx(inside.sum(), abs=5)
    page.keyboard.press("1")
    dialog.get_by_text("predicted otherwise, such as these").wait_for()
    assert dialog.locator(".examples img").count() == 6
    picture(page, "lasso")
    page.keyboard.press("0")
    dialog.locator("button.main", has_text="as 0").wait_for()
    press(page, "Enter", "Labeled the rows as 0")
    assert n_labels(page) > before + 50
    press(page, "z", "Undone")
    assert n_labels(page) == before
    circle(page, *middle, 30)
    page.keyboard.press("Escape")
    assert n_labels(page) == before


def test_undo_redo_skip_unsure_and_reload(visit, digits, truth):
    page = visit(digits)
    before, row = n_labels(page), row_at_hand(page)
    label_suggested(page, truth)
    press(page, "Control+z", "Undone")
    assert (n_labels(page), row_at_hand(page)) == (before, row)
    press(page, "Control+Shift+Z", "Done again")
    assert n_labels(page) == before + 1
    unsure = row_at_hand(page)
    press(page, "u", f"Unsure about row {unsure + 1:,}")
    skipped = row_at_hand(page)
    press(page, "s", f"Skipped row {skipped + 1:,}")
    row = row_at_hand(page)
    assert len({unsure, skipped, row}) == 3
    page.reload()
    page.wait_for_selector("#row-panel .prediction")
    assert (n_labels(page), row_at_hand(page)) == (before + 1, row)
    page.select_option("#filter [name=decision]", "unsure")
    page.locator("#total", has_text=re.compile(r"^1 row$")).wait_for()
    assert page.inner_text("tbody td").strip() == f"{unsure + 1:,}"


def test_two_windows_agree(visit, digits, truth):
    one, other = visit(digits), visit(digits)
    row, before = row_at_hand(one), n_labels(one)
    assert row_at_hand(other) == row
    label_suggested(one, truth)
    other.locator("#progress", has_text=f"{before + 1:,} of").wait_for()
    other.locator(f"#row-panel[data-row='{row_at_hand(one)}']").wait_for()
    press(other, "z", "Undone")
    one.locator("#progress", has_text=f"{before:,} of").wait_for()


def test_a_label_that_looks_wrong_becomes_a_question(visit, digits, truth):
    page = visit(digits)
    before = n_labels(page)
    at = places(page)
    far = np.hypot(*(at - np.median(at[truth == 0], axis=0)).T)
    row = int(far.argmin())
    circle(page, *at[row], 40)
    page.keyboard.press("0")
    page.locator("#bulk-dialog button.main", has_text="as 0").wait_for()
    press(page, "Enter", "Labeled the rows as 0")
    page.mouse.click(*at[row])
    page.locator("#row-panel", has_text="the label of this row").wait_for()
    row = row_at_hand(page)
    press(page, "1", f"Labeled row {row + 1:,}: 1.")
    page.locator("#questions li", has_text=f"Row {row + 1:,}").wait_for()
    while row_at_hand(page) != row:
        page.keyboard.press("q")
    page.locator("#row-panel .question", has_text="You chose 1, but 0 is expected").wait_for()
    picture(page, "question")
    press(page, "y", f"Labeled row {row + 1:,}: 0.")
    assert page.locator("#questions li", has_text=f"Row {row + 1:,}").count() == 0
    for _ in range(3):
        page.click("#undo")
        said(page, "Undone")
    assert n_labels(page) == before


def test_the_map_zooms_pans_and_shows_the_row_under_the_mouse(visit, digits, truth):
    page = visit(digits)
    page.mouse.move(*places(page)[np.flatnonzero(truth == 6)[0]])
    tip = page.locator("#tip")
    tip.locator("img").wait_for()
    assert re.search(r"row [\d,]+", tip.inner_text())
    pixels = "document.getElementById('points').toDataURL()"
    seen = {page.evaluate(pixels)}
    for act in (
        lambda: page.mouse.wheel(0, -300),
        lambda: drag(page, (300, 300), (340, 360)),
        lambda: page.keyboard.press("m"),
        lambda: page.keyboard.press("ArrowLeft"),
        lambda: page.keyboard.press("+"),
    ):
        act()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
        page.wait_for_timeout(30)
        seen.add(page.evaluate(pixels))
    assert len(seen) == 5  # the key that goes to the map changes nothing
    page.keyboard.press("f")
    page.keyboard.press("v")
    page.locator("#bulk-dialog", has_text="5,620 rows in the lasso").wait_for()
    page.keyboard.press("Escape")
    page.locator("#classes .class").nth(3).click()
    assert page.get_attribute("#classes .class >> nth=3", "aria-pressed") == "true"


def test_the_table_holds_the_rows_in_view_alone(visit, digits):
    page = visit(digits)
    page.locator("#total", has_text="5,620 rows").wait_for()
    assert page.locator("tbody tr").count() < 40
    page.locator("#scroller").evaluate("(one) => (one.scrollTop = one.scrollHeight)")
    page.locator("tbody tr:not(.space) td", has_text="5,620").first.wait_for()
    page.locator("th button", has_text="confidence").click()
    page.locator("th[aria-sort=ascending]", has_text="confidence").wait_for()
    shares = page.locator("tbody tr:not(.space) td:nth-child(4)")
    page.locator("tbody tr:not(.waiting) td:nth-child(4)").first.wait_for()
    sure = [float(text.rstrip("%")) for text in shares.all_inner_texts()]
    assert sure == sorted(sure)
    page.keyboard.press("t")
    page.keyboard.press("ArrowDown")
    first = row_at_hand(page)
    page.keyboard.press("ArrowDown")
    page.locator(f"#row-panel:not([data-row='{first}'])").wait_for()
    assert page.locator("tr.here").count() == 1
    page.select_option("#filter [name=label]", label="no label")
    page.select_option("#filter [name=predicted]", label="3")
    page.locator("#label-filtered").click()
    page.locator("#bulk-dialog", has_text="rows of the filter").wait_for()
    page.keyboard.press("3")
    page.locator("#bulk-dialog", has_text="No row is predicted otherwise").wait_for()


def test_the_automatic_choice_runs_and_is_cancelled(visit, digits):
    page = visit(digits)
    page.keyboard.press("g")
    page.locator("#model-shown", has_text="Automatic choice:").wait_for()
    page.locator("#fit", has_text="Cancel").click()
    page.locator("#model-shown", has_text="live predictions").wait_for()


def test_a_hostile_table_is_labeled_from_nothing_by_the_keyboard(visit, hostile):
    page = visit(hostile)
    assert page.title() == "<b>pets.csv: graphmargin studio"
    assert page.locator("#classes", has_text="No class yet").count() == 1
    for name in (HOSTILE, "dog", "third"):
        page.keyboard.press("n")
        page.keyboard.type(name)
        press(page, "Enter", "Added the class")
        page.keyboard.press("Escape")
    size = two_groups()["size"]
    for _ in range(6):
        row = row_at_hand(page)
        press(page, "1" if size[row] < 5 else "2", f"Labeled row {row + 1}:")
    assert (predictions(page) == np.where(size < 5, HOSTILE, "dog")).mean() == 1
    press(page, "y", "Labeled row")
    page.keyboard.press("c")
    page.keyboard.type("do")
    press(page, "Enter", ": dog.")
    press(page, "z", "Undone")
    page.locator("#classes button.edit").nth(2).press("Enter")
    page.keyboard.press("Tab")  # from the name to its button, and on to the classes
    page.keyboard.press("Tab")
    page.keyboard.type("dog")
    page.keyboard.press("Tab")
    press(page, "Enter", "Merged into dog.")
    assert page.locator("#classes .class").count() == 2
    page.locator("#classes button.edit").nth(1).press("Enter")
    page.keyboard.type("<s>dog")
    press(page, "Enter", "Renamed to <s>dog.")
    page.keyboard.press("/")
    page.keyboard.type("onload=window.hacked=1>'\" 5")
    page.locator("#total", has_text=re.compile("^11 rows$")).wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.locator("#help-dialog", has_text="Skip the row").wait_for()
    page.keyboard.press("Escape")
    page.mouse.move(*places(page)[7])
    page.locator("#tip dl").wait_for()
    texts = page.inner_text("#row-panel .cells")
    assert HOSTILE in texts
    assert page.locator("img, svg svg, b b, i:not(.bar):not([class^=k])").count() == 0
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    with page.expect_download() as download:
        page.locator("#said button", has_text="Download").click()
    exported = pd.read_csv(download.value.path())
    assert exported.equals(pd.read_csv(hostile.folder / "<b>pets-labeled.csv"))
    assert (exported["<i>kind"] == np.where(size < 5, HOSTILE, "<s>dog")).all()
    assert page.evaluate("window.hacked") is None


def test_a_killed_server_resumes_where_it_was(start, visit, tmp_path):
    table = two_groups().assign(kind=None)
    table.loc[[0, 59], "kind"] = ["no", "yes"]
    table.to_csv(tmp_path / "pets.csv", index=False)
    content = (tmp_path / "pets.csv").read_bytes()
    server = start(tmp_path, "pets.csv", "--target", "kind")
    page = visit(server)
    for _ in range(3):
        press(page, "y", "Labeled row")
    press(page, "s", "Skipped row")
    decided = set(page.evaluate(DECIDED))
    os.kill(server.process.pid, signal.SIGKILL)
    page.locator("#notices", has_text="The server does not answer").wait_for()
    port = server.origin.rpartition(":")[2]
    server = start(tmp_path, "pets.csv", "--target", "kind", "--port", port)
    page.locator("#notices", has_text="has a new address").wait_for()
    page.complaints.clear()  # the browser reports answers that did not come
    page.goto(server.new_address())
    page.wait_for_selector("#row-panel .prediction")
    assert n_labels(page) == 5
    assert set(page.evaluate(DECIDED)) == decided
    assert row_at_hand(page) not in decided
    press(page, "z", "Undone: skip")
    press(page, "z", "Undone: label")
    assert n_labels(page) == 4
    assert (tmp_path / "pets.csv").read_bytes() == content
    label_in_a_narrow_window(visit(server, width=390, height=844))


@pytest.fixture
def plain_pages(browser):
    """Return a function that opens a page of a browser of its own, without any expectation."""
    with ExitStack() as contexts:

        def open_page(context=None):
            if context is None:
                context = browser.new_context()
                contexts.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(60_000)
            return page

        yield open_page


@pytest.mark.skipif(os.name != "posix", reason="the browser is a shell script")
def test_the_browser_gets_a_private_file_in_place_of_the_token(start, plain_pages, tmp_path):
    two_groups().to_csv(tmp_path / "pets.csv", index=False)
    arguments, script = tmp_path / "arguments", tmp_path / "browser.sh"
    script.write_text(f'#!/bin/sh\necho "$@" > {arguments}.new\nmv {arguments}.new {arguments}\n')
    script.chmod(0o755)
    server = start(tmp_path, "pets.csv", "--target", "kind", browser=f"{script} %s")
    page = plain_pages()
    page.goto(server.origin)  # the server answers, so that the browser was started before
    page.locator("#notices", has_text="Open the newest address").wait_for()
    given = arguments.read_text().strip()
    assert "token" not in given
    file = Path(given.removeprefix("file://"))
    assert file.stat().st_mode & 0o777 == 0o600
    address = re.search(r"url=([^\"]+)", file.read_text())[1]
    page.goto(given)
    page.wait_for_selector("#classes .empty")
    assert "token" not in page.url
    other = plain_pages()
    other.goto(address)
    other.locator("#notices", has_text="Open the newest address").wait_for()
    for _ in range(2):  # the tab was closed, and the address in the terminal is opened twice
        printed = server.new_address()
        other.goto(printed)
        other.wait_for_selector("#classes .empty")
        again = plain_pages(other.context)
        again.goto(printed)
        again.wait_for_selector("#classes .empty")
    os.kill(server.process.pid, signal.SIGTERM)
    assert server.process.wait() == 128 + signal.SIGTERM
    assert not file.exists()


def test_other_servers_of_this_machine_get_nothing(plain_pages, hostile):
    received = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            received.append(str(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    page = plain_pages()
    page.goto(hostile.new_address())
    page.wait_for_selector("#row-panel .prediction, #classes", state="attached")
    secret = None
    until = time.monotonic() + 30
    while secret is None:  # the page's policy forbids the text that `wait_for_function` evaluates
        assert time.monotonic() < until, "the page keeps no secret"
        secret = page.evaluate("localStorage.getItem('studio-secret')")
    with HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.handle_request)
        thread.start()
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        thread.join()
        assert page.evaluate("localStorage.length") == 0
    assert "cookie" not in received[0].lower()
    assert secret not in received[0]
    assert page.context.cookies() == []
    assert page.request.get(f"{hostile.origin}/api/rows/0").status == 401


def test_an_export_asks_before_it_replaces_a_file(start, visit, tmp_path):
    table = two_groups().assign(kind=None)
    table.loc[[0, 1, 58, 59], "kind"] = ["no", "no", "yes", "yes"]
    table.to_csv(tmp_path / "pets.csv", index=False)
    out = tmp_path / "pets-labeled.csv"
    out.write_text("mine")
    page = visit(start(tmp_path, "pets.csv", "--target", "kind"))

    def export():
        page.keyboard.press("e")
        page.keyboard.press("Enter")

    export()
    dialog = page.locator("#replace-dialog", has_text="Pets-labeled.csv exists already")
    dialog.get_by_role("button", name="Keep it").click()
    assert out.read_text() == "mine"
    export()
    dialog.get_by_role("button", name="Replace").click()
    said(page, "Wrote pets-labeled.csv")
    assert len(pd.read_csv(out)) == 60
    press(page, "y", "Labeled row")
    export()
    said(page, "Wrote pets-labeled.csv")
    page.complaints.clear()  # the browser reports the answer that led to the question


def label_in_a_narrow_window(page):
    """Label by yes or no with the thumb, and look at every tab."""
    before = n_labels(page)
    row = row_at_hand(page)
    buttons = page.locator(".choices.two .answer")
    sizes = [box.bounding_box() for box in buttons.all()]
    assert all(size["height"] >= 64 and size["width"] >= 150 for size in sizes)
    picture(page, "narrow")
    buttons.nth(1).click()
    said(page, f"Labeled row {row + 1}: yes.")
    assert n_labels(page) == before + 1
    for tab in ("Map", "Overview", "Table", "Label"):
        page.locator("#tabs button", has_text=tab).click()
        assert page.locator("main > section:visible").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_follow_the_system_and_have_contrast(visit, digits, scheme):
    page = visit(digits, scheme=scheme)
    texts = ("h1", "#progress", "#advice", ".soft", ".reason", "th button", "td", ".chart text")
    for selector in (*texts, "kbd", "#said", ".answer .name"):
        ink, paper = page.locator(selector).first.evaluate(COLORS)
        assert contrast(ink, paper) >= 4.5, selector
    ink, paper = page.locator("h1").evaluate(COLORS)
    assert (luminance(ink) < luminance(paper)) == (scheme == "light")
    for swatch in page.locator("#classes .mark").all():
        ink, paper = swatch.evaluate(COLORS)
        assert contrast(ink, paper) >= 2.5
    picture(page, scheme)
    page.click("#theme")
    switched = page.locator("h1").evaluate(COLORS)
    assert (luminance(switched[0]) < luminance(switched[1])) == (scheme == "dark")


def test_every_control_has_a_name(visit, digits):
    page = visit(digits)
    controls = page.locator("button:visible, input:visible, select:visible, [tabindex]:visible")
    names = controls.evaluate_all("""(all) => all.map((one) =>
        one.getAttribute('aria-label') || (one.matches('button') && one.textContent.trim()))""")
    assert len(names) > 40
    assert all(names)
    assert page.locator("#said[role=status][aria-live=polite]").count() == 1


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end)
    page.mouse.up()


DECIDED = """async () => {
    const { getBytes } = await import('/page/api.js');
    const bytes = new Uint8Array((await getBytes('/api/predictions')).bytes);
    const rows = [...Array(bytes.length / 4).keys()];
    return rows.filter((row) => bytes[4 * row] !== 255 || bytes[4 * row + 3]);
}"""
COLORS = """element => {
    const style = getComputedStyle(element);
    let behind = element;
    while (/^rgba\\(.*, 0\\)$/.test(getComputedStyle(behind).backgroundColor)) {
        behind = behind.parentElement;
    }
    const ink = element.matches('.chart text') ? style.fill : style.color;
    return [ink, getComputedStyle(behind).backgroundColor];
}"""


def luminance(color):
    """Return the relative luminance of an opaque color, as WCAG defines it."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)
