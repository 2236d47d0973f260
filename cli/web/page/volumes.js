// All volumes.

import {get} from './api.js';
import {add, h, name, replace, table} from './dom.js';
import {ago, bytes, count, state, uuid} from './format.js';
import {runNow} from './run_view.js';
import {spaceBar} from './overview.js';

const ORDERS = [['name', 'Name'], ['used_bytes', 'Used'], ['freed_bytes', 'Freed'],
  ['duplicate_bytes', 'Can be freed'], ['pinned_bytes', 'Pinned']];
const COLUMNS = [{title: 'Volume'}, {title: 'Host'}, {title: 'Used'}, {title: 'Freed', number: true},
  {title: 'Can be freed', number: true}, {title: 'Pinned', number: true}, {title: 'Last run'}];

function row(volume) {
  const space = volume.space || {};
  const last = volume.lastRun;
  const active = volume.activeRun;
  return [
    [h('a', {href: `#/volumes/${uuid(volume.volumeUuid)}`}, name(volume.name)),
      volume.trouble && h('small', {class: 'error'}, volume.trouble)],
    [name(volume.hostName), !volume.connected && h('small', {class: 'warning'}, 'silent')],
    [spaceBar(space), h('small', {}, `${bytes(space.usedBytes)} of ${bytes(space.sizeBytes)}`)],
    [space.freedAtLeast && 'at least ', bytes(space.freedBytes)],
    bytes(space.duplicateBytes),
    bytes(space.pinnedBytes),
    active ? h('a', {href: `#/runs/${active.runId}`}, state(active))
      : last ? h('a', {href: `#/runs/${last.runId}`}, `${state(last)} ${ago(last.endTime)}`) : 'never',
  ];
}

export async function show(target, context) {
  const list = h('div');
  const total = h('p', {class: 'quiet', role: 'status'});
  const filter = h('input', {id: 'filter', type: 'search', placeholder: 'name : "data" AND connected = true',
    spellcheck: 'false', autocomplete: 'off'});
  const order = h('select', {id: 'order'}, ORDERS.map(([value, title]) => h('option', {value}, title)));
  const error = h('p', {class: 'error', role: 'alert'});
  let volumes = [];
  const load = async (token) => {
    let page;
    try {
      page = await get('QueryService/ListVolumes',
        {pageSize: 200, pageToken: token, filter: filter.value, orderBy: order.value});
    } catch (failure) {
      error.textContent = failure.message;
      return;
    }
    error.textContent = '';
    volumes = token ? volumes.concat(page.volumes || []) : page.volumes || [];
    total.textContent = `${count(page.totalCount)} ${page.totalCount === 1 ? 'volume' : 'volumes'}`;
    replace(list, volumes.length > 0 ? table('Volumes', COLUMNS, volumes.map(row), {class: 'volumes'})
      : h('p', {class: 'quiet'}, 'None.'));
    if (page.nextPageToken) {
      add(list, h('button', {type: 'button', on: {click: () => load(page.nextPageToken)}}, 'More'));
    }
  };
  const search = (event) => {
    event.preventDefault();
    load();
  };
  order.addEventListener('change', () => load());
  replace(target,
    h('header', {class: 'head'}, h('h1', {}, 'Volumes'), total,
      runNow(context, 'Run all now', {selector: 'all'}, 'all volumes')),
    h('form', {class: 'tools', on: {submit: search}},
      h('label', {for: 'filter'}, 'Filter'), filter, h('label', {for: 'order'}, 'Sort by'), order,
      h('button', {}, 'Show')),
    error, list);
  await load();
}
