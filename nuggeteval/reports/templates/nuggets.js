'use strict';

/** Columns before the nuggets: the run, and how many nuggets it finds. */
const BEFORE = 2;

const cover = { matching: [], place: 0, topic: null, cells: [], columns: [], finders: [], grid: null, section: null };

/** Cells of a topic by run and nugget: null, or the rank and the unit that carried the nugget first. */
function unpackCells({ cells, nuggets, units }) {
  const flat = cells.split(',').map((text) => {
    if (text === '') return null;
    const code = parseInt(text, 36);
    return { rank: Math.floor(code / units.length), unit: code % units.length };
  });
  return DATA.runs.map((_, run) => flat.slice(run * nuggets.length, (run + 1) * nuggets.length));
}

function runsThatFind(nugget) {
  return DATA.runs.map((_, run) => run).filter((run) => cover.cells[run][nugget]);
}

function runNames(runs) {
  return ORDER.runs.filter((run) => runs.includes(run)).map((run) => DATA.runs[run].name).join(', ');
}

function rankLevel(rank) {
  return Math.max(2, LEVELS - Math.round(1.25 * Math.log2(rank)));
}

function coverageLabel({ topic, nuggets, missed }) {
  const note = missed ? `, ${missed} missed by every run` : '';
  return `${topicName(topic)}: ${counted(nuggets.length, 'nugget')}${note}`;
}

function importanceMark(importance) {
  if (!importance) return null;
  const sign = { vital: '●', okay: '○' }[importance] ?? importance.slice(0, 1);
  return make('span', { class: 'importance' }, make('span', { 'aria-hidden': 'true' }, sign),
    make('span', { class: 'unseen' }, ` ${importance}`));
}

// ---- Choice of the topic ----

function matchesTopic({ topic, nuggets }, wanted) {
  return contains(`${DATA.topics[topic].id} ${DATA.topics[topic].title}`, wanted)
    || nuggets.some((nugget) => contains(nugget.text, wanted));
}

function fillTopics() {
  const wanted = byId('find-topic').value;
  const all = DATA.coverage.topics;
  cover.matching = all.map((_, place) => place).filter((place) => matchesTopic(all[place], wanted));
  const options = cover.matching.map((place) => make('option', { value: place }, coverageLabel(all[place])));
  byId('topic').replaceChildren(...options);
  byId('find-topic-status').textContent = wanted ? `${counted(cover.matching.length, 'topic')} found` : '';
  showPlace();
}

function showPlace() {
  byId('topic').value = cover.place;
  showNeighbours();
}

function neighbourPlace(step) {
  const at = cover.matching.indexOf(cover.place);
  return at === -1 ? cover.matching[0] : cover.matching[at + step];
}

/** Not `disabled`: a button that takes the focus away from itself strands those who use the keyboard. */
function showNeighbours() {
  byId('previous').setAttribute('aria-disabled', neighbourPlace(-1) === undefined);
  byId('next').setAttribute('aria-disabled', neighbourPlace(1) === undefined);
}

function setHash() {
  const { id } = DATA.topics[DATA.coverage.topics[cover.place].topic];
  history.replaceState(null, '', `#topic=${encodeURIComponent(id)}`);
}

function choosePlace(place) {
  if (place === undefined) return;
  cover.place = place;
  if (cover.matching.includes(place)) showPlace();
  else {
    byId('find-topic').value = '';
    fillTopics();
  }
  cover.section.force();
  drawCover();
  setHash();
}

/** Opens a topic from elsewhere on the page, with the focus on a run of it where one was chosen. */
function visitTopic(topic, run) {
  const place = DATA.coverage.topics.findIndex((one) => one.topic === topic);
  cover.section.force();
  if (place === -1) showUncovered(topic);
  else choosePlace(place);
  byId('nuggets').scrollIntoView();
  const row = byId('nugget-table').querySelector(`tr[data-run="${run}"]`);
  if (place === -1 || !row) byId('topic-title').focus();
  else cover.grid.focus(row.cells[0]);
}

function showUncovered(topic) {
  byId('topic-title').textContent = `No nuggets are known for topic ${topicName(topic)}`;
  for (const id of ['nugget-table', 'nugget-chips', 'nugget-panel', 'nugget-legend']) byId(id).replaceChildren();
  byId('nugget-list').querySelector('tbody').replaceChildren();
  byId('topic').value = '';
  drawTrace(topic);
}

