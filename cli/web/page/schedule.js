// What runs when: a week with its windows.

import {get} from './api.js';
import {card, h, name, replace} from './dom.js';
import {clock, count} from './format.js';

// Monday, 00:00 here.
function monday(offset) {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - ((day.getDay() + 6) % 7) + offset * 7);
  return day;
}

const nextDay = (day, days) => {
  const next = new Date(day);
  next.setDate(next.getDate() + days);
  return next;
};

const kind = (entry) => entry.state.replace('STATE_', '').toLowerCase();

// Part of a day, 0 to 1.
const part = (time, day, end) =>
  Math.min(Math.max((time - day.getTime()) / (end.getTime() - day.getTime()), 0), 1);

function dayColumn(day, answer) {
  const end = nextDay(day, 1);
  const inside = (from, until) => from < end.getTime() && until > day.getTime();
  const windows = (answer.windows || []).filter((one) =>
    inside(Date.parse(one.startTime), Date.parse(one.endTime)));
  const entries = (answer.entries || []).filter((one) =>
    Date.parse(one.dueTime) >= day.getTime() && Date.parse(one.dueTime) < end.getTime());
  const today = Date.now() >= day.getTime() && Date.now() < end.getTime();
  // Many at one time stand for one.
  const shown = entries.slice(0, 24);
  return h('li', {class: today ? 'day today' : 'day'},
    h('h2', {}, day.toLocaleDateString('en-GB', {weekday: 'short', day: 'numeric', month: 'short'})),
    h('div', {class: 'hours'},
      windows.map((one) => {
        const from = part(Date.parse(one.startTime), day, end);
        const until = part(Date.parse(one.endTime), day, end);
        return h('div', {class: 'window', title: `window of ${one.policy}`,
          style: {top: `${from * 100}%`, height: `${(until - from) * 100}%`}},
        h('span', {class: 'visually-hidden'}, `window of ${one.policy}, ${clock(one.startTime)} to ${clock(one.endTime)}`));
      }),
      today && h('div', {class: 'now', style: {top: `${part(Date.now(), day, end) * 100}%`}}),
      h('ul', {}, shown.map((entry) => h('li', {class: `entry ${kind(entry)}`,
        style: {'--at': `${part(Date.parse(entry.dueTime), day, end) * 100}%`}},
      h('time', {datetime: entry.dueTime}, clock(entry.dueTime)), ' ',
      (entry.runIds || []).length > 0 ? h('a', {href: `#/runs/${entry.runIds[0]}`}, name(entry.policy)) : name(entry.policy),
      h('small', {}, ` ${kind(entry)}, ${count(entry.volumeCount)} ${entry.volumeCount === 1 ? 'volume' : 'volumes'}`)))),
      entries.length > shown.length && h('small', {class: 'more'}, `and ${entries.length - shown.length} more`)));
}

export async function show(target, context, [where]) {
  const offset = Math.min(Math.max(parseInt(where, 10) || 0, -50), 7);
  const first = monday(offset);
  const last = nextDay(first, 7);
  const answer = await get('QueryService/ListSchedule',
    {startTime: first.toISOString(), endTime: last.toISOString()});
  const days = [...Array(7).keys()].map((i) => dayColumn(nextDay(first, i), answer));
  const unscheduled = answer.unscheduled || [];
  replace(target,
    h('header', {class: 'head'}, h('h1', {}, 'Schedule'),
      h('p', {class: 'quiet'}, `Week of ${first.toLocaleDateString('en-GB', {day: 'numeric', month: 'long', year: 'numeric'})}, in the time of this browser`),
      h('nav', {class: 'actions', 'aria-label': 'Weeks'},
        h('a', {class: 'button', href: `#/schedule/${offset - 1}`, 'aria-label': 'Week before'}, 'Before'),
        h('a', {class: 'button', href: '#/schedule'}, 'This week'),
        h('a', {class: 'button', href: `#/schedule/${offset + 1}`, 'aria-label': 'Week after'}, 'After'))),
    h('ul', {class: 'key', 'aria-label': 'Key'},
      ['due', 'active', 'done', 'missed'].map((one) => h('li', {class: `entry ${one}`}, one)),
      h('li', {}, h('i', {class: 'window'}), ' window in which runs may work')),
    h('ol', {class: 'week'}, days),
    answer.truncated && h('p', {class: 'quiet'}, 'There is more than is shown.'),
    unscheduled.length > 0 && card('Only by hand', h('ul', {}, unscheduled.map((one) => h('li', {}, name(one))))));
}
