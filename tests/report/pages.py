"""A page as a reader's program sees it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "wbr", "br", "hr", "link", "img", "input"}


class Page(HTMLParser):
    """Collects elements, ids, links and texts; complains about tags that do not match."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        last = self.open.pop()
        assert last == tag.lower(), f"</{tag}> closes <{last}>"

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.tags)

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] for _, attrs in self.tags if attrs.get(attribute)]
