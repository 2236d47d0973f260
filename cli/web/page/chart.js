// Figures over time, as a picture and, for who does not see it or where there is no library for it,
// as a table.

import {h, table} from './dom.js';
import {bytes, date, known, spoken} from './format.js';

const open = new Set();

// Its legend sets style attributes, which the policy of the page forbids; ours stands above.
function library() {
  const {Dygraph} = window;
  if (Dygraph) Dygraph.PLUGINS = Dygraph.PLUGINS.filter((one) => one !== Dygraph.Plugins.Legend);
  return Dygraph;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Powers of 1024, of which there are never more than six on an axis.
function ticks(low, high) {
  const most = Math.max(high, 1);
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(most) / Math.log(1024)));
  const rough = most / unit / 4;
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 256]
    .find((size) => size >= rough && (unit > 1 || size >= 1)) || 512;
  const found = [];
  for (let v = 0; v * unit <= high; v += step) {
    found.push({v: v * unit, label: v === 0 ? '0' : `${Number(v.toFixed(2))} ${bytes(unit).split(' ')[1]}`});
  }
  return found;
}

// `series`: [{title, key, colour: '--freed'}]; `points`: of GetHistory.
export function history(title, points, series) {
  const shown = series.filter(({key}) => points.some((point) => known(point[key])));
  if (points.length === 0 || shown.length === 0) {
    return h('p', {class: 'quiet'}, 'Nothing was recorded yet.');
  }
  const rows = points.map((point) => [date(point.time), ...shown.map(({key}) => bytes(point[key]))]);
  const figures = h('details', {class: 'figures'}, h('summary', {}, 'As a table'),
    table(title, [{title: 'When'}, ...shown.map((one) => ({title: one.title, number: true}))],
      rows.slice().reverse().slice(0, 200)));
  const Graph = library();
  if (!Graph) {
    figures.open = true;
    return figures;
  }
  const picture = h('div', {class: 'chart', role: 'img', 'aria-label':
    `${title}: ${shown.map((one) => `${one.title} ${spoken(points[points.length - 1][one.key])}`).join(', ')}`});
  const legend = h('ul', {class: 'legend', 'aria-hidden': 'true'}, shown.map((one) =>
    h('li', {}, h('i', {style: {background: `var(${one.colour})`}}), one.title, ' ', h('b', {}))));
  const values = [...legend.querySelectorAll('b')];
  const data = points.map((point) => [new Date(point.time),
    ...shown.map(({key}) => (known(point[key]) ? Number(point[key]) : null))]);
  if (data.length === 1) data.push([new Date(), ...data[0].slice(1)]);
  const tell = (row) => values.forEach((value, i) => {
    value.textContent = known(data[row][i + 1]) ? bytes(data[row][i + 1]) : '';
  });
  const draw = () => {
    if (!picture.isConnected) return;
    const lines = colour('--line');
    const graph = new Graph(picture, data, {
      labels: ['When', ...shown.map((one) => one.title)],
      colors: shown.map((one) => colour(one.colour)),
      fillGraph: true, fillAlpha: 0.14, stepPlot: true, strokeWidth: 2, highlightCircleSize: 4,
      connectSeparatedPoints: true, legend: 'never', includeZero: true, animatedZooms: false,
      gridLineColor: lines, axisLineColor: lines, axisLabelFontSize: 12, rightGap: 12,
      valueRange: [0, null], xRangePad: 4, yRangePad: 14, interactionModel: {},
      axes: {
        y: {axisLabelWidth: 64, ticker: (a, b) => ticks(a, b)},
        x: {drawGrid: false, pixelsPerLabel: 70},
      },
      highlightCallback: (event, x, found, row) => tell(row),
      unhighlightCallback: () => tell(data.length - 1),
    });
    open.add({graph, picture, draw});
  };
  tell(data.length - 1);
  requestAnimationFrame(draw);
  return h('div', {class: 'history'}, legend, picture, figures);
}

// Of what is shown no more.
export function forget() {
  for (const one of open) {
    if (one.picture.isConnected) continue;
    one.graph.destroy();
    open.delete(one);
  }
}

// Light became dark.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const one of [...open]) {
    one.graph.destroy();
    open.delete(one);
    one.draw();
  }
});
