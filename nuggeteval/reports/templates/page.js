'use strict';

const DARK = matchMedia('(prefers-color-scheme: dark)');

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : DARK.matches;
}

function showTheme() {
  byId('theme').setAttribute('aria-pressed', isDark());
}

function startTheme() {
  showTheme();
  DARK.addEventListener('change', showTheme);
  byId('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    showTheme();
  });
}

/** The text is selected as well, for browsers that keep the clipboard from a local file. */
async function copySignature() {
  getSelection().selectAllChildren(byId('signature'));
  try {
    await navigator.clipboard.writeText(byId('signature').textContent);
    byId('copied').textContent = 'Copied';
  } catch {
    byId('copied').textContent = 'Selected: copy it with the keyboard';
  }
}

/** Links lead to sections that may be closed. */
function openTarget(hash) {
  const target = byId(hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}

function followHash() {
  if (!openHashTopic()) openTarget(location.hash);
}

function startLinks() {
  document.querySelector('nav').addEventListener('click', (event) => {
    const link = event.target.closest('a');
    if (link) openTarget(link.hash);
  });
  addEventListener('hashchange', followHash);
  followHash();
}

// ---- Paper ----

let closedOnScreen = [];

function prepareForPaper() {
  if (closedOnScreen.length) return;
  closedOnScreen = [...document.querySelectorAll('details:not([open])')];
  for (const details of closedOnScreen) details.open = true;
  for (const section of SECTIONS) section.force();
}

function returnToScreen() {
  for (const details of closedOnScreen) details.open = false;
  closedOnScreen = [];
}

function startPaper() {
  addEventListener('beforeprint', prepareForPaper);
  addEventListener('afterprint', returnToScreen);
  matchMedia('print').addEventListener('change', (event) => (event.matches ? prepareForPaper() : returnToScreen()));
}

function start() {
  startTips();
  startTheme();
  if (byId('copy')) byId('copy').addEventListener('click', copySignature);
  if (byId('leaderboard')) startLeaderboard();
  if (byId('topics')) startHeatmap();
  if (byId('nuggets')) startNuggets();
  if (byId('pairwise')) startPairwise();
  startPaper();
  startLinks();
}

start();
