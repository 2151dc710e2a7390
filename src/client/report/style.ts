/**
 * The style of a report. Its charts are readable without it: they carry their colors as attributes, which these rules
 * replace in the dark. A printed report is always light.
 */
export const style = `
:root{color-scheme:light dark;--bg:#fff;--text:#17181c;--dim:#5a5f6b;--line:#e3e4e8;--soft:#f6f6f8;--done:#3f9a70;--failed:#c9332d;--flight:#2c52c9;--resent:#9a6200;--lost:#a9adb8;--none:#e6e7eb;--term:#5b78d6;--gap:#fbe3e1;--ok:#17714a;--warn:#8a5a00;--bad:#b62a25}
@media screen and (prefers-color-scheme:dark){:root{--bg:#0f1013;--text:#e8e9ed;--dim:#a0a5b0;--line:#2a2c33;--soft:#17191d;--done:#3c9a6c;--failed:#f0655b;--flight:#8fabff;--resent:#e3ae4d;--lost:#5a5f6b;--none:#2a2d34;--term:#7f99ee;--gap:#40201f;--ok:#4fc48d;--warn:#e3ae4d;--bad:#ff8379}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:960px;margin:0 auto;padding:40px 24px 56px}
header{border-bottom:1px solid var(--line);padding-bottom:24px}
h1{margin:4px 0 8px;font-size:26px;font-weight:600;letter-spacing:-.015em;line-height:1.25;overflow-wrap:anywhere}
h2{margin:0 0 12px;font-size:16px;font-weight:600;letter-spacing:-.005em}
p{margin:0 0 12px;max-width:92ch}section>:last-child{margin-bottom:0}.scroll+p,.scroll+.scroll,.scroll+.facts,.facts+.scroll,pre+.facts,.note+.scroll{margin-top:16px}
.dim,caption,.facts th{color:var(--dim)}
.state{font-weight:600}.state svg{vertical-align:-2px;margin-right:6px}
.ok{color:var(--ok)}.warn{color:var(--warn)}.bad{color:var(--bad)}.run{color:var(--flight)}
.note{margin:16px 0 0;padding:10px 14px;background:var(--soft);border-left:3px solid var(--line);max-width:none;overflow-wrap:anywhere}
.note.warn{border-color:var(--warn);color:inherit}.note.bad{border-color:var(--bad);color:inherit}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:16px 24px;margin:24px 0 0}
.figures dt{color:var(--dim);font-size:12px}.figures dd{margin:0;font-size:18px;font-weight:600;letter-spacing:-.01em}.figures dd+dd{font-size:12px;font-weight:400;letter-spacing:0}
section{padding:28px 0;border-bottom:1px solid var(--line)}section:last-of-type{border:0}
svg{display:block;max-width:100%;height:auto}.state svg,.key svg{display:inline}
svg .done{fill:var(--done)}svg .failed{fill:var(--failed)}svg .flight{fill:var(--flight)}svg .resent{fill:var(--resent)}svg .lost{fill:var(--lost)}svg .none{fill:var(--none)}svg .term{fill:var(--term)}svg .gap{fill:var(--gap)}
svg text{fill:var(--dim);font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
svg .grid{stroke:var(--line)}svg .curve{stroke:var(--done)}svg .cross{stroke:var(--bg)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;min-width:50%;font-size:13px}.facts{width:100%}
caption{text-align:left;padding:0 0 6px;font-size:12px}
th,td{padding:5px 32px 5px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);overflow-wrap:break-word}
table:not(.facts) td:first-child,.t{white-space:nowrap}.long{min-width:224px;overflow-wrap:anywhere}.facts td{overflow-wrap:anywhere}
thead th{color:var(--dim);font-weight:500;font-size:12px;white-space:nowrap}
tbody tr:last-child>*{border-bottom:0}
th.n,td.n{text-align:right;white-space:nowrap}th:last-child,td:last-child{padding-right:0}
table:not(.facts) code{white-space:nowrap}.facts th{width:184px;font-weight:400}.note+.scroll{margin-top:16px}.facts td{white-space:pre-wrap}
.chart{margin:0 0 16px}.key{display:flex;flex-wrap:wrap;gap:4px 20px;margin:0 0 16px;padding:0;list-style:none;color:var(--dim);font-size:12px}.key svg{margin-right:6px;vertical-align:-1px}
pre{margin:0;padding:12px 14px;background:var(--soft);font:12px/1.55 ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
code{font:12px ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,monospace;overflow-wrap:anywhere}
img{max-width:100%;height:auto;image-rendering:auto;border:1px solid var(--line)}
footer{padding-top:24px;color:var(--dim);font-size:12px;border-top:1px solid var(--line)}
@media (max-width:560px){main{padding:24px 16px 40px}th,td{padding-right:18px}.facts th{width:112px}.chart{min-width:560px}}
@media print{:root{color-scheme:light}main{max-width:none;padding:0}section{padding:16px 0}h2,thead,.chart,tr,.figures{break-inside:avoid}h2{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}.scroll{overflow:visible}}
`;
