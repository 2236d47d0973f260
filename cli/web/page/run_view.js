// One run as a line that moves, with what may be done to it.

import {post} from './api.js';
import {confirm, h, name, replace, say} from './dom.js';
import {ago, bytes, ended, fraction, known, phase, progress, state} from './format.js';

const PHASES = ['scan', 'match', 'fold'];

export const badge = (run) => h('span', {class: `badge ${state(run)}`},
  state(run), run.dryRun && ' · dry run');

export const runLink = (run) =>
  h('a', {href: `#/runs/${run.runId}`}, name(run.volumeName || run.runId.slice(0, 8)));

async function act(button, method, run) {
  button.disabled = true;
  try {
    await post(`AdminService/${method}`, {runId: run.runId});
    say(`${button.textContent}: done`);
  } catch (error) {
    say(error.message);
    button.closest('.actions').append(h('span', {class: 'error', role: 'alert'}, error.message));
  }
  button.disabled = false;
}

// Buttons for an operator; the coordinator refuses others whatever a page shows.
export function actions(run, context) {
  if (!context.may('operator') || ended(run)) return null;
  const button = (title, method, ask) => {
    const element = h('button', {type: 'button', class: method === 'CancelRun' ? 'danger' : ''}, title);
    element.addEventListener('click', async () => {
      if (!ask || (await confirm(title, ask, title, true))) await act(element, method, run);
    });
    return element;
  };
  return h('div', {class: 'actions'},
    state(run) === 'paused' ? button('Resume', 'ResumeRun') : button('Pause', 'PauseRun'),
    button('Cancel', 'CancelRun', `Stop the run on ${run.volumeName} for good? What it has done counts.`));
}

export function phases(run) {
  const now = phase(run);
  const at = now === 'done' || (ended(run) && state(run) === 'completed') ? PHASES.length : PHASES.indexOf(now);
  return h('ol', {class: 'phases', 'aria-label': 'Phases'}, PHASES.map((one, i) => {
    const part = i < at ? 100 : i === at ? fraction(run) : 0;
    return h('li', {class: i === at ? 'now' : i < at ? 'past' : '',
                    'aria-current': i === at ? 'step' : undefined},
      h('progress', {max: 100, value: part, 'aria-label': `${one} ${part} %`}), h('span', {}, one));
  }));
}

// {element, update(run)}; keeps its buttons while it moves, so that they can be pressed.
export function runCard(first, context) {
  const element = h('article', {class: 'run'});
  const text = h('p', {class: 'progress'});
  const bars = h('div');
  const buttons = h('div');
  const head = h('h3');
  element.append(head, bars, text, buttons);
  let kind = '';
  const update = (run) => {
    const figures = (run.status || {}).figures || {};
    if (kind !== state(run)) {
      kind = state(run);
      replace(head, runLink(run), ' ', badge(run));
      replace(buttons, actions(run, context));
    }
    replace(bars, phases(run));
    text.textContent = '';
    replace(text, progress(run),
      known(run.expectedBytes) && !ended(run) && Number(run.expectedBytes) > 0
        && ` of about ${bytes(run.expectedBytes)} expected`,
      !ended(run) && run.startTime && h('span', {class: 'quiet'}, ` · began ${ago(run.startTime)}`),
      known(figures.bytesShared) && h('span', {class: 'quiet'}, ` · shared ${bytes(figures.bytesShared)}`));
  };
  update(first);
  return {element, update};
}

// Runs that have not ended, kept up to date.
export function activeRuns(context, select = () => true) {
  const list = h('div', {class: 'runs'});
  const cards = new Map();
  const empty = h('p', {class: 'quiet'}, 'Nothing runs now.');
  const refresh = () => {
    for (const run of context.live.values()) {
      if (!select(run)) continue;
      if (cards.has(run.runId)) {
        cards.get(run.runId).update(run);
      } else if (!ended(run)) {
        const one = runCard(run, context);
        cards.set(run.runId, one);
        // What works stands before what waits.
        if (state(run) === 'running') list.prepend(one.element);
        else list.append(one.element);
      }
    }
    empty.hidden = cards.size > 0;
  };
  list.append(empty);
  refresh();
  context.watch(refresh);
  return list;
}

// Starts runs, after asking.
export function runNow(context, title, request, what) {
  if (!context.may('operator')) return null;
  const said = h('p', {class: 'said', role: 'status'});
  const begin = async (dryRun) => {
    const text = dryRun
      ? `Measure what a run on ${what} would free? Nothing is changed.`
      : `Fold what is there twice on ${what} now? The kernel compares every byte before it shares anything.`;
    if (!(await confirm(title, text, dryRun ? 'Measure' : 'Run now'))) return;
    try {
      const answer = await post('AdminService/StartRuns',
        {...request, dryRun, requestId: crypto.getRandomValues(new Uint32Array(4)).join('-')});
      const runs = answer.runs || [];
      const refused = answer.refused || [];
      replace(said, runs.length > 0 && `${runs.length === 1 ? 'A run was' : `${runs.length} runs were`} started. `,
        runs.length === 1 && h('a', {href: `#/runs/${runs[0].runId}`}, 'Watch it'),
        refused.map((sentence) => h('span', {class: 'error'}, ` ${sentence}`)));
    } catch (error) {
      replace(said, h('span', {class: 'error'}, error.message));
    }
  };
  return h('div', {class: 'actions start'},
    h('button', {type: 'button', class: 'primary', on: {click: () => begin(false)}}, title),
    h('button', {type: 'button', on: {click: () => begin(true)}}, 'Dry run'), said);
}
