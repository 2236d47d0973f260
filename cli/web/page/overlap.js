// Which volumes hold the same data. It cannot be shared between filesystems, but it can be seen.

import {get} from './api.js';
import {card, h, name, replace, table} from './dom.js';
import {ago, bytes, duration, percent, uuid} from './format.js';

const MATRIX_MAX = 30;

const label = (member) => [name(member.name), h('small', {}, name(member.hostName))];
const link = (member) => h('a', {href: `#/volumes/${uuid(member.volumeUuid)}`}, label(member));

function matrix(members, pairs) {
  const shared = new Map(pairs.map((pair) => [`${pair.first}/${pair.second}`, pair.sharedBytes]));
  const of = (a, b) => shared.get(`${Math.min(a, b)}/${Math.max(a, b)}`);
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Matrix of volumes'},
    h('table', {class: 'matrix'},
      h('caption', {class: 'visually-hidden'}, 'Data that two volumes have in common'),
      h('thead', {}, h('tr', {}, h('td'), members.map((one) => h('th', {scope: 'col'}, label(one))))),
      h('tbody', {}, members.map((one, row) => h('tr', {}, h('th', {scope: 'row'}, link(one)),
        members.map((other, column) => {
          if (row === column) return h('td', {class: 'self', title: 'different content of its own'}, bytes(one.distinctBytes));
          const value = of(row, column);
          if (value === undefined) return h('td', {class: 'none'}, '–');
          const strength = percent(value, Math.min(Number(one.distinctBytes), Number(other.distinctBytes)) || 1);
          return h('td', {style: {'--strength': `${Math.max(strength, 4)}%`},
            title: `${strength} % of the smaller one`}, bytes(value));
        }))))));
}

export async function show(target) {
  const answer = await get('QueryService/GetOverlap', {pairCountMax: 2000});
  const members = answer.members || [];
  const pairs = answer.pairs || [];
  const head = h('header', {class: 'head'}, h('h1', {}, 'Overlap'),
    h('p', {class: 'quiet'}, 'Data that lies on more than one volume. It cannot be shared between filesystems; '
      + 'whether it must be there twice is for people to say.'),
    h('p', {class: 'quiet'}, answer.time
      ? `Computed ${ago(answer.time)}${parseFloat(answer.elapsed) >= 0.1 ? ` in ${duration(answer.elapsed)}` : ''}.`
      : 'Not computed yet: it is done in the background.'));
  if (!answer.time) {
    replace(target, head);
    return;
  }
  const used = [...new Set(pairs.flatMap((pair) => [pair.first, pair.second]))].sort((a, b) => a - b);
  const few = members.length <= MATRIX_MAX ? members.map((_, i) => i) : used.slice(0, MATRIX_MAX);
  const place = new Map(few.map((member, i) => [member, i]));
  replace(target, head,
    card('Matrix', few.length < 2 ? h('p', {class: 'quiet'}, 'It takes two volumes whose data is in the index: each is, after its first run.')
      : matrix(few.map((i) => members[i]), pairs.filter((pair) => place.has(pair.first) && place.has(pair.second))
        .map((pair) => ({...pair, first: place.get(pair.first), second: place.get(pair.second)}))),
    members.length > few.length && h('p', {class: 'quiet'}, `The first ${few.length} of ${members.length} volumes.`),
    Number(answer.everywhereBytes || 0) > 0 && h('p', {},
      `${bytes(answer.everywhereBytes)} lie on ${answer.everywhereVolumeCount} volumes or more, and are in no pair.`),
    answer.mixedChecksums && h('p', {class: 'quiet'}, 'Some volumes have checksums of different kinds, which cannot be compared.')),
    members.length > 1 && card('Pairs', pairs.length === 0 ? h('p', {class: 'fine'}, 'No two volumes hold the same extents.')
      : table('Pairs of volumes', [{title: 'Volume'}, {title: 'and'}, {title: 'In common', number: true}],
        pairs.slice(0, 200).map((pair) => [link(members[pair.first]), link(members[pair.second]), bytes(pair.sharedBytes)]))));
}
