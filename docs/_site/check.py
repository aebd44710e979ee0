"""Check the built site: links and pictures exist, nothing is fetched from the network, every example has a picture.

python docs/_site/check.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors, links and fetched files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if found.get("src"):
            self.fetched.append(found["src"])
        if tag == "link" and found.get("rel") != "canonical" and found.get("href"):
            self.fetched.append(found["href"])


def main(folder: Path) -> int:
    """Print what is wrong and return how much that is."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    wrong = []
    for path, page in pages.items():
        for address in page.links + page.fetched:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.fetched and parts.scheme != "data":
                    wrong.append(f"{path.relative_to(folder.resolve())}: {address} is fetched from the network")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                wrong.append(f"{path.relative_to(folder.resolve())}: {address} leads nowhere")
        if path.parent.name == "examples" and path.name.startswith("plot_"):
            picture = f"sphx_glr_{path.stem}_001.png"
            if not any(address.endswith(picture) for address in page.fetched):
                wrong.append(f"{path.relative_to(folder.resolve())}: expected a picture, got none")
    words = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages, {words} links, {len(wrong)} wrong", *sorted(set(wrong)), sep="\n")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
