"""The page on a labeled table in a real browser: what a person sees, and what hover does."""

import io
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from graphmargin.report.labeling_page import labeling_page
from tests.report.changes import change

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: run tools/install_chromium, or apt-get install chromium"
)

LONG = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch" * 4


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Return a function that opens a page; what it complains about or asks for is a failure."""
    opened = []

    def open_page(report, *, width=1200, scheme="light"):
        file = tmp_path / "report.html"
        html = labeling_page(report, table_path="out.csv", model_path="model.graphmargin")
        file.write_text(html, encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",  # what fades is gone at once
        )
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(file.as_uri())
        opened.append((page, file.as_uri()))
        return page

    yield open_page
    for page, address in opened:
        asked = [url for url in page.asked if not url.startswith("data:")]
        complaints = page.complaints
        page.close()
        assert complaints == []
        assert asked == [address]


def test_the_page_opens_without_errors_or_requests(visit, report):
    page = visit(report)
    assert page.title() == "pets.csv: 1,742 rows labeled"
    assert page.locator("#map .p").count() == 24
    assert page.locator("section:visible").count() == 12


@pytest.mark.parametrize("width", [390, 1200])
def test_hovering_shows_the_row(visit, report, width):
    page = visit(report, width=width)
    tip = page.locator("#tip")
    assert not tip.is_visible()
    for index in (0, 11, 23):
        row, is_given = hover(page, index)
        i = report.map.rows.index(row)
        text = tip.inner_text()
        assert text.startswith(report.summary.classes[report.map.codes[i]])
        assert report.map.is_given[i] == is_given
        assert re.search(rf"row\s+{row}\b", text)
        assert re.search("label\\s+" + ("given" if is_given else "predicted"), text)
        assert re.search(rf"size\s+{i} cm", text)
        assert ("confidence" in text) == (not is_given)
        assert page.locator("#map .here").count() == 1
        box, plane = tip.bounding_box(), page.locator(".plane").bounding_box()
        assert plane["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= plane["x"] + plane["width"] + 1
        point = page.locator("#map .here").bounding_box()
        center = point["y"] + point["height"] / 2
        assert not box["y"] <= center <= box["y"] + box["height"]
        neighbors = page.locator("#map .near").get_attribute("d").count("L")
        assert neighbors == (1 if row in (101, 124) else 2)  # along a ring that is open
    page.mouse.move(1, 1)
    assert not tip.is_visible()
    assert page.locator("#map .here").count() == 0


def test_a_click_or_a_key_in_the_legend_highlights_a_class(visit, report):
    page = visit(report)
    dog = page.locator("#legend button").nth(1)
    dog.hover()
    assert set(codes_in_view(page)) == {1}
    page.mouse.move(1, 1)
    assert set(codes_in_view(page)) == {0, 1, 2}
    dog.click()
    page.mouse.move(1, 1)
    page.locator("h1").click()
    assert dog.get_attribute("aria-pressed") == "true"
    assert set(codes_in_view(page)) == {1}
    dog.click()
    page.mouse.move(1, 1)
    page.locator("h1").click()
    assert dog.get_attribute("aria-pressed") == "false"
    assert set(codes_in_view(page)) == {0, 1, 2}
    eel = page.locator("#legend button").nth(2)
    eel.focus()
    assert set(codes_in_view(page)) == {2}
    page.keyboard.press("Enter")
    assert eel.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(visit, report, scheme):
    page = visit(report, scheme=scheme)
    for selector in ("h1", ".lead", ".note", ".warning", "thead th", "td", ".chart text"):
        ink, paper = page.locator(selector).first.evaluate(COLORS)
        assert contrast(ink, paper) >= 4.5, selector
        assert (luminance(ink) < luminance(paper)) == (scheme == "light"), selector
    for code in range(12):
        ink, paper = page.evaluate(SWATCH, code)
        assert contrast(ink, paper) >= 2.5, code


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_never_scrolls_sideways(visit, report, width):
    cells = {LONG: LONG}
    shares, intervals = np.full(30, 0.123), np.full((30, 2), 0.456)
    estimate = replace(
        report.summary.estimate,
        recall=shares,
        recall_interval=intervals,
        precision=shares,
        precision_interval=intervals,
    )
    wide = change(
        report,
        table=LONG,
        estimate=estimate,
        rare_class=LONG,
        min_confidence=0.95,
        classes=(LONG, *(f"{code} {LONG}" for code in range(29))),
        given_counts=(1,) * 30,
        final_counts=(1_000_000,) * 30,
        warnings=(LONG,),
        graph_lines=(LONG,),
        least_certain=(replace(report.least_certain[0], label=LONG, other=LONG, cells=cells),),
        columns=tuple(replace(report.summary.columns[0], name=f"{LONG} {i}") for i in range(40)),
    )
    for shown in (report, wide):
        page = visit(shown, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_long_text_can_be_opened(visit, report):
    page = visit(report)
    cell = page.locator("#suspicious td details")
    assert cell.inner_text() == "long ..."
    cell.locator("summary").click()
    assert cell.inner_text().split("\n")[-1] == "long and smooth"
    assert "long ..." not in cell.inner_text()
    cell.locator("summary").click()
    assert cell.inner_text() == "long ..."


def test_a_table_that_is_cut_off_has_a_shadow_at_its_edge(visit, report):
    def edges(width):
        box = visit(report, width=width).locator("#quality .scroll").first
        image = Image.open(io.BytesIO(box.screenshot())).convert("L")
        y = image.height - 30
        return [image.getpixel((x, y)) for x in (2, image.width - 3)]

    left, right = edges(390)
    assert left > 250 > right + 10
    assert min(edges(1200)) > 250


def test_hostile_names_run_nothing(visit, hostile):
    report, text = hostile
    page = visit(report)
    hover(page, 5)
    assert text.replace("\u2028", "") in page.locator("#tip").inner_text().replace("\u2028", "")
    label = page.locator("#legend button").first.inner_text()
    assert label.startswith("</script><img src=x onerror=window.hacked=1>")
    page.wait_for_timeout(100)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_the_policy_blocks_an_injected_script(visit, report):
    page = visit(report)
    page.evaluate("""() => {
        const made = document.createElement('script');
        made.textContent = 'window.hacked = 1';
        document.body.append(made);
    }""")
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in page.complaints)
    page.complaints.clear()


def hover(page, index):
    """Point at a point of the map; return its row, and whether its label was given."""
    point = page.locator("#map .p").nth(index)
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator("#tip").wait_for(state="visible")
    row, _, _, is_given, _ = map_data(page)["points"][index]
    return row, is_given


def map_data(page):
    return page.evaluate("JSON.parse(document.getElementById('map-data').textContent)")


def codes_in_view(page):
    """Return the classes of the points that are not faded out."""
    return page.evaluate("""() => {
        const data = JSON.parse(document.getElementById('map-data').textContent);
        return [...document.querySelectorAll('#map .p')]
            .map((p, i) => [getComputedStyle(p).opacity, data.points[i][1]])
            .filter(([opacity]) => opacity > 0.5).map(([, code]) => code);
    }""")


COLORS = """element => {
    const style = getComputedStyle(element);
    const ink = element.namespaceURI.endsWith('svg') ? style.fill : style.color;
    let behind = element;
    while (/^rgba\\(.*, 0\\)$/.test(getComputedStyle(behind).backgroundColor)) {
        behind = behind.parentElement;
    }
    return [ink, getComputedStyle(behind).backgroundColor];
}"""
SWATCH = """code => {
    const probe = document.querySelector('#classes').appendChild(document.createElement('i'));
    probe.className = `k${code}`;
    const card = document.querySelector('#classes');
    return [getComputedStyle(probe).backgroundColor, getComputedStyle(card).backgroundColor];
}"""


def luminance(color):
    """Return the relative luminance of an opaque color, as WCAG defines it."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)
