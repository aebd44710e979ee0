"use strict";
(function () {
  const given = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const config = { displaylogo: false, responsive: true,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };
  const first = 60;         // rows of a long table shown at first
  const draw = new Map();   // element of the page -> function that draws it
  const cellTexts = 20;     // classes up to which the cells of a confusion matrix show their counts

  const variable = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // plotly interprets some HTML in every text, so texts of files are escaped.
  const percent = (share, digits = 0) => (100 * share).toFixed(digits) + " %";
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function wrap(text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
      if (lines[lines.length - 1].length + word.length > width) lines.push("");
      lines[lines.length - 1] += (lines[lines.length - 1] ? " " : "") + word;
    }
    return lines.map(plain).join("<br>");
  }

  function themed(layout) {
    const axis = { gridcolor: variable("--line"), zeroline: false, linecolor: variable("--line"), automargin: true };
    const found = Object.assign({}, layout);
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

  // Each figure returns [traces, layout] for the values that the report gives it.
  const figures = {
    confusion({ counts, names, ticks }) {
      const places = names.map((_, i) => i);
      const shares = counts.map((row) => { const n = Math.max(row.reduce((a, b) => a + b, 0), 1); return row.map((k) => k / n); });
      const text = places.map((i) => places.map((j) => "true: " + plain(names[i]) + "<br>predicted: " + plain(names[j])
        + "<br>" + counts[i][j] + " rows, " + percent(shares[i][j]) + " of the class"));
      const cells = places.length > cellTexts ? [] : places.flatMap((i) => places.filter((j) => counts[i][j]).map((j) => ({
        x: j, y: i, text: String(counts[i][j]), showarrow: false,
        font: { size: 11, color: variable(shares[i][j] > 0.5 ? "--on-first" : "--ink") } })));
      const axis = { tickvals: places, ticktext: ticks.map(plain), showgrid: false };
      return [[{ type: "heatmap", x: places, y: places, z: shares, zmin: 0, zmax: 1, text: text, hovertemplate: "%{text}<extra></extra>",
        colorscale: [[0, variable("--surface")], [1, variable("--first")]], showscale: false, xgap: 1, ygap: 1 }],
      { xaxis: { title: { text: "predicted" }, tickangle: -45, ...axis },
        yaxis: { title: { text: "true" }, autorange: "reversed", ...axis }, annotations: cells }];
    },

    labels({ curve }) {
      const labels = curve.map((point) => point.labels);
      // The ends of an interval of differences may lie where no accuracy can be.
      const clip = (share) => 100 * Math.min(1, Math.max(0, share));
      const [low, high] = ["low", "high"].map((end) => curve.map((point) => clip(point.without + point[end])));
      const line = (key, name, colour, dash) => ({ type: "scatter", mode: "lines+markers", x: labels, name: name,
        y: curve.map((point) => 100 * point[key]), line: { color: variable(colour), dash: dash },
        hovertemplate: "%{y:.1f} % with %{x} per class<extra></extra>" });
      return [[{ type: "scatter", mode: "lines", x: [...labels, ...labels.slice().reverse()], y: [...high, ...low.reverse()],
        fill: "toself", fillcolor: variable("--band"), line: { width: 0 }, hoverinfo: "skip", name: "95 % interval of the difference" },
      line("with_source", "with the source", "--first", "solid"),
      line("without", "best rule without the source", "--second", "dash")],
      { xaxis: { title: { text: "labels per class" }, type: "log", tickvals: labels, ticktext: labels.map(String) },
        yaxis: { title: { text: "accuracy in per cent" } }, showlegend: true,
        legend: { orientation: "h", y: -0.22, yanchor: "top", x: 0 } }];
    },

    histogram({ counts, name }) {
      const n = counts.length, edge = (i) => (i / n).toFixed(2);
      return [[{ type: "bar", x: counts.map((_, i) => (i + 0.5) / n), y: counts, width: 0.92 / n, marker: { color: variable("--first") },
        customdata: counts.map((_, i) => edge(i) + " to " + edge(i + 1)), hovertemplate: "%{y} rows of %{customdata}<extra></extra>" }],
      { xaxis: { title: { text: name }, range: [0, 1] }, yaxis: { title: { text: "rows" } } }];
    },
  };

  function traces(cloud, plane, domain, shown) {
    const [x, y] = cloud[plane], found = new Map();
    const visible = (i) => shown.domain[cloud.domain[i]] && shown.group[cloud.group[i]];
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
      const what = cloud.class[i] === null ? "" : ", " + plain(cloud.class[i]) + (known ? "" : " (predicted)");
      trace.x.push(x[i]); trace.y.push(y[i]);
      trace.customdata.push([plain(cloud.id[i]), (d ? "target" : "source") + what,
        cloud.words[i] ? "<br>" + wrap(cloud.words[i], touch ? 32 : 56) : ""]);
    }
    // Unlabelled rows are drawn first, small groups above large ones.
    const known = (trace) => Number(!trace.marker.symbol.endsWith("open"));
    return [...found.values()].sort((a, b) => known(a) - known(b) || b.x.length - a.x.length);
  }

  for (const box of document.querySelectorAll(".cloud")) {
    const cloud = given.clouds[Number(box.dataset.cloud)];
    const shown = { domain: [true, true], group: cloud.names.map(() => true) };
    const frames = [...box.querySelectorAll(".figure")];
    for (const frame of frames) {
      const plane = frame.dataset.plane, domain = frame.dataset.domain === undefined ? null : Number(frame.dataset.domain);
      const share = domain === null ? cloud.afterShare : cloud.beforeShare[domain];
      const name = domain === null ? "" : (domain ? "target, " : "source, ");
      const axes = { xaxis: { title: { text: name + "first axis (" + percent(share[0]) + " of the variance)" } },
        yaxis: { title: { text: "second axis (" + percent(share[1]) + ")" } }, uirevision: "kept" };
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
    draw.set(frame, () => {
      const [data, layout] = figures[figure.kind](figure.values);
      Plotly.react(frame, data, themed(layout), config);
    });
  }

  // Figures are drawn when they come near the screen, because thousands of points are slow on a phone.
  function show(frame) { if (!frame.drawn) { frame.drawn = true; draw.get(frame)(); } }
  const watcher = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => show(e.target)),
    { rootMargin: "300px" });
  for (const frame of draw.keys()) watcher.observe(frame);
  window.addEventListener("beforeprint", () => [...draw.keys()].forEach(show));

  for (const input of document.querySelectorAll("input.find")) {
    const rows = [...input.nextElementSibling.querySelectorAll("tbody tr, .match")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const more = document.createElement("button");
    let most = first;
    function filter() {
      const words = input.value.toLowerCase();
      let found = 0;
      rows.forEach((row, i) => { row.hidden = !texts[i].includes(words) || ++found > most; });
      more.hidden = found <= most;
      more.textContent = "show all " + found.toLocaleString("en");
    }
    more.type = "button";
    more.addEventListener("click", () => { most = Infinity; filter(); });
    input.addEventListener("input", filter);
    input.nextElementSibling.after(more);
    filter();
  }

  // Words that both rows of a pair have are marked; cells are texts, and stay texts.
  const words = /\d+(?:[.,]\d+)+|[\p{L}\p{N}]+/gu, tokens = (texts) => new Set(texts.join(" ").toLowerCase().match(words) || []);
  for (const box of document.querySelectorAll(".pair")) {
    const sides = ["left", "right"].map((side) => [...box.querySelectorAll("." + side)]);
    const [ours, theirs] = sides.map((cells) => tokens(cells.map((cell) => cell.textContent)));
    sides[0].forEach((cell, k) => {
      const other = sides[1][k], same = cell.textContent.trim().toLowerCase();
      if (same && same === other.textContent.trim().toLowerCase()) [cell, other].forEach((one) => one.classList.add("equal"));
    });
    for (const cell of sides.flat()) {
      const text = cell.textContent, parts = [];
      let from = 0;
      for (const found of text.matchAll(words)) {
        const word = found[0].toLowerCase();
        if (!ours.has(word) || !theirs.has(word)) continue;
        const mark = document.createElement("mark");
        mark.textContent = found[0];
        parts.push(text.slice(from, found.index), mark);
        from = found.index + found[0].length;
      }
      cell.replaceChildren(...parts, text.slice(from));
    }
  }

  for (const box of document.querySelectorAll(".cuts")) {
    const cuts = given.cuts[Number(box.dataset.cuts)], input = box.querySelector("input");
    const move = () => {
      const now = cuts[Number(input.value)];
      box.querySelector("output").textContent = percent(now[0]);
      for (const cell of box.querySelectorAll("[data-cut]")) {
        const value = now[Number(cell.dataset.cut)];
        cell.textContent = cell.dataset.cut === "1" ? value.toLocaleString("en") : percent(value, 1);
      }
    };
    // The first cut that leaves something out, less one: what the file holds.
    input.value = Math.max(0, cuts.findIndex((row) => row[1] < cuts[0][1]) - 1);
    input.addEventListener("input", move);
    move();
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
