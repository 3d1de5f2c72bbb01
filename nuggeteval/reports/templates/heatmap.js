'use strict';

const UNDEFINED = null;
const ABSENT = undefined;
const FEW_TOPICS = 20;

const heat = { values: [], columns: [], shape: '', grid: null };

function unpackValue(text) {
  if (text === '-') return UNDEFINED;
  return text === '' ? ABSENT : Number(text);
}

function unpackValues(measure) {
  return DATA.values[measure].map((row) => row.split(',').map(unpackValue));
}

function topicName(topic) {
  const { id, title } = DATA.topics[topic];
  return title ? `${id} (${title})` : id;
}

function topicMean(values, topic) {
  const defined = values.map((row) => row[topic]).filter((value) => Number.isFinite(value));
  return defined.length ? defined.reduce((sum, value) => sum + value, 0) / defined.length : null;
}

/** Topics to show: those that match, in the order of the data or from the lowest mean to the best. */
function heatColumns(measure) {
  const wanted = byId('find-column').value;
  const matching = DATA.topics.map((_, topic) => topic)
    .filter((topic) => contains(`${DATA.topics[topic].id} ${DATA.topics[topic].title}`, wanted));
  if (!byId('hardest').checked) return matching;
  const means = DATA.topics.map((_, topic) => topicMean(heat.values, topic));
  const direction = measure.higher === false ? -1 : 1;
  return matching.sort((a, b) => (means[a] === null) - (means[b] === null) || direction * (means[a] - means[b]));
}

function heatRange() {
  let low = 0;
  let high = 0;
  for (const row of heat.values) {
    for (const value of row) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return { low, high: high > low ? high : low + 1 };
}

function heatLevel(value, { low, high }) {
  if (value === ABSENT) return 'absent';
  return value === UNDEFINED ? 'undefined' : `q${Math.round(LEVELS * (value - low) / (high - low))}`;
}

function fillCell(cell, value, paint) {
  const worded = paint.numbers && Number.isFinite(value);
  cell.className = heatLevel(value, paint.range);
  cell.textContent = worded ? shown(value, paint.measure, 2) : '';
  if (worded || value === ABSENT) cell.removeAttribute('aria-label');
  else cell.setAttribute('aria-label', shown(value, paint.measure));
}

function fillRow(row, run, paint) {
  row.dataset.run = run;
  row.cells[0].textContent = DATA.runs[run].name;
  let cell = row.cells[0];
  for (const topic of heat.columns) {
    cell = cell.nextSibling;
    fillCell(cell, heat.values[run][topic], paint);
  }
}

/** An empty table of the size that is wanted; one of this size that is already there is used again, which is faster. */
function buildHeat(table, rows, columns) {
  if (table.tBodies[0] && heat.shape === `${rows} ${columns}`) return;
  heat.shape = `${rows} ${columns}`;
  const cells = Array.from({ length: columns }, () => document.createElement('td'));
  const row = make('tr', {}, make('th', { scope: 'row' }), ...cells);
  table.replaceChildren(make('caption', { class: 'unseen' }), make('thead', {}, make('tr')),
    make('tbody', {}, ...Array.from({ length: rows }, () => row.cloneNode(true))));
}

function drawHeat() {
  const table = byId('heat-table');
  const chosen = Number(byId('heat-measure').value);
  const measure = DATA.measures[chosen];
  heat.values = unpackValues(chosen);
  heat.columns = heatColumns(measure);
  const paint = { measure, range: heatRange(), numbers: byId('heat-numbers').checked };
  buildHeat(table, ORDER.runs.length, heat.columns.length);
  table.caption.textContent = `${measure.name} of every run on every topic`;
  const headers = heat.columns.map((topic) => columnHeader(DATA.topics[topic].id));
  table.tHead.rows[0].replaceChildren(make('td', { class: 'corner' }), ...headers);
  ORDER.runs.forEach((run, place) => fillRow(table.tBodies[0].rows[place], run, paint));
  table.classList.toggle('numbers', paint.numbers);
  table.classList.toggle('many', heat.columns.length > MANY_COLUMNS);
  if (heat.columns.length) heat.grid.restart();
  drawHeatLegend(paint.range, measure);
  const size = `${counted(DATA.runs.length, 'run')} on ${counted(heat.columns.length, 'topic')}`;
  byId('heat-status').textContent = `${measure.name}: ${size}. ${heatHint()}`;
}

function heatHint() {
  return byId('nuggets') ? 'Choose a cell to see the nuggets of its topic.' : 'Point at a cell or use the arrow keys.';
}

function drawHeatLegend({ low, high }, measure) {
  const steps = Array.from({ length: LEVELS + 1 }, (_, level) => swatch(`q${level}`));
  byId('heat-legend').replaceChildren(
    make('span', { class: 'ramp' }, shown(low, measure), ...steps, shown(high, measure)),
    legendItem('undefined', 'undefined'), legendItem('absent', 'absent from the run'));
}

function heatText(cell) {
  const topic = heat.columns[cell.cellIndex - 1];
  const run = cell.parentNode.dataset.run;
  const measure = DATA.measures[Number(byId('heat-measure').value)];
  if (topic === undefined) return run === undefined ? '' : DATA.runs[run].name;
  if (run === undefined) {
    const mean = topicMean(heat.values, topic);
    return `Topic ${topicName(topic)}: mean ${measure.name} of the runs ${shown(mean, measure)}`;
  }
  const value = heat.values[run][topic];
  const words = value === ABSENT ? 'absent' : shown(value, measure);
  return `${DATA.runs[run].name}, topic ${topicName(topic)}, ${measure.name} ${words}`;
}

function describeHeat(cell) {
  const text = heatText(cell);
  byId('heat-status').textContent = text;
  showTip(cell, text);
}

function openHeatCell(cell) {
  const topic = heat.columns[cell.cellIndex - 1];
  const { run } = cell.parentNode.dataset;
  if (topic !== undefined && byId('nuggets')) visitTopic(topic, run === undefined ? null : Number(run));
  else heat.grid.focus(cell);
}

function startHeatmap() {
  const section = lazySection('topics', drawHeat);
  fillSelect(byId('heat-measure'), DATA.measures.map((measure) => measure.name));
  byId('heat-measure').value = DATA.sort;
  byId('heat-numbers').checked = DATA.topics.length <= FEW_TOPICS;
  heat.grid = rove(byId('heat-table'), describeHeat, openHeatCell);
  for (const id of ['heat-measure', 'hardest', 'heat-numbers']) byId(id).addEventListener('change', section.refresh);
  afterTyping(byId('find-column'), section.refresh);
  ORDER.followers.push(section.refresh);
}
