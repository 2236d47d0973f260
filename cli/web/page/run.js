// One run: where it stands, its figures, and what went wrong.

import {get} from './api.js';
import {card, h, name, replace, table} from './dom.js';
import {ago, bytes, count, date, duration, ended, holder, known, path, progress, state, uuid} from './format.js';
import {actions, badge, phases} from './run_view.js';

const FIGURES = [
  ['bytesFreed', 'Freed', bytes, 'bytes on disk that are gone'],
  ['bytesExpected', 'Would free', bytes, 'measured by a dry run'],
  ['bytesShared', 'Shared', bytes, 'bytes of files that lie in another file’s extent now'],
  ['bytesWritten', 'Written', bytes, 'written anew; taken off what is freed'],
  ['bytesPinned', 'Pinned', bytes, 'have a copy, but something holds them'],
  ['extentsScanned', 'Scanned', count, 'extents that are new since the last scan'],
  ['bytesScanned', 'Scanned bytes', bytes, 'on disk'],
  ['fileBytesRead', 'Read', bytes, 'of file data'],
  ['dedupeRequests', 'Requests', count, 'to the kernel'],
  ['metadataBytesGrown', 'Metadata', bytes, 'grew by'],
  ['extentsTotal', 'Extents', count, 'in the index'],
];

function timeline(run) {
  const steps = [['Made', run.createTime], ['Began', run.startTime], ['Ended', run.endTime]];
  return h('ol', {class: 'timeline'}, steps.map(([title, time]) =>
    h('li', {class: time ? 'past' : ''}, h('b', {}, title), ' ',
      time ? h('time', {datetime: time}, `${date(time)}, ${ago(time)}`) : h('span', {class: 'quiet'}, 'not yet'))));
}

function figures(run) {
  const all = (run.status || {}).figures || {};
  const rows = FIGURES.filter(([key]) => known(all[key]));
  if (rows.length === 0) return h('p', {class: 'quiet'}, 'Not known yet.');
  return h('dl', {class: 'facts'}, rows.map(([key, title, text, note]) =>
    [h('dt', {}, title), h('dd', {}, h('b', {}, text(all[key])), ' ', h('small', {}, note))]),
  Object.entries(all.pinnedBy || {}).map(([key, value]) =>
    [h('dt', {class: 'sub'}, 'pinned'), h('dd', {}, `${bytes(value)}: ${holder(key)}`)]),
  Object.entries(all.skipped || {}).map(([key, value]) =>
    [h('dt', {class: 'sub'}, 'skipped'), h('dd', {}, `${count(value)}: ${key.replace(/_/g, ' ')}`)]));
}

function problems(run) {
  const status = run.status || {};
  const some = status.problems || [];
  if (some.length === 0) return h('p', {class: 'fine'}, 'None.');
  const more = Number(status.problemCount) - some.length;
  return [table('Problems', [{title: 'What about'}, {title: 'Why'}], some.map((one) =>
    [name(path(one.path)) , `${one.reason.replace(/_/g, ' ')}${one.detail ? `: ${one.detail}` : ''}`])),
  more > 0 && h('p', {class: 'quiet'}, `and ${count(more)} more`)];
}

export async function show(target, context, [id]) {
  const answer = await get('QueryService/GetRun', {runId: id});
  const first = answer.run;
  const scope = answer.scope || {};
  const head = h('header', {class: 'head'});
  const body = h('div', {class: 'wide'});
  const buttons = h('div');
  let kind = '';
  const draw = (run) => {
    replace(head,
      h('p', {class: 'crumb'}, h('a', {href: '#/runs'}, 'Runs')),
      h('h1', {}, h('a', {href: `#/volumes/${uuid(run.volumeUuid)}`}, name(run.volumeName)), ' ', badge(run)),
      h('p', {class: 'quiet'}, run.policy ? ['by policy ', name(run.policy)] : 'by hand', ' · ',
        h('span', {class: 'code'}, run.runId)));
    if (kind !== state(run)) {
      kind = state(run);
      replace(buttons, actions(run, context));
    }
    replace(body,
      card('Progress', phases(run), h('p', {class: 'progress', role: 'status'}, progress(run)),
        run.status && run.status.elapsed && h('p', {class: 'quiet'}, `worked for ${duration(run.status.elapsed)}`)),
      card('Problems', problems(run)));
    replace(side,
      card('Timeline', timeline(run)),
      card('Figures', figures(run)),
      card('Plan', h('dl', {class: 'facts'},
        h('dt', {}, 'Expected'), h('dd', {}, bytes(run.expectedBytes)),
        !ended(run) && known(answer.waitingBytes)
          && [h('dt', {}, 'Waits for a decision'), h('dd', {}, bytes(answer.waitingBytes))],
        (scope.roots || []).length > 0
          && [h('dt', {}, 'Only below'), h('dd', {}, scope.roots.map((one) => h('div', {}, name(one))))],
        (scope.excludes || []).length > 0
          && [h('dt', {}, 'Without'), h('dd', {}, scope.excludes.map((one) => h('div', {}, name(one))))])));
  };
  const side = h('div', {class: 'narrow'});
  draw(first);
  replace(target, head, buttons, h('div', {class: 'columns'}, body, side));
  context.watch((changed) => {
    const now = changed.find((run) => run.runId === first.runId);
    if (now) draw(now);
  });
}
