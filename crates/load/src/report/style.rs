//! The style sheet of the HTML report: light and dark by the reader's setting, print included.
//!
//! Colours are those of Okabe and Ito, told apart by people who see few colours; dashes tell lines apart besides.

/// Colours for lines and bars, in turn.
pub(super) const COLOURS: usize = 7;

/// Everything between `<style>` and `</style>`.
pub(super) const CSS: &str = "
:root { color-scheme: light dark; --ink: #1b1b1f; --soft: #5c5c66; --rule: #d9d9e0; --paper: #fff; --card: #f6f6f9;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a8478a; --c4: #8a6d00; --c5: #2f6f8f; --c6: #555;
  --good: #00724f; --warn: #9a5b00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf1; --soft: #a5a5b2; --rule: #3a3a44; --paper: #16161a; --card: #202027;
  --c0: #56b4e9; --c1: #ff9a4d; --c2: #3fd3a5; --c3: #e694c8; --c4: #f0e442; --c5: #9ad0e6; --c6: #bbb;
  --good: #3fd3a5; --warn: #f0b84d; --bad: #ff8a80; } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem }
h3 { font-size: .95rem; font-weight: 600; margin: 1rem 0 .35rem; color: var(--soft) }
p { margin: .25rem 0 .75rem } .soft { color: var(--soft) }
.scroll { overflow-x: auto } .tight th, .tight td { padding: .25rem .4rem; font-size: .84rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; width: 100% }
caption { text-align: left; color: var(--soft); padding: .25rem 0 }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left; white-space: normal } thead th { color: var(--soft); font-weight: 600 }
th.indent { padding-left: 1.6rem; font-weight: 400 } tbody th { font-weight: 500; text-align: left }
.cards { display: grid; gap: .75rem; padding: 0; margin: 1.25rem 0 }
.wide1 { grid-template-columns: 1fr } .wide2 { grid-template-columns: repeat(2, 1fr) } .wide3 { grid-template-columns: repeat(3, 1fr) }
.wide4 { grid-template-columns: repeat(4, 1fr) } .wide5 { grid-template-columns: repeat(5, 1fr) }
@media (max-width: 54rem) { .middle1 { grid-template-columns: 1fr } .middle2 { grid-template-columns: repeat(2, 1fr) }
  .middle3 { grid-template-columns: repeat(3, 1fr) } .middle4 { grid-template-columns: repeat(4, 1fr) } }
@media (max-width: 36rem) { .cards { grid-template-columns: repeat(2, 1fr) } .cards div:first-child:nth-last-child(odd) { grid-column: 1 / -1 } }
.cards div { background: var(--card); border-radius: .5rem; padding: .7rem .9rem } .cards dt { color: var(--soft); font-size: .85rem }
.cards dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums } .cards dd.span { color: var(--soft); font-size: .8rem }
.verdict { border-left: .35rem solid var(--good); background: var(--card); padding: .6rem .9rem; border-radius: .25rem; margin: 1rem 0 }
.verdict.suspect { border-color: var(--warn) } .verdict.invalid { border-color: var(--bad) } .verdict ul { margin: .25rem 0 0; padding-left: 1.2rem }
figure { margin: 0 } svg { width: 100%; height: auto; display: block; background: var(--card); border-radius: .5rem }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif } svg text.soft { fill: var(--soft) }
svg .grid { stroke: var(--rule); stroke-width: 1 } svg .line { fill: none; stroke-width: 2; stroke-linejoin: round }
svg .window { fill: var(--soft); opacity: .08 }
svg .word { paint-order: stroke; stroke: var(--card); stroke-width: 4px }
svg .mark { stroke-width: 1.5; stroke-dasharray: 4 4 } figure svg + svg { margin-top: .5rem } svg circle { cursor: default }
.s0 { stroke: var(--c0) } .s1 { stroke: var(--c1) } .s2 { stroke: var(--c2) } .s3 { stroke: var(--c3) } .s4 { stroke: var(--c4) } .s5 { stroke: var(--c5) } .s6 { stroke: var(--c6) }
.f0 { fill: var(--c0) } .f1 { fill: var(--c1) } .f2 { fill: var(--c2) } .f3 { fill: var(--c3) } .f4 { fill: var(--c4) } .f5 { fill: var(--c5) } .f6 { fill: var(--c6) }
.d1 { stroke-dasharray: 7 3 } .d2 { stroke-dasharray: 2 3 } .d3 { stroke-dasharray: 9 3 2 3 }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: .4rem 0; font-size: .9rem }
.legend svg { display: inline-block; width: 2rem; height: .8rem; vertical-align: middle; margin-right: .4rem; background: none; border-radius: 0 }
details { margin: .5rem 0 } summary { cursor: pointer; color: var(--soft) } details .scroll { max-height: 24rem; overflow: auto }
pre { background: var(--card); padding: 1rem; border-radius: .5rem; overflow-x: auto; font-size: .8rem; line-height: 1.35 }
@media print { body { max-width: none } details { display: none } }
";
