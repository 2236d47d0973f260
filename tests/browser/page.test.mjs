// The page, driven like a person would. test_page.py beside this makes the fleet and starts it.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {after, before, test} from 'node:test';

const fleet = JSON.parse(process.env.ONEFOLD_PAGE);
const load = createRequire(path.join(fleet.modules, 'x.js'));
const {chromium} = load('playwright-core');
const axe = readFileSync(path.join(fleet.modules, 'axe-core/axe.min.js'), 'utf8');

const PAGES = ['', 'volumes', `volumes/${fleet.uuids[0]}`, `volumes/${fleet.uuids[1]}`, 'runs', 'schedule', 'overlap',
  'policies', 'hosts'];
const ORIGIN = new URL(fleet.links.viewer).origin;
const PATIENCE = 60000;

let browser;
const people = {};

// A context of its own: cookie, width and colours of one person.
async function person(role, options = {}) {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...options});
  const page = await context.newPage();
  page.troubles = [];
  page.on('console', (message) => {
    // A refused fetch is told there, too; tests that provoke one look at it themselves.
    if (message.type() === 'error' && !/status of 40[13]/.test(message.text())) page.troubles.push(message.text());
  });
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(ORIGIN) && !request.url().startsWith('data:')) {
      page.troubles.push(`asked elsewhere: ${request.url()}`);
    }
  });
  page.setDefaultTimeout(PATIENCE);
  return page;
}

// The same session, seen differently.
async function alike(role, options) {
  const state = await people[role].context().storageState();
  return person(role, {...options, storageState: state});
}

async function open(page, where) {
  await page.goto(`${ORIGIN}/#/${where}`);
  await page.waitForSelector('main h1');
  await page.waitForFunction(() => !document.querySelector('main .loading'));
}

before(async () => {
  browser = await chromium.launch({executablePath: fleet.browser, args: ['--no-sandbox', '--disable-dev-shm-usage']});
  for (const role of ['viewer', 'operator']) {
    people[role] = await person(role);
    await people[role].goto(fleet.links[role]);
    await people[role].waitForSelector('#bar:not([hidden])');
  }
});

after(async () => {
  await browser.close();
});

test('who has not signed in sees how to', async () => {
  const page = await person('nobody');
  await page.goto(`${ORIGIN}/`);
  await page.waitForSelector('.sign-in');
  assert.equal(await page.locator('nav').count(), 0);
  await page.screenshot({path: path.join(fleet.screenshots, 'sign-in.png')});
  // A link is good once; this one was spent.
  await page.goto(fleet.links.viewer);
  await page.waitForSelector('.sign-in .error:not([hidden])');
  await page.context().close();
});

test('the token is not in the address any more', async () => {
  assert.equal(people.viewer.url(), `${ORIGIN}/#/`);
});

for (const where of PAGES) {
  test(`page "${where}" shows, and nothing is wrong with it`, async () => {
    const page = people.viewer;
    page.troubles.length = 0;
    await open(page, where);
    assert.equal(await page.locator('main [role=alert]:not(:empty)').count(), 0, await page.locator('main').innerText());
    assert.deepEqual(page.troubles, []);
  });

  test(`page "${where}" can be read by a screen reader`, async () => {
    for (const scheme of ['light', 'dark']) {
      const page = await alike('operator', {colorScheme: scheme, bypassCSP: true});
      await open(page, where);
      await page.evaluate(axe);
      const {violations} = await page.evaluate(() => window.axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']}));
      const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 140)).join(' | ')}`);
      assert.deepEqual(found, [], scheme);
      await page.context().close();
    }
  });
}

test('screenshots', async () => {
  const views = {
    light: {colorScheme: 'light', viewport: {width: 1440, height: 900}},
    dark: {colorScheme: 'dark', viewport: {width: 1440, height: 900}},
    phone: {colorScheme: 'light', viewport: {width: 390, height: 844}, deviceScaleFactor: 2},
    small: {colorScheme: 'light', viewport: {width: 320, height: 640}, deviceScaleFactor: 2},
    'phone-dark': {colorScheme: 'dark', viewport: {width: 390, height: 844}, deviceScaleFactor: 2},
    wide: {colorScheme: 'light', viewport: {width: 2400, height: 1200}},
  };
  for (const [view, options] of Object.entries(views)) {
    const page = await alike('operator', options);
    for (const where of PAGES) {
      await open(page, where);
      await page.waitForTimeout(400);
      const name = `${where.replace(/\W/g, '_') || 'overview'}-${view}.png`;
      await page.screenshot({path: path.join(fleet.screenshots, name), fullPage: true});
      const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(wider, false, `${where} is wider than a ${view}`);
      const heights = await page.locator('#bar nav a span').evaluateAll((all) => all.map((one) => one.offsetHeight));
      assert.ok(Math.max(...heights) < 30, `a page's name takes two lines on a ${view}`);
      const cut = await page.locator('#bar :is(a, button, span)').evaluateAll((all) =>
        all.filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.innerText));
      assert.deepEqual(cut, [], `of the bar on a ${view}`);
    }
    await page.context().close();
  }
});

test('what is not known is no zero', async () => {
  const page = people.viewer;
  // Nothing ran there yet.
  await open(page, `volumes/${fleet.uuids[1]}`);
  for (const kind of ['waiting', 'pinned']) {
    assert.equal(await page.locator(`.figure.${kind} b`).innerText(), '–');
  }
  await open(page, '');
  assert.match(await page.locator('main').innerText(), /what is not known is in no sum/);
  await open(page, `volumes/${fleet.uuids[0]}`);
  assert.match(await page.locator('.figure.pinned b').innerText(), /^[\d.]+ \w+$/);
});

