"use strict";
(function () {
  const $ = (id) => document.getElementById(id);
  const kind = document.body.dataset.kind;
  const tab = Array.from(crypto.getRandomValues(new Uint8Array(12)), (n) => n.toString(16).padStart(2, "0")).join("");
  const words = /\d+(?:[.,]\d+)+|[\p{L}\p{N}]+/gu;
  const percent = (share) => (share < 1 && share >= 0.9995 ? "> 99.9" : (100 * share).toFixed(share < 1 && share >= 0.995 ? 1 : 0)) + "\u00a0%";
  let state = null, busy = false, timer = null, cut = 0, shown = "";

  // All texts of files go through textContent: nothing in them is markup.
  function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }
  const fill = (element, ...children) => { element.replaceChildren(...children); return element; };
  const tokens = (text) => new Set((text || "").toLowerCase().match(words) || []);

  function marked(name, text, common) {
    const cell = make("div", name);
    if (!text) return fill(cell, make("span", "none", "empty"));
    let from = 0;
    for (const found of text.matchAll(words)) {
      if (!common.has(found[0].toLowerCase())) continue;
      cell.append(text.slice(from, found.index), make("mark", "", found[0]));
      from = found.index + found[0].length;
    }
    cell.append(text.slice(from));
    return cell;
  }
  const both = (a, b) => { const left = tokens(a); return new Set([...tokens(b)].filter((word) => left.has(word))); };

  function showPair(question) {
    const grid = make("div", "pair");
    grid.append(make("div", "head"), make("div", "head", question.files[0] + " · " + question.source), make("div", "head right", question.files[1] + " · " + question.target));
    for (const [name, a, b] of question.shared) {
      const common = both(a, b), equal = a && b && a.trim().toLowerCase() === b.trim().toLowerCase() ? " equal" : "";
      grid.append(make("div", "name", name), marked("cell" + equal, a, common), marked("cell right" + equal, b, common));
    }
    const every = question.only.map((cells) => cells.map(([, text]) => text).join(" "));
    const whole = question.shared.map(([, a, b]) => [a, b]);
    const common = both(every[0] + " " + whole.map(([a]) => a).join(" "), every[1] + " " + whole.map(([, b]) => b).join(" "));
    const rest = Math.max(question.only[0].length, question.only[1].length);
    for (let k = 0; k < rest; k++) {
      const names = question.only.map((cells) => (cells[k] || [""])[0]);
      grid.append(make("div", "name", names[0] === names[1] ? names[0] : names.filter(Boolean).join(" | ")));
      question.only.forEach((cells, side) => grid.append(cells[k] ? marked("cell" + (side ? " right" : ""), cells[k][1], common) : make("div", side ? "right" : "")));
    }
    return [grid];
  }

  function showRow(question) {
    const grid = make("div", "pair");
    grid.append(make("div", "head"), make("div", "head wide", question.file + " · " + question.target));
    for (const [name, text] of question.cells) grid.append(make("div", "name", name), marked("cell wide", text, new Set()));
    const guesses = make("div", "guesses");
    question.guesses.forEach((name, k) => {
      const button = fill(make("button"), name + " ", make("kbd", "", String(k + 1)));
      button.type = "button";
      button.addEventListener("click", () => answer("y", name));
      guesses.append(button);
    });
    const select = make("select");
    select.setAttribute("aria-label", "another class");
    select.append(new Option("another class …", ""), ...question.classes.map((name) => new Option(name, name)));
    select.addEventListener("change", () => { if (select.value) answer("y", select.value); });
    guesses.append(select);
    const near = question.near.map((row) => fill(make("div", "near"), make("b", "", row.class), " · " + row.file + " · " + row.id, make("div", "soft", row.text)));
    return [grid, guesses, ...(near.length ? [make("h2", "", "Nearest rows with a label")] : []), ...near];
  }

  function showParts(parts) {
    const largest = Math.max(1e-9, ...parts.map(([, value]) => Math.abs(value)));
    return parts.filter(([, value]) => Math.abs(value) >= (kind === "match" ? 0.05 : 0.005)).map(([name, value]) => {
      const bar = make("i", value < 0 ? "against" : ""), width = (kind === "match" ? 50 : 100) * Math.abs(value) / largest;
      bar.style.width = width + "%";
      bar.style.left = (kind === "match" ? (value < 0 ? 50 - width : 50) : 0) + "%";
      const figure = kind === "match" ? (value < 0 ? "−" : "+") + Math.abs(value).toFixed(1) : percent(value);
      return fill(make("div", "part"), make("span", "", name), fill(make("div"), bar), make("span", "", figure));
    });
  }

  function gauge(name, share, note) {
    const box = make("div", "gauge");
    if (!share) return fill(box, make("b", "", "?"), make("span", "", " " + name + ": not sampled yet"));
    const bar = make("div", "bar"), range = make("i"), here = make("u");
    range.style.left = 100 * share.low + "%";
    range.style.width = 100 * (share.high - share.low) + "%";
    here.style.left = "calc(" + 100 * share.value + "% - 1px)";
    return fill(box, make("b", "", percent(share.value)), make("span", "", " " + name), fill(bar, range, here), make("span", "soft", "between " + percent(share.low) + " and " + percent(share.high) + "; " + note));
  }

  function showQuality() {
    const rows = state.quality, now = rows[cut];
    $("cut-label").hidden = !rows.length;
    if (!now) return fill($("quality"), make("p", "soft", "Not measured yet."));
    $("cut").max = rows.length - 1;
    $("cut-value").textContent = percent(now.cut);
    const claimed = now.right + now.wrong, there = now.right + now.missed;
    const boxes = [gauge(kind === "match" ? "precision" : "accuracy", now.precision, now.right + " of " + claimed + " sampled are right")];
    const further = now.unseen === 1 ? "; 1 more row may have one beyond its candidates" : "; " + now.unseen + " more rows may have one beyond their candidates";
    if (kind === "match") boxes.push(gauge("recall", now.recall, now.right + " of " + there + " sampled partners are found" + (now.unseen ? further : "")));
    fill($("quality"), ...boxes);
    $("claims").textContent = now.claims.toLocaleString("en") + (kind === "match" ? " matches are kept at this threshold." : " rows keep their class at this threshold.");
  }

  function show() {
    const working = state.working !== null, question = state.question;
    $("working").hidden = !working;
    $("working-title").textContent = (kind === "match" ? "Matching" : "Labelling") + (state.ready ? " again in the background; go on answering." : " …");
    $("working-step").textContent = working ? state.working : "";
    $("problem").hidden = !state.error;
    $("problem").textContent = state.error || "";
    $("count").textContent = state.answered + (state.answered === 1 ? " answer" : " answers");
    $("card").hidden = $("keys").hidden = !question;
    $("done").hidden = Boolean(question) || !state.ready;
    // What is read, or chosen from a list, is not drawn again by what goes on in the background.
    if (question && shown !== (shown = JSON.stringify(question))) {
      $("ask").textContent = kind === "match" ? "Are these the same object?" : "Is this row of class “" + question.source + "”?";
      fill($("records"), ...(kind === "match" ? showPair(question) : showRow(question)));
    }
    $("undo").disabled = !state.answered;
    $("again").disabled = working || !state.ready;
    $("settled").hidden = !state.settled;
    $("sentence").textContent = (kind === "match" && state.sentence ? "The last run, doubtful matches included: " : "") + (state.sentence || "");
    $("next").hidden = !state.answered;
    fill($("command"), ...state.again.split(/( )/).map((word) => make("span", "", word)));
    const changes = state.changes;
    $("changes").textContent = changes ? "The last run, with " + changes.answers + " more answers, added " + changes.added + " and removed " + changes.removed + " of " + changes.of + "." : state.new ? state.new + " answers are not used yet." : "";
    $("last").hidden = !state.last;
    if (state.last) {
      const said = { y: "yes", n: "no", "?": "unsure" }[state.last.verdict], p = state.last.probability;
      $("last").querySelector("summary").textContent = "Last answer: " + said + (p === null ? "" : " · the program said " + percent(p)) + (kind === "match" ? ". What speaks for it" : ". The likeliest classes");
      fill($("last").querySelector("div"), ...showParts(state.last.parts));
    }
    showQuality();
    clearTimeout(timer);
    if (working) timer = setTimeout(() => ask({ action: "state" }), 400);
  }

  async function ask(wanted, tries = 0) {
    if (busy && wanted.action === "state") { timer = setTimeout(() => ask(wanted), 200); return; }
    busy = true;
    try {
      const reply = await fetch("act", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ tab, ...wanted }) });
      const found = await reply.json();
      if (found.elsewhere) {
        // The tab that is being reloaded may not have said goodbye yet.
        if (wanted.action === "claim" && tries < 4) { setTimeout(() => ask(wanted, tries + 1), 250); return; }
        $("other").hidden = false;
        $("all").hidden = true;
        clearTimeout(timer);
      } else if (!reply.ok) {
        $("problem").hidden = false;
        $("problem").textContent = found.problem;
      } else {
        $("other").hidden = true;
        $("all").hidden = false;
        state = found;
        show();
      }
    } catch (error) {
      $("problem").hidden = false;
      $("problem").textContent = "The server does not answer. Start `isthmus review` again: all answers up to here are in the file.";
    } finally {
      busy = false;
    }
  }

  function answer(verdict, other) {
    if (busy || !state || !state.question) return;
    const { source, target } = state.question;
    ask({ action: "answer", source: other === undefined ? source : other, target, verdict });
    window.scrollTo({ top: 0 });
  }
  document.querySelectorAll("[data-verdict]").forEach((button) => button.addEventListener("click", () => answer(button.dataset.verdict)));
  $("undo").addEventListener("click", () => { if (!busy) ask({ action: "undo" }); });
  $("again").addEventListener("click", () => ask({ action: "again" }));
  $("take").addEventListener("click", () => ask({ action: "claim", force: "yes" }));
  $("cut").addEventListener("input", () => { cut = Number($("cut").value); showQuality(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    const key = event.key.toLowerCase();
    if (["y", "n", "?"].includes(key)) answer(key);
    else if (key === "u" && !$("undo").disabled && !busy) ask({ action: "undo" });
    else if (key === "m" && !$("again").disabled) ask({ action: "again" });
    else if (kind === "label" && state && state.question && /^[1-9]$/.test(key)) { const name = state.question.guesses[Number(key) - 1]; if (name !== undefined) answer("y", name); }
  });
  window.addEventListener("pagehide", () => navigator.sendBeacon("act", new Blob([JSON.stringify({ tab, action: "release" })], { type: "application/json" })));
  window.addEventListener("pageshow", (event) => { if (event.persisted) ask({ action: "claim" }); });
  ask({ action: "claim" });
})();
