/** The look of the HTML report: light and dark, narrow and wide, on paper. System fonts, nothing loaded. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--page:#fff;--card:#f6f8fa;--mark:#0072B2;--bad:#a63b00;--doubt:#7a5b00}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b3;--line:#3a424c;--page:#0f1318;--card:#171c23;--mark:#56B4E9;--bad:#ff9a5c;--doubt:#e3b341}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;line-height:1.25;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:19px;margin:40px 0 10px}
p{margin:6px 0}.soft,small{color:var(--soft)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:12px;margin:20px 0}
.fact{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px}
.fact b{display:block;font-size:19px;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:7px 8px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;min-width:130px}
thead th{font-weight:600;color:var(--soft);white-space:normal;vertical-align:bottom}
td small{display:block;font-size:12px;font-weight:400;white-space:normal}
.grey{color:var(--soft);font-style:italic}
.best{font-weight:650;color:var(--mark)}
.bar{display:block;height:5px;margin-top:3px;border-radius:3px;background:linear-gradient(90deg,var(--mark) var(--w),var(--line) var(--w))}
figure{margin:18px 0;padding:14px;border:1px solid var(--line);border-radius:8px;background:var(--card)}
figcaption{font-weight:600;margin-bottom:4px}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:8px 0 0;font-size:13px}
.key{display:inline-block;width:16px;height:4px;border-radius:2px;margin-right:6px;vertical-align:middle}
.remarks{font-size:13.5px;color:var(--soft);padding-left:18px}.remarks b{color:var(--ink);font-weight:600}
.pass{color:var(--mark)}.fail{color:var(--bad);font-weight:600}.unknown{color:var(--doubt)}
details{margin:10px 0;border:1px solid var(--line);border-radius:8px;padding:8px 14px}summary{cursor:pointer}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
button{font:inherit;padding:6px 12px;border:1px solid var(--line);border-radius:6px;background:var(--card);color:var(--ink);cursor:pointer}
@media print{body{font-size:11px}main{max-width:none;padding:0}button{display:none}figure,table,.fact{break-inside:avoid}details{border:0;padding:0}}
`;
