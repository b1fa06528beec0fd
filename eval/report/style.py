# ruff: noqa: E501  a style sheet
"""The page's style sheet: light and dark by the reader's setting, no font or picture from anywhere."""

CSS = """
:root{color-scheme:light dark;--paper:#fcfcfa;--card:#fff;--ink:#1d2126;--dim:#5c6570;--rule:#dcdfe3;
--mine:#0b62b8;--o0:#b35900;--o1:#7a4fb5;--o2:#00795f;--o3:#a3315f;--good:#0a7a3f;--bad:#b3261e;--mark:#ffe49c}
@media(prefers-color-scheme:dark){:root{--paper:#14171a;--card:#1c2024;--ink:#e8eaed;--dim:#a3abb5;
--rule:#343a41;--mine:#6fb3ff;--o0:#f0a35e;--o1:#b99cf0;--o2:#5fc9ac;--o3:#ee8fb5;--good:#6fd39a;--bad:#ff9088;
--mark:#5c4a10}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header,footer{max-width:1340px;margin:0 auto;padding:0 20px}
header{padding-top:32px}h1{font-size:1.7rem;margin:0 0 4px}h2{margin:48px 0 8px;font-size:1.35rem;
border-top:2px solid var(--rule);padding-top:24px}h3{margin:32px 0 8px;font-size:1.08rem}
p{max-width:76ch;margin:8px 0}.dim,figcaption,footer{color:var(--dim);font-size:.9rem}
nav{margin:12px 0}nav a{margin-right:16px}a{color:var(--mine)}
.numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:12px;margin:16px 0;padding:0}
.numbers div{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 14px}
.numbers dt{color:var(--dim);font-size:.85rem}.numbers dd{margin:0;font-size:1.5rem;font-weight:600;
font-variant-numeric:tabular-nums}.numbers small{display:block;font-size:.8rem;font-weight:400;color:var(--dim)}
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--rule);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:6px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left}thead th{color:var(--dim);font-weight:600;vertical-align:bottom}
tbody tr:last-child td,tbody tr:last-child th{border-bottom:0}tbody th{font-weight:600}
td small,th small{color:var(--dim);font-weight:400}.off{color:var(--dim)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(430px,1fr));gap:16px}
.charts figure{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:10px 12px}
.charts .two{display:grid;grid-template-columns:1fr 1fr;gap:8px}
@media(max-width:520px){.charts{grid-template-columns:1fr}.charts .two{grid-template-columns:1fr}}
figcaption b{color:var(--ink)}svg{display:block;width:100%;height:auto}svg.bars{max-width:760px}
.grid{stroke:var(--rule);stroke-width:1}.ideal{stroke:var(--dim);stroke-width:1;stroke-dasharray:4 4}
.tick,.value{fill:var(--dim);font-size:10px}.value{font-size:12px}.name{fill:var(--ink);font-size:13px}
.line{fill:none;stroke-width:1.4}.mine{stroke:var(--mine);stroke-width:2.4}.thin{stroke-width:1.2}
.other0{stroke:var(--o0);stroke-dasharray:6 3}.other1{stroke:var(--o1);stroke-dasharray:2 3}
.other2{stroke:var(--o2);stroke-dasharray:8 3 2 3}.other3{stroke:var(--o3);stroke-dasharray:1 2}
.dot{fill:var(--card);stroke:var(--mine);stroke-width:2.4}.bin{fill:var(--mine);fill-opacity:.75}
.zero{stroke:var(--dim);stroke-width:1}.interval{stroke-width:3}
.better{stroke:var(--good);fill:var(--good)}.worse{stroke:var(--bad);fill:var(--bad)}
.even{stroke:var(--dim);fill:var(--dim)}
.legend{display:flex;flex-wrap:wrap;gap:6px 20px;margin:8px 0 12px;padding:0;list-style:none;font-size:.9rem}
.legend svg{width:34px;display:inline-block;vertical-align:middle;margin-right:6px}
.case{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:10px 14px;margin:10px 0}
.case p{margin:4px 0;overflow-wrap:anywhere;white-space:pre-wrap}.case .who{color:var(--dim);font-size:.82rem;
margin-right:8px}.case .head{font-size:.9rem}.case mark{background:var(--mark);color:inherit;border-radius:3px}
.limits li{max-width:90ch;margin:4px 0}footer{padding:40px 20px}
@media print{:root{color-scheme:light;--paper:#fff;--card:#fff;--ink:#000;--dim:#444;--rule:#bbb;--mark:#ffe49c}
body{font-size:12px}main,header,footer{max-width:none;padding:0}nav{display:none}.wide{overflow:visible;border:0}
table{font-size:9px}th,td{padding:3px 4px;white-space:normal}tr,.case,figure{break-inside:avoid}}
"""
