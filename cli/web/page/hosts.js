// The hosts: who speaks to the coordinator, and keeping work away from one.

import {get, post} from './api.js';
import {add, confirm, h, name, replace, say, table} from './dom.js';
import {ago, count, uuid, word} from './format.js';

const VOLUMES_SHOWN = 6;
const COLUMNS = [{title: 'Host'}, {title: 'State'}, {title: 'Volumes'}, {title: 'Version'}, {title: 'Last heard of'}];

const titleOf = (host) => host.displayName || host.hostId;
const state = (host) => word(host.state, 'STATE_');

function volumesOf(host) {
  const all = host.volumes || [];
  if (all.length === 0) return h('span', {class: 'quiet'}, 'none');
  return h('ul', {}, all.slice(0, VOLUMES_SHOWN).map((one) => h('li', {},
    h('a', {href: `#/volumes/${uuid(one.volumeUuid)}`},
      name(one.label || (one.mountPaths || [])[0] || uuid(one.volumeUuid))))),
  all.length > VOLUMES_SHOWN && h('li', {class: 'quiet'}, `and ${count(all.length - VOLUMES_SHOWN)} more`));
}

function row(host) {
  return [
    [name(titleOf(host)),
      Object.entries(host.labels || {}).map(([key, value]) => h('small', {}, name(`${key}=${value}`))),
      (host.advice || []).map((one) => h('small', {class: 'warning'}, one))],
    [h('span', {class: `badge ${state(host)}`}, state(host)),
      host.drained && state(host) !== 'drained' && [' ', h('span', {class: 'badge drained'}, 'drained')]],
    volumesOf(host),
    host.version ? name(host.version) : '–',
    ago(host.lastSeenTime),
  ];
}

export async function show(target, context) {
  const operator = context.may('operator');
  const list = h('div');
  const total = h('p', {class: 'quiet', role: 'status'});
  const error = h('p', {class: 'error', role: 'alert'});
  let hosts = [];
  let next = '';

  const change = async (host) => {
    const title = host.drained ? 'Resume' : 'Drain';
    if (!host.drained && !(await confirm(`Drain ${titleOf(host)}?`,
      'It gets no new work. What it does now stops cleanly, and goes on when it is resumed.', 'Drain', true))) return;
    try {
      const answer = await post(`AdminService/${title}Host`, {host: host.hostId});
      hosts = hosts.map((one) => (one.hostId === host.hostId ? answer.host : one));
      error.textContent = '';
      say(`${titleOf(host)} is ${answer.host.drained ? 'drained' : 'resumed'}.`);
      draw();
      // The button that was pressed is another one now.
      [...list.querySelectorAll('button')].find((one) => one.dataset.host === host.hostId)?.focus();
    } catch (failure) {
      error.textContent = failure.message;
    }
  };
  const button = (host) => h('button', {type: 'button', 'data-host': host.hostId,
    'aria-label': `${host.drained ? 'Resume' : 'Drain'} ${titleOf(host)}`, on: {click: () => change(host)}},
  host.drained ? 'Resume' : 'Drain');
  const draw = () => {
    replace(list, hosts.length > 0
      ? table('Hosts', operator ? [...COLUMNS, {title: 'Work'}] : COLUMNS,
        hosts.map((host) => (operator ? [...row(host), button(host)] : row(host))), {class: 'list'})
      : h('p', {class: 'quiet'}, 'No host has joined yet.'));
    if (next) add(list, h('button', {type: 'button', on: {click: () => load(next)}}, 'More'));
  };
  const load = async (token) => {
    const page = await get('QueryService/QueryHosts', {pageSize: 200, pageToken: token});
    hosts = hosts.concat(page.hosts || []);
    next = page.nextPageToken;
    total.textContent = `${count(page.totalCount || 0)} ${page.totalCount === 1 ? 'host' : 'hosts'}`;
    draw();
  };
  replace(target, h('header', {class: 'head'}, h('h1', {}, 'Hosts'), total), error, list);
  await load();
}
