// One volume: what it holds twice, what was freed, and what holds the rest.

import {get} from './api.js';
import {history} from './chart.js';
import {card, h, name, replace, table} from './dom.js';
import {ago, bytes, count, date, ended, holder, known, path, percent, progress, state, uuid} from './format.js';
import {figures, spaceBar} from './overview.js';
import {activeRuns, badge, runNow} from './run_view.js';

const PATHS_AFTER_MS = 1500;
const PATHS_TRIES = 20;

function pinned(space) {
  const holders = Object.entries(space.pinnedBy || {}).sort((a, b) => Number(b[1]) - Number(a[1]));
  if (!known(space.pinnedBytes)) return h('p', {class: 'quiet'}, 'Known after the first run.');
  if (holders.length === 0) return h('p', {class: 'fine'}, 'Nothing is pinned.');
  const most = Number(holders[0][1]);
  return [h('p', {}, `${bytes(space.pinnedBytes)} have a copy, or part of one, but giving them up would free nothing now:`),
    h('ul', {class: 'holders'}, holders.map(([key, value]) =>
      h('li', {}, h('b', {}, bytes(value)), ' ', holder(key),
        h('i', {'aria-hidden': 'true', style: {width: `${Math.max(percent(value, most), 1)}%`}}))))];
}

function plan(volume) {
  const space = volume.space || {};
  const run = volume.activeRun;
  return [
    h('dl', {class: 'facts'},
      h('dt', {}, 'Waits for a decision'), h('dd', {}, bytes(space.waitingBytes)),
      h('dt', {}, 'Next run'), h('dd', {}, volume.nextDueTime
        ? [date(volume.nextDueTime), ' by ', name(volume.nextPolicy)] : 'only by hand'),
      run && [h('dt', {}, 'Expected of this run'), h('dd', {}, bytes(run.expectedBytes))]),
    h('p', {class: 'quiet'}, 'What waits is new since the last run. How much of it is freed depends on '
      + 'snapshots and on what may be touched; a dry run measures it.')];
}

function duplicates(id, target, tries = 0) {
  const load = async () => {
    let answer;
    try {
      answer = await get('QueryService/ListDuplicates', {volume: id, pageSize: 20, withPaths: true});
    } catch (error) {
      replace(target, h('p', {class: 'quiet'}, error.message));
      return;
    }
    const groups = answer.groups || [];
    replace(target,
      h('p', {class: 'quiet'}, known(answer.groupCount)
        ? `${count(answer.groupCount)} groups, ${bytes(answer.duplicateBytes)} in all. Counted ${ago(answer.time)}.` : 'Not counted yet.'),
      groups.length > 0 && table('The largest groups of equal data',
        [{title: 'Takes'}, {title: 'Copies', number: true}, {title: 'Each', number: true}, {title: 'For example'}],
        groups.map((group) => [bytes(group.duplicateBytes), count(group.copyCount), bytes(group.extentBytes),
          (group.paths || []).length > 0
            ? h('ul', {class: 'paths'}, group.paths.map((one) => h('li', {}, name(path(one)))))
            : h('span', {class: 'quiet'}, answer.pathsPending ? 'asking its host…' : '–')])));
    if (answer.pathsPending && tries < PATHS_TRIES) {
      setTimeout(() => target.isConnected && duplicates(id, target, tries + 1), PATHS_AFTER_MS);
    }
  };
  return load();
}

async function runsOf(id, target) {
  const answer = await get('QueryService/QueryRuns', {filter: `uuid = "${id}"`, pageSize: 10})
    .catch((error) => ({error}));
  if (answer.error) {
    replace(target, h('p', {class: 'quiet'}, answer.error.message));
    return;
  }
  const runs = answer.runs || [];
  replace(target, runs.length === 0 ? h('p', {class: 'quiet'}, 'None yet.')
    : table('Runs of this volume', [{title: 'When'}, {title: 'State'}, {title: 'Result'}],
      runs.map((run) => [h('a', {href: `#/runs/${run.runId}`}, date(run.endTime || run.startTime || run.createTime)),
        badge(run), progress(run)])));
}

export async function show(target, context, [id]) {
  const {volume} = await get('QueryService/GetVolume', {volume: id});
  const space = volume.space || {};
  const mounted = volume.mounted || {};
  const mine = (run) => run.volumeUuid === volume.volumeUuid;
  const past = await get('QueryService/GetHistory', {volume: id}).catch((error) => ({error}));
  const groups = h('div', {}, h('p', {class: 'quiet'}, 'One moment…'));
  const runs = h('div', {}, h('p', {class: 'quiet'}, 'One moment…'));
  const sums = h('div', {}, figures(space));
  const pins = h('div', {}, pinned(space));
  const plans = h('div', {}, plan(volume));
  replace(target,
    h('header', {class: 'head'},
      h('p', {class: 'crumb'}, h('a', {href: '#/volumes'}, 'Volumes')),
      h('h1', {}, name(volume.name)),
      h('p', {class: 'quiet'}, 'on ', name(volume.hostName), (mounted.mountPaths || []).length > 0
        && [' at ', name(mounted.mountPaths[0])], !volume.connected && ' — its host is silent'),
      runNow(context, 'Run now', {volume: uuid(volume.volumeUuid)}, volume.name)),
    volume.trouble && h('p', {class: 'error', role: 'alert'}, volume.trouble),
    sums, h('div', {class: 'large'}, spaceBar(space),
      h('p', {class: 'quiet'}, `${bytes(space.usedBytes)} used of ${bytes(space.sizeBytes)}`)),
    h('div', {class: 'columns'},
      h('div', {class: 'wide'},
        card('History', past.error ? h('p', {class: 'quiet'}, past.error.message)
          : history(`History of ${volume.name}`, past.points || [], [
            {title: 'Freed', key: 'freedBytes', colour: '--freed'},
            {title: 'Waiting', key: 'waitingBytes', colour: '--waiting'},
            {title: 'Pinned', key: 'pinnedBytes', colour: '--pinned'}])),
        card('Duplicates', groups),
        card('Runs', runs)),
      h('div', {class: 'narrow'},
        card('Runs now', activeRuns(context, mine)),
        card('Plan', plans),
        card('What holds space', pins),
        card('Volume', h('dl', {class: 'facts'},
          h('dt', {}, 'uuid'), h('dd', {class: 'code'}, uuid(volume.volumeUuid)),
          h('dt', {}, 'Mounted at'), h('dd', {}, (mounted.mountPaths || []).map((one) => h('div', {}, name(one)))),
          h('dt', {}, 'May be touched'), h('dd', {}, (mounted.allowedRoots || []).length > 0
            ? mounted.allowedRoots.map((one) => h('div', {}, name(one))) : 'nothing'),
          h('dt', {}, 'Extents'), h('dd', {}, count(space.extentCount)),
          h('dt', {}, 'Last run'), h('dd', {}, volume.lastRun
            ? [state(volume.lastRun), ' ', ago(volume.lastRun.endTime)] : 'never'))))));
  duplicates(uuid(volume.volumeUuid), groups);
  runsOf(uuid(volume.volumeUuid), runs);
  context.watch(async (changed) => {
    if (!changed.some((run) => mine(run) && ended(run))) return;
    const now = await get('QueryService/GetVolume', {volume: id}).catch(() => null);
    if (!now || !target.isConnected) return;
    replace(sums, figures(now.volume.space || {}));
    replace(pins, pinned(now.volume.space || {}));
    replace(plans, plan(now.volume));
    runsOf(uuid(volume.volumeUuid), runs);
  });
}
