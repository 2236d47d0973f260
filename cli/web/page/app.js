// The page: who one is, where one is, and what runs, which all its parts share.

import {get, post, stream} from './api.js';
import {forget} from './chart.js';
import {add, h, name, replace, say, svg} from './dom.js';
import {bytes, ended, known, state} from './format.js';
import * as hosts from './hosts.js';
import * as overlap from './overlap.js';
import * as overview from './overview.js';
import * as policies from './policies.js';
import * as run from './run.js';
import * as runs from './runs.js';
import * as schedule from './schedule.js';
import * as signIn from './sign_in.js';
import * as volume from './volume.js';
import * as volumes from './volumes.js';

const PAGES = [
  {path: '', title: 'Overview', icon: 'M4 13h6V4H4zm10 7h6V4h-6zM4 20h6v-4H4z', page: overview},
  {path: 'volumes', title: 'Volumes', icon: 'M4 6h16v5H4zm0 7h16v5H4zm3-4.5h2m-2 7h2', page: volumes,
    one: volume},
  {path: 'hosts', title: 'Hosts', icon: 'M5 5h14v10H5zm-2 13h18M12 15v3', page: hosts},
  {path: 'runs', title: 'Runs', icon: 'M8 5v14l11-7z', page: runs, one: run},
  {path: 'schedule', title: 'Schedule', icon: 'M5 6h14v14H5zm0 4h14M9 3v4m6-4v4', page: schedule},
  {path: 'overlap', title: 'Overlap', icon: 'M9 5a7 7 0 1 0 0 14A7 7 0 0 0 9 5m6 0a7 7 0 1 0 0 14 7 7 0 0 0 0-14',
    page: overlap},
  {path: 'policies', title: 'Policies', icon: 'M6 3h9l4 4v14H6zm3 8h7m-7 4h7', page: policies},
];
const ROLES = ['none', 'viewer', 'operator', 'admin'];

const content = document.getElementById('content');
const bar = document.getElementById('bar');

// What every part of the page may ask.
const context = {
  session: null,
  live: new Map(),  // runs that have not ended, and those that ended since this was opened
  listeners: new Set(),
  may: (role) => context.session && ROLES.indexOf(context.session.role) >= ROLES.indexOf(role),
  // Calls `listener` with the runs that changed. Ends with the part that is shown.
  watch(listener) {
    context.listeners.add(listener);
  },
};

let stopWatching = null;
let shown = 0;

function take(message) {
  const changed = message.runs || [];
  for (const one of changed) {
    const before = context.live.get(one.runId);
    context.live.set(one.runId, one);
    if (before && !ended(before) && ended(one)) {
      const freed = one.status && one.status.figures && one.status.figures.bytesFreed;
      say(`The run on ${one.volumeName} is ${state(one)}${known(freed) ? `, it freed ${bytes(freed)}` : ''}.`);
    }
  }
  for (const listener of [...context.listeners]) listener(changed);
  const working = [...context.live.values()].filter((one) => state(one) === 'running').length;
  const mark = bar.querySelector('.working');
  if (mark) {
    mark.hidden = working === 0;
    replace(mark, working, h('span', {class: 'visually-hidden'}, ' running'));
  }
}

function showBar() {
  const here = location.hash.replace(/^#\/?/, '').split('/')[0];
  replace(bar,
    h('a', {class: 'brand', href: '#/'}, h('img', {src: '/icon.svg', alt: '', width: 28, height: 28}),
      h('span', {}, 'onefold')),
    h('nav', {'aria-label': 'Pages'}, h('ul', {}, PAGES.map((one) =>
      h('li', {}, h('a', {href: `#/${one.path}`, 'aria-current': one.path === here ? 'page' : undefined},
        svg('svg', {viewBox: '0 0 24 24', 'aria-hidden': 'true'}, svg('path', {d: one.icon})),
        h('span', {}, one.title),
        one.path === 'runs' && h('b', {class: 'working', hidden: true})))))),
    h('div', {class: 'person'},
      h('span', {}, context.session.name ? name(context.session.name) : 'This machine', ' ',
        h('small', {}, context.session.role)),
      context.session.name && h('button', {type: 'button', class: 'plain', on: {click: leave}}, 'Sign out')));
  bar.hidden = false;
  take({});
}

async function leave() {
  await post('sign-out').catch(() => {});
  signedOut();
}

function signedOut() {
  context.session = null;
  context.live.clear();
  if (stopWatching) stopWatching();
  stopWatching = null;
  bar.hidden = true;
  signIn.show(content);
}

async function enter() {
  try {
    context.session = await get('session');
  } catch (error) {
    if (error.status !== 401) signIn.show(content, error.message);
    return false;
  }
  if (!stopWatching) stopWatching = stream('QueryService/WatchRuns', take);
  return true;
}

async function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  if (parts[0] === 'sign-in' && parts[1]) {
    // Out of the address, so that it is in no history.
    history.replaceState(null, '', '#/');
    if (!(await signIn.redeem(content, parts[1]))) return;
    parts.length = 0;
    parts.push('');
  }
  if (!context.session && !(await enter())) return;
  const found = PAGES.find((one) => one.path === parts[0]) || PAGES[0];
  const page = parts[1] && found.one ? found.one : found.page;
  const mine = ++shown;
  context.listeners.clear();
  showBar();
  document.title = `${found.title} · onefold`;
  const target = h('div', {class: `page ${page.css || ''}`});
  replace(content, target);
  forget();
  scrollTo(0, 0);
  content.focus({preventScroll: true});
  add(target, h('p', {class: 'quiet loading'}, 'One moment…'));
  try {
    await page.show(target, context, parts.slice(1));
  } catch (error) {
    if (mine === shown && context.session) {
      replace(target, h('h1', {}, found.title), h('p', {class: 'error', role: 'alert'}, error.message));
    }
  }
}

addEventListener('hashchange', route);
addEventListener('signed-out', signedOut);
route();