// ---- The matrix ----

function coverColumns() {
  const columns = cover.topic.nuggets.map((_, nugget) => nugget);
  const direction = { bank: 0, most: -1, fewest: 1 }[byId('nugget-order').value];
  return columns.sort((a, b) => direction * (cover.finders[a].length - cover.finders[b].length));
}

function coverCell(found) {
  const cell = document.createElement('td');
  if (!found) cell.setAttribute('aria-label', 'not found');
  else if (DATA.coverage.ranked) {
    cell.className = `q${rankLevel(found.rank)}`;
    cell.textContent = found.rank;
  } else {
    cell.className = 'q8';
    cell.textContent = '●';
    cell.setAttribute('aria-label', 'found');
  }
  return cell;
}

function coverRow(run) {
  const cells = cover.cells[run];
  const found = cells.filter(Boolean).length;
  return make('tr', { 'data-run': run }, make('th', { scope: 'row' }, DATA.runs[run].name),
    make('td', { class: 'count' }, String(found)), ...cover.columns.map((nugget) => coverCell(cells[nugget])));
}

function rarity(count) {
  return { 0: 'missed', 1: 'single' }[count] ?? '';
}

function coverHeader() {
  const headers = cover.columns.map((nugget) => {
    const { id, importance } = cover.topic.nuggets[nugget];
    return columnHeader(id, importanceMark(importance));
  });
  const counts = cover.columns.map((nugget) => {
    const { length } = cover.finders[nugget];
    return make('td', { class: `count ${rarity(length)}` }, String(length));
  });
  const total = make('th', { scope: 'col', class: 'turned' }, make('span', { class: 'label' }, 'nuggets found'));
  return make('thead', {}, make('tr', {}, make('td', { class: 'corner' }), total, ...headers),
    make('tr', {}, make('th', { scope: 'row' }, 'runs that find it'), make('td', { class: 'count' }), ...counts));
}

function drawMatrix() {
  cover.columns = coverColumns();
  byId('nugget-table').replaceChildren(
    make('caption', { class: 'unseen' }, `First places of the nuggets of topic ${topicName(cover.topic.topic)}`),
    coverHeader(), make('tbody', {}, ...ORDER.runs.map(coverRow)));
  cover.grid.restart();
}

function drawCover() {
  cover.topic = DATA.coverage.topics[cover.place];
  cover.cells = unpackCells(cover.topic);
  cover.finders = cover.topic.nuggets.map((_, nugget) => runsThatFind(nugget));
  byId('topic-title').textContent = `Topic ${topicName(cover.topic.topic)}`;
  drawMatrix();
  drawChips();
  drawList();
  drawCoverLegend();
  drawTrace(cover.topic.topic);
  showPanel(make('p', { class: 'hint' }, 'Point at a cell or a nugget, or move with the arrow keys, to read it here.'));
}

// ---- Around the matrix ----

function rarityText(nugget) {
  const finders = cover.finders[nugget];
  if (finders.length === 0) return 'missed by every run';
  return finders.length === 1 ? `found by one run only (${DATA.runs[finders[0]].name})` : '';
}

function drawChips() {
  const chips = cover.topic.nuggets.map((_, nugget) => nugget).filter(rarityText).map((nugget) => {
    const { id } = cover.topic.nuggets[nugget];
    const kind = rarity(cover.finders[nugget].length);
    return make('li', {}, make('button', { type: 'button', class: `chip ${kind}`, 'data-nugget': nugget },
      make('b', {}, id), ` ${rarityText(nugget)}`));
  });
  byId('nugget-chips').replaceChildren(...chips);
}

function focusNugget(nugget) {
  const column = cover.columns.indexOf(nugget) + BEFORE;
  cover.grid.focus(byId('nugget-table').tHead.rows[0].cells[column]);
}

function drawList() {
  const rows = cover.topic.nuggets.map(({ id, text, importance }, nugget) => make('tr', {},
    make('th', { scope: 'row' }, id), make('td', {}, importance),
    make('td', {}, rarityText(nugget) || `${cover.finders[nugget].length} of ${counted(DATA.runs.length, 'run')}`),
    make('td', { class: 'long' }, text)));
  byId('nugget-list').querySelector('tbody').replaceChildren(...rows);
}