test('hostile names are text', async () => {
  const page = people.viewer;
  page.troubles.length = 0;
  await open(page, `volumes/${fleet.uuids[1]}`);
  assert.equal(await page.locator('main h1').innerText(), fleet.label);
  assert.equal(await page.locator('main h1 b').count(), 0);
  await open(page, 'volumes');
  assert.equal(await page.locator('main img').count(), 0);
  assert.match(await page.locator('table').innerText(), /<b>x<\/b>/);
  assert.notEqual(await page.title(), 'owned');
  assert.deepEqual(page.troubles, []);
});

test('a viewer has no buttons, and is refused', async () => {
  const page = people.viewer;
  for (const where of ['', `volumes/${fleet.uuids[0]}`, 'runs', 'policies', 'hosts']) {
    await open(page, where);
    const buttons = await page.locator('main button').allInnerTexts();
    for (const title of buttons) assert.doesNotMatch(title, /run|cancel|pause|apply|drain/i);
  }
  assert.equal(await page.locator('textarea').count(), 0);
  const status = await page.evaluate(async () => (await fetch('/api/v1/AdminService/StartRuns', {
    method: 'POST', headers: {'X-Onefold-Request': '1'}, body: '{"selector": "all"}'})).status);
  assert.equal(status, 403);
});

test('an operator starts a run and sees it to its end', async () => {
  const page = people.operator;
  page.troubles.length = 0;
  await open(page, `volumes/${fleet.uuids[1]}`);
  await page.getByRole('button', {name: 'Run now'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Run now'}).click();
  await page.getByRole('link', {name: 'Watch it'}).click();
  await page.waitForSelector('main .badge');
  // Nothing is loaded anew: what changes comes by itself.
  await page.waitForSelector('main .badge.completed', {timeout: 2 * PATIENCE});
  await page.waitForFunction(() => /freed [\d.]+ MiB/.test(document.querySelector('main').innerText));
  await page.screenshot({path: path.join(fleet.screenshots, 'run-light.png'), fullPage: true});
  assert.deepEqual(page.troubles, []);
  // Others see it as well.
  await open(people.viewer, 'runs');
  assert.match(await people.viewer.locator('main').innerText(), /completed/);
});

test('an operator pauses a run that waits, and cancels it', async () => {
  const page = people.operator;
  await open(page, 'policies');
  await page.locator('textarea').fill('name: slow\nselect: label=films\nthrottle: {threads: 1, operations_per_second: 1}\n');
  await page.getByRole('button', {name: 'Show what changes'}).click();
  await page.getByText('This would change').waitFor();
  await page.screenshot({path: path.join(fleet.screenshots, 'policy-diff.png'), fullPage: true});
  await page.getByRole('button', {name: 'Apply'}).click();
  await page.getByRole('heading', {name: 'Applied'}).waitFor();
  await open(page, `volumes/${fleet.uuids[0]}`);
  await page.getByRole('button', {name: 'Dry run'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Measure'}).click();
  await page.getByRole('link', {name: 'Watch it'}).click();
  await page.waitForSelector('main .badge');
  const ended = page.locator('main .badge:is(.completed, .cancelled, .incomplete)');
  const pause = page.getByRole('button', {name: 'Pause'});
  await pause.or(ended).first().waitFor();
  if (await pause.count()) {
    await pause.click();
    await page.locator('main .badge.paused').or(ended).first().waitFor();
    if (await page.getByRole('button', {name: 'Cancel'}).count()) {
      await page.getByRole('button', {name: 'Cancel'}).click();
      await page.getByRole('dialog').getByRole('button', {name: 'Cancel'}).click();
    }
  }
  await ended.first().waitFor();
});

test('an operator drains a host, and resumes it', async () => {
  const page = people.operator;
  page.troubles.length = 0;
  await open(page, 'hosts');
  await page.getByRole('button', {name: 'Drain nas2'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Drain'}).click();
  const resume = page.getByRole('button', {name: 'Resume nas2'});
  await resume.waitFor();
  assert.equal(await resume.evaluate((button) => button === document.activeElement), true);
  assert.equal(await page.locator('main .badge.drained').count(), 1);
  await page.screenshot({path: path.join(fleet.screenshots, 'drained.png'), fullPage: true});
  await open(people.viewer, 'hosts');
  assert.match(await people.viewer.locator('main').innerText(), /drained/);
  await resume.click();
  await page.getByRole('button', {name: 'Drain nas2'}).waitFor();
  assert.deepEqual(page.troubles, []);
});

test('a wrong policy is told by its line', async () => {
  const page = people.operator;
  await open(page, 'policies');
  await page.locator('textarea').fill('name: x\nselect: all\nwindw: 1\n');
  await page.getByRole('button', {name: 'Show what changes'}).click();
  assert.match(await page.getByRole('alert').innerText(), /line 3/);
  assert.equal(await page.getByRole('button', {name: 'Apply'}).isDisabled(), true);
});

test('everything is reached by keyboard', async () => {
  const page = people.viewer;
  await open(page, '');
  await page.evaluate(() => document.activeElement.blur());
  const seen = [];
  for (let i = 0; i < 20; ++i) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => document.activeElement.innerText.trim()));
  }
  for (const name of ['Skip to the content', 'Overview', 'Volumes', 'Hosts', 'Runs', 'Schedule', 'Overlap', 'Policies']) {
    assert.ok(seen.includes(name), `${name} of ${seen}`);
  }
});

test('signing out ends it', async () => {
  const page = people.viewer;
  await open(page, '');
  await page.getByRole('button', {name: 'Sign out'}).click();
  await page.waitForSelector('.sign-in');
  await page.goto(`${ORIGIN}/#/volumes`);
  await page.reload();
  await page.waitForSelector('.sign-in');
});
