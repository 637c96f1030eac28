import pytest

import check_site

EXAMPLE = '<div class="highlight">f(x)</div>'


@pytest.fixture
def site(tmp_path):
    """Return a function that writes pages, and returns what is wrong with them."""

    def build(packages=(), **pages):
        for name, body in pages.items():
            (tmp_path / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
        return check_site.problems(tmp_path, list(packages))

    return build


def test_a_correct_site_has_no_problem(site):
    links = '<a href="other.html#there">1</a><a href="#here">2</a><a href="https://x.org">3</a>'
    assert not site(index=f'<p id="here">{EXAMPLE}{links}</p>', other=f'{EXAMPLE}<p id="there">')


@pytest.mark.parametrize("url", ["gone.html", "other.html#gone", "#gone", "gone.png"])
def test_a_link_that_leads_nowhere_is_a_problem(site, url):
    found = site(index=f'{EXAMPLE}<a href="{url}">', other=EXAMPLE)
    assert found == [f"index.html: the link {url} leads nowhere"]


def test_what_a_browser_loads_is_on_the_site(site):
    found = site(
        index=f'{EXAMPLE}<script src="https://x.org/a.js"></script><link href="b.css">',
    )
    assert found == [
        "index.html: https://x.org/a.js is loaded from elsewhere",
        "index.html: the link b.css leads nowhere",
    ]


def test_pictures_have_a_text(site, tmp_path):
    for name in ("a.png", "b.png", "c_thumb.png"):
        (tmp_path / name).touch()
    found = site(
        index='<img src="a.png" alt="a cut"><img src="b.png" alt=""><img src="c_thumb.png">'
    )
    assert found == ["index.html: the picture b.png has no text"]


def test_pages_have_an_example(site, tmp_path):
    (tmp_path / "c_thumb.png").touch()
    (tmp_path / "gallery").mkdir()
    thumbnail = '<img src="c_thumb.png">'
    found = site(
        index=f"<p>words</p>{thumbnail}", genindex="", **{"gallery/index": "<p>a list</p>"}
    )
    assert found == ["index.html: the page has no example"]


def test_public_names_are_in_the_api_reference(site):
    places = "".join(f'<p id="graphmargin.{name}">' for name in ("graph.components", "knn_graph"))
    found = site(["graphmargin.graph"], index=EXAMPLE + places)
    assert found == ["graphmargin.graph.laplacian is not in the API reference"]


def test_all_packages_with_public_names_are_checked():
    packages = check_site.public_packages()
    assert packages[0] == "graphmargin"
    assert {"graphmargin.cli", "graphmargin.theory"} <= set(packages)
