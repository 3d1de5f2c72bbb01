'use strict';

const BEST_RATING = 5;

const trace = { topic: null, rows: [], grid: null };

/** Rows of a trace: rank, unit, and a rating by question, which is null where nobody rated. */
function unpackTrace([rank, unit, text]) {
  const ratings = [...text.matchAll(/(-|\d)(\+?)/g)]
    .map(([, rating, sign]) => ({ value: rating === '-' ? null : Number(rating), adds: sign !== '' }));
  return { rank, unit, ratings };
}

function ratingKind(value) {
  return value === null ? 'unrated' : `q${Math.round(LEVELS * Math.min(value, BEST_RATING) / BEST_RATING)}`;
}

function ratingWords({ value, adds }) {
  return `${value === null ? 'not rated' : value}${adds ? ', adds' : ''}`;
}

function ratingCell(rating) {
  const cell = document.createElement('td');
  cell.className = `${ratingKind(rating.value)}${rating.adds ? ' adds' : ''}`;
  cell.textContent = rating.value ?? '–';
  if (rating.adds || rating.value === null) cell.setAttribute('aria-label', ratingWords(rating));
  return cell;
}

function traceRow({ rank, unit, ratings }, row) {
  return make('tr', { 'data-row': row },
    make('th', { scope: 'row' }, make('span', { class: 'place' }, String(rank)), ` ${unit}`),
    ...ratings.map(ratingCell));
}

/** Shows a part of the trace where there is something to show in it. */
function tracePart(id, filled) {
  byId(id).hidden = !filled;
  return filled;
}

function drawQuestions() {
  const { questions } = trace.topic;
  if (!tracePart('trace-questions', questions.length)) return;
  const items = questions.map(({ id, text }) => make('li', {}, make('b', {}, id), ' ', make('span', {}, text)));
  byId('trace-questions').querySelector('ul').replaceChildren(...items);
}

function nearestQuestion({ question: wanted }) {
  if (!wanted) return [make('span', { class: 'badge missed' }, 'no sub-question')];
  const nearest = trace.topic.questions.find(({ id }) => id === wanted);
  return [make('b', {}, wanted), nearest ? ` ${nearest.text}` : ''];
}

function drawGold() {
  const { gold } = trace.topic;
  if (!tracePart('trace-gold', gold.length)) return;
  const without = gold.filter(({ question }) => !question).length;
  const have = gold.length === 1 ? 'has' : 'have';
  byId('trace-gold').querySelector('p').textContent =
    `${without} of ${counted(gold.length, 'gold nugget')} ${have} no sub-question`;
  const rows = gold.map((nugget) => make('tr', {}, make('th', { scope: 'row' }, nugget.id),
    make('td', { class: 'long' }, nugget.text), make('td', { class: 'long' }, ...nearestQuestion(nugget))));
  byId('trace-gold').querySelector('tbody').replaceChildren(...rows);
}

function drawRatings() {
  const { questions, rows } = trace.topic;
  trace.rows = rows.map(unpackTrace);
  if (!tracePart('trace-ratings', questions.length && rows.length)) return;
  const table = byId('trace-table');
  table.replaceChildren(
    make('caption', { class: 'unseen' }, 'Ratings from 0 to 5 of the sub-questions by rank'),
    make('thead', {}, make('tr', {}, make('td', { class: 'corner' }), ...questions.map(({ id }) => columnHeader(id)))),
    make('tbody', {}, ...trace.rows.map(traceRow)));
  table.classList.toggle('many', questions.length > MANY_COLUMNS);
  byId('trace-status').textContent = 'Point at a cell or use the arrow keys to read it here.';
  trace.grid.restart();
}

/** Shows how the run was made on a topic, where that is known. */
function drawTrace(topic) {
  if (!byId('trace')) return;
  trace.topic = DATA.traces.find((one) => one.topic === topic) ?? null;
  byId('trace').hidden = trace.topic === null;
  if (trace.topic === null) return;
  drawQuestions();
  drawGold();
  drawRatings();
}

function traceText(cell) {
  const row = trace.rows[cell.parentNode.dataset.row];
  const question = cell.cellIndex - 1;
  const asked = trace.topic.questions[question];
  if (!row) return asked ? `${asked.id}: ${asked.text}` : '';
  const place = `Rank ${row.rank}, ${row.unit}`;
  if (asked) return `${place}, ${asked.id} (${asked.text}): ${ratingWords(row.ratings[question])}`;
  const added = trace.topic.questions.filter((_, one) => row.ratings[one].adds).map(({ id }) => id);
  return `${place}: adds ${added.join(', ') || 'nothing'}`;
}

function describeTrace(cell) {
  const text = traceText(cell);
  if (text) byId('trace-status').textContent = text;
  showTip(cell, text);
}

function drawTraceLegend() {
  const steps = Array.from({ length: BEST_RATING + 1 }, (_, rating) => swatch(ratingKind(rating)));
  byId('trace-legend').replaceChildren(
    make('span', { class: 'ramp' }, '0', ...steps, String(BEST_RATING)),
    make('span', {}, '– not rated'), legendItem('ring', 'what the rank adds'));
}

function startTrace() {
  if (!byId('trace')) return;
  trace.grid = rove(byId('trace-table'), describeTrace, (cell) => trace.grid.focus(cell));
  drawTraceLegend();
}