function drawCoverLegend() {
  const items = DATA.coverage.ranked
    ? [1, 2, 5, 10, 20, 50].map((rank) => legendItem(`q${rankLevel(rank)}`, `rank ${rank}`))
    : [legendItem('q8', 'found')];
  byId('nugget-legend').replaceChildren(...items, legendItem('empty', 'not found'),
    make('span', {}, '● vital'), make('span', {}, '○ okay'));
}

// ---- The panel ----

function showPanel(...content) {
  byId('nugget-panel').replaceChildren(...content);
}

function nuggetHeading({ id, text, importance }) {
  const heading = make('p', { class: 'which' }, make('b', {}, id));
  if (importance) heading.append(' ', make('span', { class: 'badge' }, importance));
  return [heading, make('p', { class: 'nugget' }, text)];
}

function facts(pairs) {
  return make('dl', {}, ...pairs.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

function describeNugget(nugget) {
  const finders = cover.finders[nugget];
  const others = DATA.runs.map((_, run) => run).filter((run) => !finders.includes(run));
  const rare = rarityText(nugget);
  showPanel(...nuggetHeading(cover.topic.nuggets[nugget]),
    rare ? make('p', { class: `rare ${rarity(finders.length)}` }, rare) : '',
    facts([[`Found by ${finders.length} of ${DATA.runs.length}`, runNames(finders) || 'none'],
      [`Missed by ${others.length}`, runNames(others) || 'none']]));
}

function describeFirst(run, nugget) {
  const found = cover.cells[run][nugget];
  const pairs = [['Run', DATA.runs[run].name]];
  if (!found) pairs.push(['Found', 'not found']);
  else {
    pairs.push(['Carried by', cover.topic.units[found.unit]]);
    if (DATA.coverage.ranked) pairs.push(['Rank', String(found.rank)]);
  }
  const text = found ? DATA.coverage.texts[cover.topic.texts[found.unit] ?? 0] : '';
  showPanel(...nuggetHeading(cover.topic.nuggets[nugget]), facts(pairs), text ? make('blockquote', {}, text) : '');
}

function describeRun(run) {
  const { nuggets } = cover.topic;
  const found = nuggets.filter((_, nugget) => cover.cells[run][nugget]);
  const pairs = [['Nuggets found', `${found.length} of ${nuggets.length}`]];
  const vital = nuggets.filter(({ importance }) => importance === 'vital').length;
  const foundVital = found.filter(({ importance }) => importance === 'vital').length;
  if (vital) pairs.push(['Vital ones', `${foundVital} of ${vital}`]);
  showPanel(make('p', { class: 'which' }, make('b', {}, DATA.runs[run].name)), facts(pairs));
}

function describeCover(cell) {
  const nugget = cover.columns[cell.cellIndex - BEFORE];
  const { run } = cell.parentNode.dataset;
  if (run === undefined) {
    if (nugget !== undefined) describeNugget(nugget);
  } else if (nugget === undefined) describeRun(Number(run));
  else describeFirst(Number(run), nugget);
}

// ---- Start ----

/** Opens the topic that the address names; true where it names one. */
function openHashTopic() {
  if (!location.hash.startsWith('#topic=') || !byId('nuggets')) return false;
  const wanted = hashText(location.hash.slice('#topic='.length));
  const topic = DATA.topics.findIndex(({ id }) => id === wanted);
  if (topic === -1) return false;
  visitTopic(topic, null);
  return true;
}

function hashText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function startNuggets() {
  cover.section = lazySection('nuggets', drawCover);
  cover.grid = rove(byId('nugget-table'), describeCover, (cell) => cover.grid.focus(cell));
  startTrace();
  fillTopics();
  afterTyping(byId('find-topic'), fillTopics);
  byId('find-topic').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    fillTopics();
    choosePlace(cover.matching[0]);
  });
  byId('topic').addEventListener('change', (event) => choosePlace(Number(event.target.value)));
  byId('previous').addEventListener('click', () => choosePlace(neighbourPlace(-1)));
  byId('next').addEventListener('click', () => choosePlace(neighbourPlace(1)));
  byId('nugget-order').addEventListener('change', () => drawMatrix());
  byId('nugget-chips').addEventListener('click', (event) => {
    const chip = event.target.closest('button');
    if (chip) focusNugget(Number(chip.dataset.nugget));
  });
  ORDER.followers.push(() => {
    if (cover.topic) drawMatrix();
  });
}
