// Builds elements. Whatever comes from elsewhere becomes text, never markup.

const SVG = 'http://www.w3.org/2000/svg';

// Controls, and characters that turn the direction of what follows, would let a file's name pretend
// to be another one.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function visible(text) {
  return String(text).replace(UNSEEN, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}`
                        : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === 'style') {
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    } else {
      element.setAttribute(name, value === true ? '' : visible(value));
    }
  }
  add(element, children);
  return element;
}

export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return element;
}

// h('p', {class: 'quiet'}, 'text', h('b', {}, 'more'))
export const h = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// A name that others gave: its direction stays its own.
export const name = (text, attributes) => h('bdi', attributes, text);

// Of a text of ours, or one whose lines mean something.
export const lines = (text) => text.split('\n').map((line) => h('span', {class: 'line'}, line || ' '));

export function replace(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

// Tells people who do not see what changed.
export function say(text) {
  document.getElementById('said').textContent = visible(text);
}

export function table(caption, columns, rows, attributes = {}) {
  const numeric = (column) => (column.number ? 'number' : undefined);
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
    h('table', attributes,
      h('caption', {class: 'visually-hidden'}, caption),
      h('thead', {}, h('tr', {}, columns.map((column) =>
        h('th', {scope: 'col', class: numeric(column)}, column.title)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) =>
        h(i === 0 ? 'th' : 'td', {scope: i === 0 ? 'row' : undefined, class: numeric(columns[i]),
          'data-title': columns[i].title}, cell)))))));
}

export function card(title, ...children) {
  const id = `t${Math.random().toString(36).slice(2)}`;
  return h('section', {class: 'card', 'aria-labelledby': title ? id : undefined},
    title && h('h2', {id}, title), children);
}

// Asks before something is done. Resolves to whether it was confirmed.
export function confirm(title, text, action, danger = false) {
  return new Promise((resolve) => {
    const dialog = h('dialog', {class: 'ask', 'aria-label': title},
      h('h2', {}, title), h('p', {}, text),
      h('div', {class: 'actions'},
        h('button', {type: 'button', on: {click: () => dialog.close('')}}, 'Leave it'),
        h('button', {type: 'button', class: danger ? 'danger' : 'primary',
          on: {click: () => dialog.close('yes')}}, action)));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
