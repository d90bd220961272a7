"""The style sheet of a report page: light and dark, narrow and wide, screen and paper."""

from deqcheck.report.parts.svg import SWITCHES

_SHEET = """
:root { color-scheme: light dark;
  --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --panel: #f6f8fa; --rule: #d0d7de;
  --good: #1a7f37; --bad: #c8102e; --open: #8a5a00; --link: #0550ae;
  --c0: #1b1f24; --c1: #0072b2; --c2: #b8470a; --c3: #00795c; --c4: #a2437c; --c5: #7a5c00;
  --c6: #3d6f8e; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e6edf3; --soft: #9ea7b3; --paper: #0d1117; --panel: #161b22; --rule: #3d444d;
  --good: #4ac26b; --bad: #ff7b72; --open: #e3b341; --link: #79c0ff;
  --c0: #e6edf3; --c1: #58a6ff; --c2: #ffa657; --c3: #56d364; --c4: #f29ad0; --c5: #e3b341;
  --c6: #9cd1ef; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
header, main, footer { max-width: 60rem; margin: 0 auto; padding: 0 1rem; }
footer { color: var(--soft); border-top: 1px solid var(--rule); padding: 1rem; margin-top: 3rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .5rem; z-index: 1; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
a { color: var(--link); }
h1 { font-size: 1.6rem; margin: 1.5rem 0 .5rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .5rem; border-bottom: 2px solid var(--rule); }
h3 { font-size: 1.1rem; margin: 0 0 .3rem; }
h4 { font-size: 1rem; margin: 1rem 0 .2rem; color: var(--soft); font-weight: 600; }
p { margin: .4rem 0; }
code, pre, .formula { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: .88em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--panel); padding: .7rem;
  border-radius: 6px; margin: .4rem 0; }
.formula { overflow-wrap: anywhere; overflow-x: auto; }
math { font-size: 1.08em; font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", math; }
.plain { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
@supports not (math-style: compact) { .math > [aria-hidden] { display: none; }
  .plain { position: static; width: auto; height: auto; clip-path: none; white-space: normal; } }
article { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px;
  padding: 1rem; margin: 1rem 0; }
article pre { background: var(--paper); }
.soft { color: var(--soft); }
.word { font-weight: 700; white-space: nowrap; }
.word.good { color: var(--good); } .word.bad { color: var(--bad); }
.word.open { color: var(--open); }
.erratum { border-left: 4px solid var(--open); padding-left: .7rem; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0; font-size: .93rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
  border-top: 1px solid var(--rule); overflow-wrap: break-word; }
thead th { border-top: 0; color: var(--soft); font-weight: 600; }
.judged { table-layout: fixed; }
.judged th:nth-child(1) { width: 5.2rem; } .judged th:nth-child(2) { width: 40%; }
.judged th:nth-child(4) { width: 12.5rem; }
.numbers td { font-variant-numeric: tabular-nums; }
details { margin: .6rem 0; }
summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .4rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr));
  gap: 1rem; }
figure { margin: 1rem 0 0; max-width: 36rem; break-inside: avoid; }
figcaption { font-weight: 600; }
svg { color: var(--ink); }
svg.plot { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font: 13px system-ui, "Segoe UI", Arial, sans-serif; }
.legend { list-style: none; margin: .3rem 0; padding: 0; font-size: .88rem; }
.legend li { display: flex; gap: .6rem; align-items: flex-start; }
.legend svg { flex: none; margin-top: .25rem; }
.axis { stroke: var(--soft); } .grid { stroke: var(--rule); stroke-width: .6; }
.line { fill: none; stroke-width: 1.7; } .line.measured { stroke-width: 2.8; }
.mark { fill: var(--paper); stroke-width: 1.4; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.c6 { stroke: var(--c6); }
.violation { fill: none; stroke: var(--bad); stroke-width: 2.4; }
.beyond { fill: var(--soft); opacity: .2; } .hatch { stroke: var(--soft); stroke-width: .7; }
.crossing, .slide { stroke: var(--soft); stroke-width: .8; } .crossing { stroke-dasharray: 1 3; }
.entry { stroke: var(--good); stroke-width: 1.6; stroke-dasharray: 6 3; }
.margin { vertical-align: middle; max-width: 60%; }
.n, .judged td:nth-child(4) { white-space: nowrap; }
.answer { font-size: 1.08rem; border-left: 4px solid var(--link); padding-left: .7rem; }
.edition { margin-right: 1.2rem; white-space: nowrap; }
.only { font-size: .82em; font-weight: 600; color: var(--open); }
.differs td { background: color-mix(in srgb, var(--open) 9%, transparent); }
mark { background: color-mix(in srgb, var(--open) 35%, transparent); color: inherit; }
.legend label { display: flex; gap: .6rem; align-items: flex-start; cursor: pointer; }
.legend input { flex: none; margin: .3rem 0 0; accent-color: var(--link); }
.hit { fill: transparent; stroke: none; pointer-events: all; } .point { outline: none; }
.tip { visibility: hidden; fill: var(--ink); paint-order: stroke; stroke: var(--paper);
  stroke-width: 4px; font-weight: 600; }
.point:hover .tip, .point:focus .tip { visibility: visible; }
.point:hover .hit, .point:focus .hit { stroke: var(--link); stroke-width: 2; }
@@SWITCHES@@
.bar.holds { fill: var(--good); } .bar.violated { fill: var(--bad); }
.bar.undecided { fill: var(--open); } .pass { stroke: var(--ink); stroke-width: 1.6; }
@media (max-width: 40rem) {
  table.judged thead { position: absolute; left: -99rem; }
  table.judged tr { display: block; border-top: 1px solid var(--rule); padding: .4rem 0; }
  table.judged td { display: block; border: 0; padding: .05rem 0; }
  article { padding: .7rem; } svg text { font-size: 16px; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .3rem; } }
@page { margin: 1.3cm; }
@media print {
  :root { --ink: #000; --soft: #444; --paper: #fff; --panel: #fff; --rule: #bbb; --link: #000;
    --good: #1a7f37; --bad: #c8102e; --open: #8a5a00;
    --c0: #000; --c1: #0072b2; --c2: #b8470a; --c3: #00795c; --c4: #a2437c; --c5: #7a5c00;
    --c6: #3d6f8e; }
  body { font-size: 8.4pt; line-height: 1.25; }
  header, main, footer { max-width: none; padding: 0; }
  .figures { grid-template-columns: 1fr 1fr; } .judged th:nth-child(4) { width: 8rem; }
  .skip, .aside, .legend input, .point { display: none; } tr, figure { break-inside: avoid; }
  header table { display: none; } article { padding: .3rem .5rem; margin: .4rem 0; }
  table { font-size: 7.6pt; } th, td { padding: .06rem .4rem .06rem 0; } p { margin: .2rem 0; }
  h2 { margin: .6rem 0 .2rem; font-size: 12pt; } h3 { font-size: 10.5pt; } h4 { margin: .3rem 0 0; }
  figure { max-width: 7.4cm; margin: .1rem 0; } .legend { font-size: 7.5pt; }
  .judged .soft, .judged .only { display: inline; } .answer { font-size: 1em; }
  h1 { font-size: 14pt; margin: 0; } footer { margin-top: .5rem; padding: .3rem 0; }
  h2, h3, h4, summary { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""
# A curve is shown while the box beside its name is ticked.
_SWITCHES = "\n".join(
    f"figure:has(.s{i}:not(:checked)) .t{i} {{ display: none; }}" for i in range(SWITCHES)
)
SHEET = _SHEET.replace("@@SWITCHES@@", _SWITCHES)
