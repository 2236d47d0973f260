// Policies: what they say, and changing them, shown before it is done.

import {get, post} from './api.js';
import {card, h, lines, name, replace, say} from './dom.js';
import {ago, count} from './format.js';

const EXAMPLE = 'name: nightly\nselect: all\nschedule: "0 2 * * *"\nwindow: "22:00-06:00"\n';

function diffOf(change) {
  return h('pre', {class: 'diff', tabindex: '0', 'aria-label': `What changes in ${change.name}`},
    (change.diff || '').split('\n').filter((line) => line).map((line) =>
      h('span', {class: line.startsWith('+') ? 'line plus' : line.startsWith('-') ? 'line minus' : 'line'}, line)));
}

function changesOf(answer) {
  return (answer.changes || []).map((change) => {
    const kind = change.kind.replace('KIND_', '').toLowerCase();
    const volumes = change.selectedVolumes || [];
    return h('div', {class: 'change'}, h('h3', {}, name(change.name), ' ', h('span', {class: `badge ${kind}`}, kind)),
      kind !== 'unchanged' && diffOf(change),
      volumes.length === 0 ? h('p', {class: 'warning'}, 'It selects no volume that is known now.')
        : h('p', {}, `It selects ${count(volumes.length)}: `, volumes.map((one, i) => [i > 0 && ', ', name(one)])));
  });
}

function editor(text, done) {
  const field = h('textarea', {id: 'yaml', rows: 14, spellcheck: 'false'});
  field.value = text;
  const result = h('div', {role: 'status'});
  const apply = h('button', {type: 'button', class: 'primary', disabled: true}, 'Apply');
  let checked = '';
  const send = async (dryRun) => {
    const yaml = field.value;
    try {
      const answer = await post('AdminService/ApplyPolicies', {yaml, dryRun});
      replace(result, h('h3', {}, dryRun ? 'This would change' : 'Applied'), changesOf(answer));
      checked = dryRun ? yaml : '';
      apply.disabled = !dryRun;
      if (!dryRun) {
        say('The policy is applied');
        done();
      }
    } catch (error) {
      apply.disabled = true;
      replace(result, h('p', {class: 'error', role: 'alert'}, error.message));
    }
  };
  field.addEventListener('input', () => {
    apply.disabled = field.value !== checked;
  });
  apply.addEventListener('click', () => send(false));
  return card('Change', h('label', {for: 'yaml'}, 'Policies as YAML, several divided by ---'), field,
    h('div', {class: 'actions'},
      h('button', {type: 'button', on: {click: () => send(true)}}, 'Show what changes'), apply),
    result);
}

export async function show(target, context, [wanted]) {
  const list = h('div', {class: 'wide'});
  const load = async () => {
    const policies = (await get('AdminService/ListPolicies')).policies || [];
    replace(list, policies.length === 0
      ? h('p', {class: 'quiet'}, 'There is no policy, so nothing runs by itself.')
      : policies.map((policy) => card(null,
        h('h2', {}, name(policy.name)),
        h('p', {class: 'quiet'}, `${count(policy.volumeCount)} ${policy.volumeCount === 1 ? 'volume' : 'volumes'}, `,
          policy.nextDueTime ? `next ${ago(policy.nextDueTime)}` : 'only by hand'),
        h('pre', {tabindex: '0', 'aria-label': `Policy ${policy.name}`}, lines(policy.yaml.trimEnd())),
        context.may('operator') && h('a', {class: 'button', href: `#/policies/${encodeURIComponent(policy.name)}`}, 'Edit'))));
    return policies;
  };
  const policies = await load();
  const chosen = policies.find((policy) => policy.name === wanted);
  replace(target, h('header', {class: 'head'}, h('h1', {}, 'Policies'),
    h('p', {class: 'quiet'}, 'What is deduped when, and how hard. What a host’s own configuration does not allow, no policy reaches.')),
  h('div', {class: 'columns'}, list,
    context.may('operator') && h('div', {class: 'narrow editor'}, editor(chosen ? chosen.yaml : EXAMPLE, load))));
}
