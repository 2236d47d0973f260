// All runs, the newest first.

import {get} from './api.js';
import {add, h, name, replace, table} from './dom.js';
import {ago, bytes, ended, known, progress} from './format.js';
import {activeRuns, badge, runLink} from './run_view.js';

const COLUMNS = [{title: 'Volume'}, {title: 'State'}, {title: 'Policy'}, {title: 'When'},
  {title: 'Freed', number: true}, {title: 'Result'}];

function row(run) {
  const figures = (run.status || {}).figures || {};
  const freed = run.dryRun ? null : figures.bytesFreed;
  return [runLink(run), badge(run), run.policy ? name(run.policy) : 'by hand',
    ago(run.endTime || run.startTime || run.createTime), known(freed) ? bytes(freed) : '–', progress(run)];
}

export async function show(target, context) {
  const list = h('div');
  let runs = [];
  const load = async (token) => {
    const page = await get('QueryService/QueryRuns', {pageSize: 50, pageToken: token, filter: 'active = false'});
    runs = token ? runs.concat(page.runs || []) : page.runs || [];
    replace(list, runs.length > 0 ? table('Runs that have ended', COLUMNS, runs.map(row), {class: 'list'})
      : h('p', {class: 'quiet'}, 'None has ended yet.'));
    if (page.nextPageToken) {
      add(list, h('button', {type: 'button', on: {click: () => load(page.nextPageToken)}}, 'More'));
    }
  };
  replace(target, h('header', {class: 'head'}, h('h1', {}, 'Runs')),
    h('section', {class: 'card', 'aria-label': 'Runs now'}, h('h2', {}, 'Now'), activeRuns(context)),
    h('div', {class: 'past-runs'}, h('h2', {}, 'Ended'), list));
  await load();
  context.watch((changed) => {
    if (changed.some(ended) && runs.length <= 50) load().catch(() => {});
  });
}
