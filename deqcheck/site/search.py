"""Full-text search from the file system: the index is a script, which needs no server."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.site.frame import SCRIPT, SEARCH, Page

PROGRAM = """
const box = document.getElementById("words"), list = document.getElementById("found");
const told = document.getElementById("told");
function seek() {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  list.replaceChildren();
  if (!words.length) { told.textContent = ""; return; }
  const hits = PAGES.filter(([path, title, text]) => {
    const all = (title + " " + text).toLowerCase();
    return words.every(word => all.includes(word));
  });
  const inTitle = page => words.every(word => page[1].toLowerCase().includes(word));
  hits.sort((a, b) => inTitle(b) - inTitle(a));
  told.textContent = hits.length + " pages";
  for (const [path, title, text] of hits.slice(0, 60)) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = path; link.textContent = title;
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
    const about = document.createElement("div");
    about.className = "soft"; about.textContent = text.slice(at, at + 180);
    item.append(link, about); list.append(item);
  }
}
box.addEventListener("input", seek);
box.value = new URLSearchParams(location.search).get("q") || "";
seek();
"""


def search_page() -> Page:
    body = join(
        tag("p", tag("label", "Words: ", tag("input", type="search", id="words", autofocus=""))),
        tag("p", id="told", role="status"),
        tag("ul", id="found"),
        tag("noscript", tag("p", "The search needs JavaScript; every other page does without.")),
        tag("script", src=SCRIPT),
        tag("script", Markup(PROGRAM)),
    )
    return Page(SEARCH, "Search", body)


def index_of(pages: Sequence[Page]) -> str:
    found = [[page.path, page.title, _text(page.body)] for page in pages]
    # A script may not hold the end of a script.
    return f"const PAGES = {json.dumps(found).replace('</', '<' + chr(92) + '/')};\n"


def _text(body: str) -> str:
    """What a reader sees, without the markup and what is hidden from readers."""
    bare = re.sub(r"<(style|svg|math)\b.*?</\1>", " ", body, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", bare)).split())
