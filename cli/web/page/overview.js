// The fleet on one page.

import {get} from './api.js';
import {history} from './chart.js';
import {card, h, name, replace} from './dom.js';
import {ago, bytes, count, date, ended, known, percent, spoken, uuid} from './format.js';
import {activeRuns, runNow} from './run_view.js';

export const css = 'overview';

const SHOWN = 8;

function figure(title, value, note, kind) {
  return h('div', {class: `figure ${kind}`}, h('dt', {}, title),
    h('dd', {}, h('b', {}, bytes(value)), h('small', {}, note)));
}

export function figures(space) {
  return [h('dl', {class: 'figures'},
    figure('Freed so far', space.freedBytes, space.freedAtLeast ? 'or more: a run ended without figures'
      : 'on disk, by all runs', 'freed'),
    figure('Can be freed', space.duplicateBytes, known(space.duplicateBytes)
      ? `at most, as counted ${ago(space.duplicatesTime)}` : 'not counted yet', 'can'),
    figure('Waiting', space.waitingBytes, known(space.waitingBytes)
      ? 'new data that no run has decided on' : 'known after the first scan', 'waiting'),
    figure('Pinned', space.pinnedBytes, known(space.pinnedBytes)
      ? 'has a copy, but something holds it' : 'known after the first run', 'pinned')),
  space.incomplete && h('p', {class: 'quiet partial'},
    'Of some volumes not all of this is known yet; what is not known is in no sum.')];
}

// Used, and the parts of it that matter, as one bar.
export function spaceBar(space) {
  const size = Number(space.sizeBytes || 0);
  const part = (value) => `${percent(value, size)}%`;
  const can = Number(space.duplicateBytes || 0);
  const used = Math.max(Number(space.usedBytes || 0) - can, 0);
  return h('div', {class: 'space', role: 'img', 'aria-label':
    `${spoken(space.usedBytes)} used of ${spoken(space.sizeBytes)}${known(space.duplicateBytes)
      ? `, of it ${bytes(space.duplicateBytes)} more than once` : ''}`},
  h('i', {class: 'used', style: {width: part(used)}}),
  h('i', {class: 'can', style: {width: part(can)}}));
}

function byVolume(volumes) {
  return h('ul', {class: 'bars'}, volumes.map((volume) => {
    const space = volume.space || {};
    return h('li', {},
      h('a', {href: `#/volumes/${uuid(volume.volumeUuid)}`}, name(volume.name)),
      h('small', {}, name(volume.hostName)),
      spaceBar(space),
      h('span', {class: 'note'}, `${bytes(space.usedBytes)} of ${bytes(space.sizeBytes)}`,
        Number(space.freedBytes || 0) > 0 && h('b', {class: 'freed'}, ` · ${bytes(space.freedBytes)} freed`),
        Number(space.duplicateBytes || 0) > 0
          && h('b', {class: 'can'}, ` · ${bytes(space.duplicateBytes)} can be`)));
  }));
}

function attention(summary) {
  const all = summary.attention || [];
  if (all.length === 0) return h('p', {class: 'fine'}, 'Nothing: everything is as it should be.');
  const link = (one) => {
    if (one.runId) return `#/runs/${one.runId}`;
    return one.volumeUuid ? `#/volumes/${uuid(one.volumeUuid)}` : null;
  };
  return [h('ul', {class: 'attention'}, all.map((one) => {
    const kind = one.severity.replace('SEVERITY_', '').toLowerCase();
    return h('li', {class: kind}, h('b', {}, kind), ' ',
      link(one) ? h('a', {href: link(one)}, one.text) : one.text);
  })), summary.attentionCount > all.length
    && h('p', {class: 'quiet'}, `and ${count(summary.attentionCount - all.length)} more`)];
}

function next(summary) {
  const entries = summary.next || [];
  if (entries.length === 0) return h('p', {class: 'quiet'}, 'Nothing is scheduled.');
  return h('ol', {class: 'next'}, entries.slice(0, 5).map((entry) =>
    h('li', {}, h('time', {datetime: entry.dueTime}, date(entry.dueTime)), ' ', name(entry.policy), ' ',
      h('small', {}, `${count(entry.volumeCount)} ${entry.volumeCount === 1 ? 'volume' : 'volumes'}`))));
}

function first(context) {
  return card('Begin here',
    h('p', {}, 'No host has joined yet. On the coordinator’s host, root makes a token; the line that is printed is typed on the new host:'),
    h('pre', {}, 'onefold fleet token create'),
    context.may('operator') && h('p', {}, 'Then ', h('a', {href: '#/policies'}, 'a policy'), ' says what is deduped when.'));
}

export async function show(target, context) {
  const [summary, volumes, past] = await Promise.all([
    get('QueryService/GetSummary'),
    get('QueryService/ListVolumes', {pageSize: SHOWN, orderBy: 'used_bytes'}),
    get('QueryService/GetHistory').catch((error) => ({error})),
  ]);
  const total = summary.total || {};
  const sums = h('div', {}, figures(total));
  const troubles = h('div', {}, attention(summary));
  replace(target,
    h('header', {class: 'head'}, h('h1', {}, 'Overview'),
      h('p', {class: 'quiet'}, `${count(summary.volumeCount)} ${summary.volumeCount === 1 ? 'volume' : 'volumes'}, `,
        h('a', {href: '#/hosts'},
          `${count(summary.connectedHostCount)} of ${count(summary.hostCount)} ${summary.hostCount === 1 ? 'host' : 'hosts'} connected`)),
      summary.volumeCount > 0 && runNow(context, 'Run all now', {selector: 'all'}, 'all volumes')),
    sums,
    h('div', {class: 'columns'},
      h('div', {class: 'wide'},
        card('Freed over time', past.error ? h('p', {class: 'quiet'}, past.error.message)
          : history('Freed over time', past.points || [], [
            {title: 'Freed', key: 'freedBytes', colour: '--freed'},
            {title: 'Waiting', key: 'waitingBytes', colour: '--waiting'}])),
        summary.volumeCount > 0 ? card('By volume', byVolume(volumes.volumes || []),
          volumes.totalCount > SHOWN && h('p', {}, h('a', {href: '#/volumes'}, `All ${count(volumes.totalCount)} volumes`)))
          : first(context)),
      h('div', {class: 'narrow'},
        card('Needs attention', troubles),
        card('Runs now', activeRuns(context)),
        card('Next', next(summary)))));
  let asked = false;
  context.watch(async (changed) => {
    // What a run freed is in the sums as soon as it has ended.
    if (asked || !changed.some(ended)) return;
    asked = true;
    const now = await get('QueryService/GetSummary').catch(() => null);
    asked = false;
    if (!now) return;
    replace(sums, figures(now.total || {}));
    replace(troubles, attention(now));
  });
}
