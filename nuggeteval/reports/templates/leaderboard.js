'use strict';

const VALUE = 0;
const RANK = 1;
const LOW = 2;
const HIGH = 3;
const MARK = 4;
const MEANING = 5;
const GROUPED = DATA.runs.some((run) => run.group);

/** What the table shows: `column` is "run", "group" or "measure"; ranks are always those of `measure`. */
const board = { index: 0, column: 'measure', measure: DATA.sort, ascending: ascendingIsBest(DATA.sort), rows: [] };

function ascendingIsBest(measure) {
  return DATA.measures[measure]?.higher === false;
}

function directionSign(measure) {
  return { true: ' ↑', false: ' ↓' }[String(measure.higher)] ?? '';
}

function directionWords(measure) {
  return { true: 'Higher is better.', false: 'Lower is better.' }[String(measure.higher)] ?? '';
}

function sortHeader(column, measure, label, tip) {
  const button = make('button', { type: 'button', 'data-tip': tip }, make('span', { class: 'label' }, label),
    make('span', { class: 'arrow', 'aria-hidden': 'true' }));
  return make('th', { scope: 'col', 'data-column': column, 'data-measure': measure, class: column }, button);
}

function drawBoardHeader() {
  const row = make('tr', {}, make('th', { scope: 'col', class: 'rank' }, 'Rank'), sortHeader('run', null, 'Run', null));
  if (GROUPED) row.append(sortHeader('group', null, 'Group', null));
  DATA.measures.forEach((measure, index) => {
    const tip = [measure.definition, directionWords(measure)].filter(Boolean).join(' ');
    row.append(sortHeader('measure', index, measure.name + directionSign(measure), tip));
  });
  byId('board-table').tHead.replaceChildren(row);
}

function markOf(sign, meaning) {
  return make('span', { class: `mark ${sign === '▲' ? 'better' : 'worse'}`, 'data-tip': meaning },
    make('span', { 'aria-hidden': 'true' }, sign), make('span', { class: 'unseen' }, ` ${meaning} `));
}

function scoreCell(cell, measure, meanings) {
  const best = cell[RANK] === '1' || cell[RANK] === '1=';
  if (cell[VALUE] === null) return make('td', { class: 'score none' }, 'undefined');
  const mark = make('span', { class: 'room' });
  if (cell[MARK]) mark.append(markOf(cell[MARK], meanings[cell[MEANING]]));
  const interval = cell[LOW] === null || cell[HIGH] === null
    ? '' : make('small', {}, `[${shown(cell[LOW], measure)}, ${shown(cell[HIGH], measure)}]`);
  return make('td', { class: best ? 'score best' : 'score' },
    make('span', { class: 'value' }, shown(cell[VALUE], measure)), mark, interval);
}

function boardRow([run, cells], meanings) {
  const { name, group } = DATA.runs[run];
  const rank = make('td', { class: 'rank' });
  const element = make('tr', {}, rank, make('th', { scope: 'row', class: 'run' }, name));
  if (GROUPED) element.append(make('td', { class: 'group' }, group));
  element.append(...cells.map((cell, index) => scoreCell(cell, DATA.measures[index], meanings)));
  return { run, cells, name, group, rank, element };
}

function compareText(key) {
  const direction = board.ascending ? 1 : -1;
  return (a, b) => direction * a[key].localeCompare(b[key], 'en', { numeric: true });
}

/** Undefined values come last in both directions: they are neither good nor bad. */
function compareValues(a, b) {
  const first = a.cells[board.measure][VALUE];
  const second = b.cells[board.measure][VALUE];
  if (first === null || second === null) return (first === null) - (second === null);
  return board.ascending ? first - second : second - first;
}

function sortBoard() {
  const compare = board.column === 'measure' ? compareValues : compareText(board.column === 'run' ? 'name' : 'group');
  board.rows.sort(compare);
  for (const row of board.rows) row.rank.textContent = row.cells[board.measure][RANK];
  byId('board-table').tBodies[0].append(...board.rows.map((row) => row.element));
  showSortedHeader();
  showBoardStatus();
  setOrder(board.rows.map((row) => row.run));
}

function showSortedHeader() {
  for (const header of byId('board-table').tHead.rows[0].cells) {
    const { column, measure } = header.dataset;
    const sorted = column === board.column && (column !== 'measure' || Number(measure) === board.measure);
    if (sorted) header.setAttribute('aria-sort', board.ascending ? 'ascending' : 'descending');
    else header.removeAttribute('aria-sort');
  }
}

function showBoardStatus() {
  const visible = board.rows.filter((row) => !row.element.hidden).length;
  const total = board.rows.length;
  const runs = visible === total ? counted(total, 'run') : `${visible} of ${counted(total, 'run')}`;
  byId('board-status').textContent =
    `${runs} on ${counted(DATA.boards[board.index].topics, 'topic')}, ranked by ${DATA.measures[board.measure].name}`;
}

function sortByHeader(header) {
  const { column } = header.dataset;
  if (header.hasAttribute('aria-sort')) board.ascending = !board.ascending;
  else if (column === 'measure') {
    board.measure = Number(header.dataset.measure);
    board.ascending = ascendingIsBest(board.measure);
  } else board.ascending = true;
  board.column = column;
  sortBoard();
}

function filterBoard() {
  const wanted = byId('find-run').value;
  const group = byId('group').value;
  for (const row of board.rows) {
    const found = contains(row.name, wanted) || contains(row.group, wanted);
    row.element.hidden = !found || (group !== '' && row.group !== group.slice(1));
  }
  showBoardStatus();
}

/** Notes of the board, and what its marks mean where that can be said in a few lines. */
function drawBoardNotes({ notes, rows, meanings }) {
  const said = new Map();
  for (const [, cells] of rows) {
    for (const cell of cells) if (cell[MARK]) said.set(`${cell[MARK]} ${meanings[cell[MEANING]]}`, cell);
  }
  const legend = said.size <= 4 ? [...said.keys()] : [];
  byId('board-notes').replaceChildren(...[...legend, ...notes].map((note) => make('li', {}, note)));
}

function drawBoard() {
  const chosen = DATA.boards[board.index];
  board.rows = chosen.rows.map((row) => boardRow(row, chosen.meanings));
  byId('board-table').tBodies[0].replaceChildren();
  drawBoardNotes(chosen);
  filterBoard();
  sortBoard();
}

/** Values carry a leading sign, so that "all groups" differs from a group without a name. */
function fillGroups() {
  const groups = [...new Set(DATA.runs.map((run) => run.group))].sort();
  const options = groups.map((group) => make('option', { value: `=${group}` }, group || '(none)'));
  byId('group').replaceChildren(make('option', { value: '' }, 'all'), ...options);
  byId('group').parentNode.hidden = !GROUPED;
}

function startLeaderboard() {
  fillSelect(byId('board'), DATA.boards.map((one) => one.label));
  fillGroups();
  drawBoardHeader();
  drawBoard();
  byId('board').addEventListener('change', (event) => {
    board.index = Number(event.target.value);
    drawBoard();
  });
  byId('find-run').addEventListener('input', filterBoard);
  byId('group').addEventListener('change', filterBoard);
  byId('board-table').tHead.addEventListener('click', (event) => {
    const header = event.target.closest('th[data-column]');
    if (header) sortByHeader(header);
  });
}
