'use strict';

const pairs = { test: null, means: [], verdicts: {}, grid: null };

/** What can be said of a row beside a column; a measure without a direction makes no run better. */
function verdicts() {
  const { higher } = DATA.measures[pairs.test.measure];
  const [more, less] = higher === null ? ['higher', 'lower'] : ['better', 'worse'];
  return {
    same: { sign: '', kind: 'absent', words: 'the same run as' },
    untested: { sign: '', kind: 'absent', words: 'not tested against' },
    more: { sign: '▲', kind: 'better', words: `significantly ${more} than` },
    less: { sign: '▼', kind: 'worse', words: `significantly ${less} than` },
    other: { sign: '≠', kind: 'equal', words: 'significantly different from' },
    alike: { sign: '·', kind: 'equal', words: 'not significantly different from' },
  };
}

function pairVerdict(row, column) {
  const p = pairs.test.p[row][column];
  if (row === column) return pairs.verdicts.same;
  if (p === null) return pairs.verdicts.untested;
  return p < pairs.test.alpha ? significantVerdict(row, column) : pairs.verdicts.alike;
}

/** Tests of ranks may tell runs apart whose means are equal. */
function significantVerdict(row, column) {
  const lowerIsBetter = DATA.measures[pairs.test.measure].higher === false;
  const difference = (pairs.means[row] - pairs.means[column]) * (lowerIsBetter ? -1 : 1);
  if (difference > 0) return pairs.verdicts.more;
  return difference < 0 ? pairs.verdicts.less : pairs.verdicts.other;
}

function shownP(p) {
  return p < 0.0001 ? 'p < 0.0001' : `p = ${p.toFixed(4)}`;
}

function pairCell(row, column) {
  const { sign, kind, words } = pairVerdict(row, column);
  const cell = document.createElement('td');
  cell.className = kind;
  cell.textContent = sign;
  cell.setAttribute('aria-label', words);
  return cell;
}

function pairRow(run) {
  return make('tr', { 'data-run': run }, make('th', { scope: 'row' }, DATA.runs[run].name),
    ...ORDER.runs.map((other) => pairCell(run, other)));
}

function drawPairs() {
  pairs.test = DATA.pairwise[Number(byId('pair-measure').value)];
  const { name } = DATA.measures[pairs.test.measure];
  pairs.means = meansOfBoard(pairs.test.measure);
  pairs.verdicts = verdicts();
  const headers = ORDER.runs.map((run) => columnHeader(DATA.runs[run].name));
  byId('pair-table').replaceChildren(
    make('caption', { class: 'unseen' }, `Pairwise significance by ${name}`),
    make('thead', {}, make('tr', {}, make('td', { class: 'corner' }), ...headers)),
    make('tbody', {}, ...ORDER.runs.map(pairRow)));
  const { test, correction, alpha } = pairs.test;
  byId('pair-caption').textContent = `${name}: ${test}; correction: ${correction || 'none'}; alpha = ${alpha}.`;
  drawPairLegend();
  byId('pair-status').textContent = 'Point at a cell or use the arrow keys to read its p-value.';
  byId('pair-table').classList.toggle('many', ORDER.runs.length > MANY_COLUMNS);
  pairs.grid.restart();
}

function drawPairLegend() {
  const shownVerdicts = [pairs.verdicts.more, pairs.verdicts.less, pairs.verdicts.alike];
  byId('pair-legend').replaceChildren(...shownVerdicts.map(({ sign, kind, words }) =>
    make('span', {}, make('b', { class: kind }, sign), `row ${words} column`)));
}

function meansOfBoard(measure) {
  const means = [];
  for (const [run, cells] of DATA.boards[0].rows) means[run] = cells[measure][VALUE] ?? NaN;
  return means;
}

function describePair(cell) {
  const { run } = cell.parentNode.dataset;
  const other = ORDER.runs[cell.cellIndex - 1];
  if (run === undefined || other === undefined) return;
  const p = pairs.test.p[run][other];
  const words = pairVerdict(Number(run), other).words;
  const text = Number(run) === other ? DATA.runs[run].name
    : `${DATA.runs[run].name} ${words} ${DATA.runs[other].name}${p === null ? '' : `, ${shownP(p)}`}`;
  byId('pair-status').textContent = text;
  showTip(cell, text);
}

function startPairwise() {
  const section = lazySection('pairwise', drawPairs);
  fillSelect(byId('pair-measure'), DATA.pairwise.map((one) => DATA.measures[one.measure].name));
  const preferred = DATA.pairwise.findIndex((one) => one.measure === DATA.sort);
  byId('pair-measure').value = Math.max(0, preferred);
  pairs.grid = rove(byId('pair-table'), describePair, (cell) => pairs.grid.focus(cell));
  byId('pair-measure').addEventListener('change', section.refresh);
  ORDER.followers.push(section.refresh);
}
