'use strict';

const DATA = JSON.parse(byId('data').textContent);
const LEVELS = 10;
/** From so many columns on, a table is squeezed to the width of a sheet when printed. */
const MANY_COLUMNS = 40;

function byId(id) {
  return document.getElementById(id);
}

/** An element; children that are strings become text nodes, so no name of a run can become markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

function fillSelect(select, labels) {
  select.replaceChildren(...labels.map((label, index) => make('option', { value: index }, label)));
}

/** A value as a person reads it: numbers of things without decimals. */
function shown(value, { summed, places }, most = places) {
  if (value === null) return 'undefined';
  return value.toFixed(summed && Number.isInteger(value) ? 0 : Math.min(places, most));
}

function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function contains(text, wanted) {
  return text.toLowerCase().includes(wanted.trim().toLowerCase());
}

/** Calls a function once typing has paused, for filters that rebuild a large table. */
function afterTyping(input, action) {
  let timer = 0;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(action, 120);
  });
}

// ---- The order of runs, which the leaderboard decides and all other tables follow ----

const ORDER = { runs: DATA.runs.map((_, run) => run), followers: [] };

function setOrder(runs) {
  const listed = new Set(runs);
  ORDER.runs = [...runs, ...DATA.runs.map((_, run) => run).filter((run) => !listed.has(run))];
  // The first order of all is set before there is anybody to follow it.
  if (ORDER.followers.length) afterPaint(followOrder);
}

function followOrder() {
  for (const follow of ORDER.followers) follow();
}

/** Lets the browser show what has changed before heavier work begins. */
function afterPaint(action) {
  requestAnimationFrame(() => setTimeout(action));
}

// ---- Sections that are drawn when they are first near the window ----

const SECTIONS = [];

function lazySection(id, draw) {
  const section = byId(id);
  let drawn = false;
  let near = false;
  const force = () => {
    section.open = true;
    if (drawn) return;
    drawn = true;
    draw();
  };
  const settle = () => {
    if (near && section.open) force();
  };
  const observer = new IntersectionObserver((entries) => {
    near = entries[entries.length - 1].isIntersecting;
    settle();
  }, { rootMargin: '300px' });
  observer.observe(section);
  section.addEventListener('toggle', settle);
  const lazy = {
    force,
    refresh() {
      drawn = false;
      settle();
    },
  };
  SECTIONS.push(lazy);
  return lazy;
}

// ---- One tooltip for the page ----

const TIP = byId('tip');
let tipOwner = null;

function hideTip() {
  if (tipOwner) tipOwner.removeAttribute('aria-describedby');
  tipOwner = null;
  TIP.hidden = true;
}

function showTip(owner, text) {
  if (owner === tipOwner) return;
  hideTip();
  if (!text) return;
  tipOwner = owner;
  owner.setAttribute('aria-describedby', 'tip');
  TIP.textContent = text;
  TIP.hidden = false;
  placeTip();
}

function placeTip() {
  if (!tipOwner) return;
  const box = tipOwner.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = TIP;
  const left = Math.min(box.left, document.documentElement.clientWidth - width - 8);
  const below = box.bottom + height <= window.innerHeight;
  TIP.style.left = `${Math.max(8, left)}px`;
  TIP.style.top = `${Math.max(0, below ? box.bottom : box.top - height)}px`;
}

function tipFromEvent(event) {
  const owner = event.target.closest('[data-tip]');
  if (owner) showTip(owner, owner.dataset.tip);
}

function leaveTip(event) {
  const entered = event.relatedTarget;
  const inside = entered instanceof Node && (TIP.contains(entered) || tipOwner?.contains(entered));
  if (!inside) hideTip();
}

function startTips() {
  document.addEventListener('pointerover', tipFromEvent);
  document.addEventListener('focusin', tipFromEvent);
  document.addEventListener('pointerout', leaveTip);
  document.addEventListener('focusout', hideTip);
  document.addEventListener('scroll', placeTip, { capture: true, passive: true });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') hideTip();
  });
}

// ---- Tables in which the arrow keys move ----

function focusable(cell) {
  return cell.querySelector('button') ?? cell;
}

/** The cell that a key leads to, or null for keys that do not move. */
function neighbour(table, cell, event) {
  const last = table.rows.length - 1;
  const row = cell.parentNode.rowIndex;
  const column = cell.cellIndex;
  const end = cell.parentNode.cells.length - 1;
  const whole = event.ctrlKey || event.metaKey;
  const places = {
    ArrowRight: [row, column + 1],
    ArrowLeft: [row, column - 1],
    ArrowDown: [row + 1, column],
    ArrowUp: [row - 1, column],
    PageDown: [Math.min(row + 10, last), column],
    PageUp: [Math.max(row - 10, 0), column],
    Home: [whole ? 0 : row, 0],
    End: [whole ? last : row, end],
  };
  const place = places[event.key];
  return place ? table.rows[place[0]]?.cells[place[1]] ?? cell : null;
}

/** Keeps the cell in focus clear of the sticky header and first column. */
function padScroller(table) {
  const corner = table.tHead.rows[0].cells[0];
  table.parentNode.style.scrollPadding = `${table.tHead.offsetHeight + 4}px 4px 4px ${corner.offsetWidth + 4}px`;
}

function headersOf(table, cell) {
  return [cell.parentNode.cells[0], table.tHead.rows[0].cells[cell.cellIndex]];
}

/**
 * Makes a table one stop of the Tab key, with arrow keys within.
 * `describe(cell)` is called for a cell under the pointer or in focus, `activate(cell)` for a click or Enter.
 */
function rove(table, describe, activate) {
  let current = null;
  let lit = [];
  const select = (cell) => {
    if (current) focusable(current).tabIndex = -1;
    current = cell;
    focusable(cell).tabIndex = 0;
  };
  const light = (headers) => {
    for (const header of lit) header.classList.remove('lit');
    for (const header of headers) header.classList.add('lit');
    lit = headers;
  };
  const focus = (cell) => {
    padScroller(table);
    select(cell);
    focusable(cell).focus();
  };
  const attend = (event) => {
    const cell = event.target.closest('td, th');
    if (!cell) return;
    if (event.type === 'focusin') select(cell);
    light(headersOf(table, cell));
    describe(cell);
  };
  table.addEventListener('pointerover', attend);
  table.addEventListener('focusin', attend);
  table.addEventListener('click', (event) => {
    const cell = event.target.closest('td, th');
    if (!cell) return;
    select(cell);
    activate(cell);
  });
  table.addEventListener('keydown', (event) => {
    const cell = event.target.closest('td, th');
    if (event.target === cell && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      activate(cell);
      return;
    }
    const next = neighbour(table, cell, event);
    if (!next) return;
    event.preventDefault();
    focus(next);
  });
  /** To be called when the table has been drawn anew. */
  const restart = () => {
    light([]);
    select(table.tBodies[0].rows[0].cells[1]);
  };
  return { focus, restart };
}

function columnHeader(label, marker = null) {
  const button = make('button', { type: 'button', tabindex: -1 }, make('span', { class: 'label' }, label));
  if (marker) button.append(marker);
  return make('th', { scope: 'col' }, button);
}

function swatch(kind) {
  return make('i', { class: `swatch ${kind}`, 'aria-hidden': 'true' });
}

function legendItem(kind, text) {
  return make('span', {}, swatch(kind), text);
}
