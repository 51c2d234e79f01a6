// Puts uPlot's curves in the place of the drawn ones. If anything here fails, those stay.
"use strict";
const plots = (() => {
  const data = JSON.parse(document.getElementById("plot-data").textContent);
  const HEIGHT = 340;
  const made = [];

  const probe = document.body.appendChild(document.createElement("i"));
  probe.hidden = true;
  // As the page's style has it now: light or dark.
  const colour = name => () => {
    probe.className = name;
    return getComputedStyle(probe).color;
  };
  const variable = name => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const digits = value => String(Number(value.toPrecision(3)));
  const time = ms => {
    if (ms == null) return "";
    if (ms >= 1000) return digits(ms / 1000) + " s";
    if (ms >= 1) return digits(ms) + " ms";
    return ms >= 0.001 ? digits(ms * 1000) + " µs" : digits(ms * 1e6) + " ns";
  };
  const count = value => value == null ? "" : value >= 1e6 ? digits(value / 1e6) + "M" : value >= 1e4 ? digits(value / 1e3) + "k" : digits(value);
  const seconds = value => value == null ? "" : value.toFixed(1) + " s";
  // From how many nines: 2 is 99%.
  const percent = nines => Number((100 - 100 * 10 ** -nines).toFixed(3)) + "%";
  const share = nines => nines == null ? "" : nines >= 5 ? "99.999% or more" : percent(nines);
  const NINES = [0, Math.log10(2), 1, 2, 3, 4, 5];

  const axis = (label, text, more) => ({
    label, labelSize: 22, size: 66, font: "12px system-ui, sans-serif", labelFont: "600 12px system-ui, sans-serif",
    stroke: variable("--soft"), grid: { stroke: variable("--line"), width: 1 }, ticks: { show: false },
    values: (plot, splits) => splits.map(text), ...more,
  });
  const curve = (label, name, text, more) => ({
    label, stroke: colour(name), width: 2, points: { show: false }, value: (plot, value) => text(value) || "–", ...more,
  });

  const show = (name, x, y, series, more) => {
    const frame = document.getElementById("plot-" + name);
    if (!frame || !data[name]) return;
    const place = document.createElement("div");
    const plot = new uPlot({
      width: frame.clientWidth || 960, height: HEIGHT,
      scales: { x: { time: false, ...x.scale }, y: y.scale },
      axes: [axis(x.label, x.ticks || x.text, { size: 32 }), axis(y.label, y.ticks || y.text, y.axis)],
      series: [{ label: x.label, value: (plot, value) => x.text(value) || "–" }, ...series],
      ...more,
    }, data[name], place);
    // Made: now it may take the place of what was there.
    frame.replaceChildren(place);
    made.push({ name, plot, frame });
  };

  const fromZero = { range: (plot, least, most) => [0, (most || 1) * 1.05] };
  const logarithmic = { distr: 3 };
  const clock = { label: "seconds", text: seconds, ticks: value => String(Number(value.toFixed(3))) };
  const together = { cursor: { sync: { key: "time" } } };
  show("latency", clock, { label: "latency", text: time, scale: logarithmic },
    [curve("50%", "c0", time), curve("99%", "c1", time), curve("longest", "c3", time)], together);
  show("rate", clock, { label: "requests/s", text: count, scale: fromZero },
    [curve("due", "rest", count), curve("answered", "c0", count), curve("failed", "c3", count)], together);
  show("percentiles", { label: "latency", text: time, scale: logarithmic },
    { label: "requests answered", text: share, ticks: percent, scale: { range: [0, 5] }, axis: { splits: () => NINES } },
    [curve("from when due", "c0", share), curve("from when sent", "c1", share)]);
  show("histogram", { label: "latency", text: time, scale: logarithmic },
    { label: "requests", text: count, scale: fromZero },
    [curve("requests", "c0", count, { paths: uPlot.paths.stepped({ align: 1 }) })]);

  document.querySelectorAll(".plot-hint").forEach(hint => { hint.hidden = made.length === 0; });
  addEventListener("resize", () => made.forEach(({ plot, frame }) => plot.setSize({ width: frame.clientWidth, height: HEIGHT })));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => made.forEach(({ plot }) => plot.redraw()));
  return made;
})();
