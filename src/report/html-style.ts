/**
 * The look of the HTML report: light and dark, narrow and wide, on paper. System fonts, nothing loaded. The series' colours
 * are Okabe and Ito's, which all common kinds of colour vision tell apart; blue and green are lighter on dark.
 */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--page:#fff;--card:#f6f8fa;--mark:#005a8f;--bad:#a63b00;--doubt:#7a5b00;--thin:#8b949e;--c0:#0072B2;--c1:#E69F00;--c2:#009E73;--c3:#D55E00;--c4:#56B4E9;--c5:#CC79A7}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b3;--line:#343c46;--page:#0f1318;--card:#171c23;--mark:#6cc0f0;--bad:#ff9a5c;--doubt:#e3b341;--thin:#7d8794;--c0:#3d9bdc;--c2:#1fbf92;--c3:#e8743a}}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--card:#fff;--mark:#005a8f;--bad:#a63b00;--doubt:#7a5b00;--thin:#888;--c0:#0072B2;--c2:#009E73;--c3:#D55E00}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1180px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:30px;line-height:1.2;margin:2px 0 6px;letter-spacing:-.015em;text-wrap:balance;overflow-wrap:anywhere}
h2{font-size:20px;line-height:1.3;margin:48px 0 12px;padding-top:18px;border-top:1px solid var(--line);overflow-wrap:anywhere}
p{margin:6px 0}.soft,small{color:var(--soft)}.lead{font-size:16px}
header p,.remarks,.verdicts,section>p{overflow-wrap:anywhere}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:12px;margin:22px 0}
.fact{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 16px}
.fact b{display:block;font-size:20px;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.checks span{margin-right:12px}
.wide{overflow-x:auto}
:focus-visible{outline:2px solid var(--mark);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:7px 10px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;white-space:nowrap}
th[scope=row],th:first-child{text-align:left;white-space:normal;min-width:120px;font-weight:600;position:sticky;left:0;background:var(--page)}
thead th,thead td{font-weight:600;color:var(--soft);white-space:normal;vertical-align:bottom}
caption{text-align:left;font-size:13px;color:var(--soft);padding-top:6px}
td small,th small{display:block;font-size:12px;font-weight:400;font-style:normal}
.note{white-space:normal}
.grey{color:var(--soft);font-style:italic}
.best{font-weight:650;color:var(--mark)}.comparison td{min-width:104px}.star{font-weight:400}
.published{color:var(--soft)}
.facts-table{font-size:13.5px}.facts-table thead th{text-align:left}.facts-table td{text-align:left;white-space:normal;min-width:120px;overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,350px),1fr));gap:14px;margin:18px 0;align-items:start}
figure{margin:0;padding:12px 14px;border:1px solid var(--line);border-radius:8px;background:var(--card);min-width:0}
figure th[scope=row]{background:var(--card)}
figure:has(details[open]){grid-column:1/-1}
figcaption{font-weight:600;margin-bottom:6px}
figure>svg{width:100%;max-width:560px;height:auto;display:block}
svg text{font:11.5px system-ui,sans-serif;fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:1;fill:none}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.thin{fill:none;stroke:var(--thin);stroke-width:1.5;stroke-dasharray:4 3}
.mark{fill:var(--c);stroke:var(--card);stroke-width:.8}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}.s5{--c:var(--c5)}
.legend{list-style:none;padding:0;margin:8px 0 4px;font-size:13px;line-height:1.45}
.legend li{padding-left:34px;text-indent:-34px;overflow-wrap:anywhere}
.key{width:26px;height:12px;margin-right:8px;vertical-align:-1px}
.bar{display:block;width:100%;min-width:60px;height:6px;margin:4px 0 2px;border-radius:3px}
.track{fill:var(--line)}.fill{fill:var(--mark)}
.shares th,.shares td{padding:3px 8px 3px 0;border:0;font-size:13px;font-weight:400;vertical-align:middle}
.shares{grid-column:1/-1}.shares>div{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:6px 36px;align-items:start}
.shares th[scope=row]{min-width:0;width:34%}.barcell{width:36%}
.remarks,.verdicts{font-size:13.5px;color:var(--soft);padding-left:18px;margin:12px 0}.remarks b{color:var(--ink);font-weight:600}
.verdicts{list-style:none;padding:0}.pass{color:var(--mark)}.fail{color:var(--bad)}.unknown{color:var(--doubt)}
details{margin:8px 0}summary{cursor:pointer;color:var(--mark);font-size:13.5px}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px;margin:6px 0 14px;white-space:pre-wrap;overflow-wrap:anywhere}
button{font:inherit;padding:6px 14px;border:1px solid var(--line);border-radius:6px;background:var(--card);color:var(--ink);cursor:pointer}
@media(max-width:640px){.facts{grid-template-columns:1fr 1fr;gap:8px}.fact{padding:10px 12px}.fact b{font-size:16px}main{padding:20px 16px 48px}h1{font-size:24px}th,td{padding:6px 8px}th[scope=row],th:first-child{min-width:96px;max-width:128px}}
@media print{body{font-size:10.5px}.facts{grid-template-columns:1fr 1fr 1fr;gap:6px;margin:10px 0}.fact{padding:6px 8px}.fact b{font-size:13px}.lead{font-size:12px}h2{font-size:14px}main{max-width:none;padding:0}h1{font-size:20px}h2{margin-top:20px;break-after:avoid}button,summary{display:none}figure,tr,.fact,pre{break-inside:avoid}.wide{overflow:visible}th,td{padding:3px 5px}.facts-table td,.comparison td{white-space:normal}.charts{grid-template-columns:1fr 1fr 1fr;gap:8px}figure{padding:8px}.shares th,.shares td{font-size:9px;padding:1px 5px 1px 0}.bar{min-width:30px}.remarks,.verdicts,.facts-table,.legend,caption{font-size:9.5px}td small,th small{font-size:8.5px}}
`;
