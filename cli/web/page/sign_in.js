// Signing in: with a link that is good once.

import {post} from './api.js';
import {h, lines, replace} from './dom.js';

export function show(target, trouble = '') {
  document.title = 'Sign in · onefold';
  const field = h('input', {id: 'token', name: 'token', autocomplete: 'off', spellcheck: 'false', required: true});
  const error = h('p', {class: 'error', role: 'alert', hidden: !trouble}, trouble);
  const send = (event) => {
    event.preventDefault();
    const token = field.value.trim().replace(/^.*sign-in\//, '');
    location.hash = `#/sign-in/${encodeURIComponent(token)}`;
  };
  replace(target, h('div', {class: 'sign-in card'},
    h('img', {src: '/icon.svg', alt: '', width: 56, height: 56}),
    h('h1', {}, 'onefold'),
    h('p', {}, 'Sign in with the link that an administrator of this fleet made for you, or paste it here.'),
    error,
    h('form', {on: {submit: send}}, h('label', {for: 'token'}, 'Link'), field,
      h('button', {class: 'primary'}, 'Sign in')),
    h('p', {class: 'quiet'}, 'On the coordinator’s host, root makes one:'),
    h('pre', {}, lines('onefold fleet user add NAME --role viewer\nonefold fleet user link NAME'))));
}

// Whether it was good; says so if it was not.
export async function redeem(target, token) {
  try {
    await post('sign-in', {token});
    return true;
  } catch (error) {
    show(target, error.message);
    return false;
  }
}
