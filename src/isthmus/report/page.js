"use strict";
(function () {
  const given = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const config = { displaylogo: false, responsive: true, 
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };
  const first = 60;         // rows of a long table that are shown at first
  const draw = new Map();   // an element of the page, and what draws it

  const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // plotly reads some HTML in all texts: those of files are to be seen as they are.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function wrapped(text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
      if (lines[lines.length - 1].length + word.length > width) lines.push("");
      lines[lines.length - 1] += (lines[lines.length - 1] ? " " : "") + word;
    }
    return lines.map(plain).join("<br>");
  }

  function coloured(value) {
    if (typeof value === "string") return value.replace(/var\((--[a-z-]+)\)/g, (_, name) => variable(name));
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v)]));
    return value;
  }

  function themed(layout) {
    const axis = { gridcolor: variable("--line"), zeroline: false, linecolor: variable("--line"), automargin: true };
    const found = Object.assign({}, coloured(layout));
    for (const name of ["xaxis", "yaxis"]) found[name] = Object.assign({}, axis, found[name]);
    return Object.assign({
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: variable("--ink") },
      margin: { l: 8, r: 8, t: 30, b: 8 }, dragmode: touch ? false : "zoom",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("--soft"), activecolor: variable("--first") },
      hoverlabel: { align: "left", bgcolor: variable("--surface"), bordercolor: variable("--line"),
        font: { family: getComputedStyle(document.body).fontFamily, color: variable("--ink") } },
    }, found);
  }

  function traces(cloud, plane, domain, shown) {
    const [x, y] = cloud[plane], found = new Map();
    const links = { type: "scatter", mode: "lines", x: [], y: [], hoverinfo: "skip",
      line: { width: 0.7, color: variable("--soft") }, opacity: 0.45 };
    const visible = (i) => shown.domain[cloud.domain[i]] && shown.group[cloud.group[i]];
    if (plane === "after") for (const [i, j] of cloud.links) {
      if (visible(i) && visible(j)) { links.x.push(x[i], x[j], null); links.y.push(y[i], y[j], null); }
    }
    for (let i = 0; i < x.length; i++) {
      const d = cloud.domain[i], g = cloud.group[i], known = cloud.known[i];
      if (domain !== null && d !== domain) continue;
      const key = [d, g, known].join();
      if (!found.has(key)) {
        const colour = cloud.byDomain ? variable(d ? "--second" : "--first") : cloud.colours[g];
        const symbol = (d ? "triangle-up" : "circle") + (known ? "" : "-open");
        found.set(key, { type: "scatter", mode: "markers", x: [], y: [], customdata: [], visible: visible(i),
          meta: { domain: d, group: g }, name: "", marker: { color: colour, symbol: symbol, size: d ? 8 : 6.5,
            opacity: known ? 0.8 : 0.65, line: { width: known ? 0 : 1.1, color: colour } },
          hovertemplate: "<b>%{customdata[0]}</b><br>%{customdata[1]}%{customdata[2]}<extra></extra>" });
      }
      const trace = found.get(key);
      const what = cloud.byDomain || cloud.class[i] === "no class" ? "" : ", " + plain(cloud.class[i]) + (known ? "" : " (given)");
      trace.x.push(x[i]); trace.y.push(y[i]);
      trace.customdata.push([plain(cloud.id[i]), (d ? "target" : "source") + what,
        cloud.words[i] ? "<br>" + wrapped(cloud.words[i], touch ? 32 : 56) : ""]);
    }
    // Rows without a label lowest, small groups above large ones.
    const known = (trace) => Number(!trace.marker.symbol.endsWith("open"));
    const order = [...found.values()].sort((a, b) => known(a) - known(b) || b.x.length - a.x.length);
    return links.x.length ? [links, ...order] : order;
  }

  for (const box of document.querySelectorAll(".cloud")) {
    const cloud = given.clouds[Number(box.dataset.cloud)];
    const shown = { domain: [true, true], group: cloud.names.map(() => true) };
    const frames = [...box.querySelectorAll(".figure")];
    for (const frame of frames) {
      const plane = frame.dataset.plane, domain = frame.dataset.domain === undefined ? null : Number(frame.dataset.domain);
      const share = domain === null ? cloud.afterShare : cloud.beforeShare[domain];
      const name = domain === null ? "" : (domain ? "target, " : "source, ");
      const axes = { xaxis: { title: { text: name + "first axis (" + share[0] + " of the variance)" } },
        yaxis: { title: { text: "second axis (" + share[1] + ")" } }, uirevision: "kept" };
      if (domain === null) Object.assign(axes.yaxis, { scaleanchor: "x" });
      draw.set(frame, () => Plotly.react(frame, traces(cloud, plane, domain, shown), themed(axes), config));
    }
    const redraw = () => frames.filter((frame) => frame.drawn).forEach((frame) => draw.get(frame)());
    box.addEventListener("change", (event) => {
      const at = event.target.dataset, kind = at.domain === undefined ? "group" : "domain";
      shown[kind][Number(at[kind])] = event.target.checked;
      redraw();
    });
    box.addEventListener("click", (event) => {
      if (event.target.dataset.all === undefined) return;
      const on = event.target.dataset.all === "1";
      shown.group.fill(on);
      box.querySelectorAll("input[data-group]").forEach((input) => { input.checked = on; });
      redraw();
    });
  }
  for (const frame of document.querySelectorAll(".figure[data-figure]")) {
    const figure = given.figures[Number(frame.dataset.figure)];
    draw.set(frame, () => Plotly.react(frame, coloured(figure.data), themed(figure.layout), config));
  }

  // Figures are drawn when they come near the screen: thousands of points take a while on a phone.
  function show(frame) { if (!frame.drawn) { frame.drawn = true; draw.get(frame)(); } }
  const watcher = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => show(e.target)),
    { rootMargin: "300px" });
  for (const frame of draw.keys()) watcher.observe(frame);
  window.addEventListener("beforeprint", () => [...draw.keys()].forEach(show));

  for (const input of document.querySelectorAll("input.find")) {
    const rows = [...input.nextElementSibling.querySelectorAll("tbody tr")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const more = document.createElement("button");
    let most = first;
    function filter() {
      const words = input.value.toLowerCase();
      let found = 0;
      rows.forEach((row, i) => { row.hidden = !texts[i].includes(words) || ++found > most; });
      more.hidden = found <= most;
      more.textContent = "show all " + found;
    }
    more.type = "button";
    more.addEventListener("click", () => { most = Infinity; filter(); });
    input.addEventListener("input", filter);
    input.nextElementSibling.after(more);
    filter();
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)"), button = document.getElementById("theme");
  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  function redrawn() {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    for (const [frame, drawing] of draw) if (frame.drawn) drawing();
  }
  button.addEventListener("click", () => { root.dataset.theme = theme() === "dark" ? "light" : "dark"; redrawn(); });
  dark.addEventListener("change", redrawn);
  redrawn();
})();
