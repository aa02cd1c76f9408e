"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const slider = document.getElementById("point");
const place = id => document.getElementById(id);
const digits = (value, n) => value === null ? "–" : Number(value.toPrecision(n)).toLocaleString("en", {maximumSignificantDigits: n});
const percent = share => (100 * share).toFixed(1) + " %";
let chosen = 0;

function composition(point) {
  const rows = [];
  for (const k of data.drawn) {
    let start = 0;
    data.parts.forEach((members, p) => {
      const share = members.reduce((sum, j) => sum + point.shares[k][j], 0);
      const wanted = members.reduce((sum, j) => sum + data.target[j], 0);
      rows.push({cluster: data.clusters[k], group: data.part_names[p], share, wanted, start,
        end: Math.min(1, start + share), count: String(Math.round(share * point.sizes[k] * 1e6) / 1e6)});
      start += share;
    });
  }
  return rows;
}

function cloud(index) {
  const {x, y, group, labels} = data.cloud;
  return x.map((_, i) => ({x: x[i], y: y[i], cluster: data.clusters[labels[index][i]], group: data.shapes[group[i]]}));
}

function cell(kind, text) {
  const made = document.createElement(kind);
  const inner = document.createElement("bdi");
  inner.textContent = text;
  made.append(inner);
  return made;
}

function numbers(point) {
  const head = document.createElement("tr");
  head.append(...["cluster", "size", ...data.groups, "fairness error"].map(text => cell("th", text)));
  place("head").replaceChildren(head);
  const worst = point.errors.indexOf(Math.max(...point.errors));
  const rows = data.clusters.map((cluster, k) => {
    const row = document.createElement("tr");
    if (k === worst && point.errors[k] > 1e-9) row.className = "worst";
    row.append(cell("th", cluster), cell("td", digits(point.sizes[k], 8)),
      ...point.shares[k].map(share => cell("td", percent(share))), cell("td", point.errors[k].toFixed(4)));
    return row;
  });
  const wanted = document.createElement("tr");
  wanted.className = "all";
  wanted.append(cell("th", "target"), cell("td", ""), ...data.target.map(share => cell("td", percent(share))), cell("td", ""));
  place("rows").replaceChildren(...rows, wanted);
}

async function choose(index) {
  chosen = Math.max(0, Math.min(data.points.length - 1, index));
  const point = data.points[chosen], plain = data.points[0];
  slider.value = chosen;
  place("asked").textContent = point.goal;
  place("objective").textContent = digits(point.objective, 6);
  const rise = 100 * (point.objective / plain.objective - 1);
  place("rise").textContent = plain.objective > 0 ? (rise >= 0.05 ? "+" : "") + rise.toFixed(1) + " %" : "–";
  place("error").textContent = digits(point.error, 3);
  place("worst").textContent = digits(point.worst, 3);
  place("balance").textContent = digits(point.balance, 3);
  slider.setAttribute("aria-valuetext",
    point.goal + ", fairness error " + digits(point.error, 4));
  numbers(point);
  await window.fairclustReady;
  if (data.points[chosen] !== point) return;
  views.tradeoff.data("chosen", [{index: chosen, x: point.error, y: point.objective}]);
  views.composition.data("composition", composition(point));
  const drawing = [views.tradeoff.runAsync(), views.composition.runAsync()];
  if (views.projection) drawing.push(views.projection.data("points", cloud(chosen)).runAsync());
  await Promise.all(drawing);
  document.body.dataset.drawn = chosen;
}

function neutral(text) {
  // A spreadsheet would run a cell that begins like this; a quote before it makes it text.
  const safe = /^[\s]*[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

function save(name, lines) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff" + lines.join("\n") + "\n"], {type: "text/csv;charset=utf-8"}));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function unpack(text, bytes) {
  const packed = Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  return bytes === 1 ? new Uint8Array(buffer) : bytes === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer);
}

async function saveLabels() {
  const labels = await unpack(data.labels[chosen], data.label_bytes);
  const rows = data.row_numbers ? await unpack(data.row_numbers, 4) : null;
  const lines = ["row,cluster"];
  labels.forEach((label, i) => lines.push((rows ? rows[i] : i + 1) + "," + label));
  save("labels-" + chosen + ".csv", lines);
}

function saveShares() {
  const point = data.points[chosen];
  const lines = ["cluster,size," + data.groups.map(neutral).join(",") + ",fairness_error"];
  data.clusters.forEach((cluster, k) =>
    lines.push([neutral(cluster), point.sizes[k], ...point.shares[k], point.errors[k]].join(",")));
  save("shares-" + chosen + ".csv", lines);
}

slider.addEventListener("input", () => choose(Number(slider.value)));
place("plain").addEventListener("click", () => choose(0));
place("fairest").addEventListener("click", () => choose(data.points.length - 1));
place("goal")?.addEventListener("click", () => choose(met));
place("save-labels")?.addEventListener("click", saveLabels);
place("save-shares").addEventListener("click", saveShares);
document.addEventListener("keydown", event => {
  if (event.target.matches("input, textarea") || event.altKey || event.ctrlKey || event.metaKey) return;
  const step = {ArrowRight: 1, ArrowLeft: -1, Home: -data.points.length, End: data.points.length}[event.key];
  if (step === undefined) return;
  event.preventDefault();
  choose(chosen + step);
});
window.fairclustReady.then(() => views.tradeoff.addEventListener("click", (event, item) => {
  if (item && item.datum && Number.isInteger(item.datum.index)) choose(item.datum.index);
}));
const met = data.met;
choose(met < 0 ? 0 : met);
