// Figures, times and words, the same as the command line's.

// What is not known is never shown as 0.
const UNKNOWN = '–';
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export const known = (value) => value !== undefined && value !== null;

export function bytes(value) {
  if (!known(value)) return UNKNOWN;
  let number = Number(value);
  let unit = 0;
  while (Math.abs(number) >= (unit === 0 ? 1024 : 1023.95) && unit + 1 < UNITS.length) {
    number /= 1024;
    unit += 1;
  }
  if (unit === 0) return `${number} B`;
  return `${number.toFixed(Math.abs(number) < 9.995 ? 2 : 1)} ${UNITS[unit]}`;
}

// For who hears it: a dash is passed over.
export const spoken = (value) => (known(value) ? bytes(value) : 'not known');

export function count(value) {
  if (!known(value)) return UNKNOWN;
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

export function percent(part, whole) {
  const [a, b] = [Number(part), Number(whole)];
  if (!(a > 0) || !(b > 0)) return 0;
  return a >= b ? 100 : Math.floor((a * 100) / b);
}

// `seconds`: a number, or protobuf's "12.5s".
export function duration(seconds) {
  const value = typeof seconds === 'string' ? parseFloat(seconds) : seconds;
  if (!Number.isFinite(value)) return UNKNOWN;
  if (value < 9.95) return `${Math.max(value, 0).toFixed(1)} s`;
  const whole = Math.round(value);
  const days = Math.floor(whole / 86400);
  const hours = Math.floor(whole / 3600) % 24;
  const minutes = Math.floor(whole / 60) % 60;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${minutes} min ${whole % 60} s`;
  return days === 0 ? `${hours} h ${minutes} min` : `${days} d ${hours} h`;
}

export function ago(time, now = Date.now()) {
  if (!time) return 'never';
  const seconds = (now - Date.parse(time)) / 1000;
  if (Math.abs(seconds) < 1.5) return 'now';
  return seconds >= 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

const FULL = {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit',
              hour12: false};
export const date = (time) => (time ? new Date(time).toLocaleString('en-GB', FULL) : '');
export const clock = (time) =>
  new Date(time).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'});

// "RUN_STATE_WAITING" → "waiting"
export const word = (value, prefix) => {
  const text = String(value || '').replace(prefix, '');
  return !text || text === 'UNSPECIFIED' ? 'unknown' : text.toLowerCase();
};
export const state = (run) => word(run.state, 'RUN_STATE_');
export const phase = (run) => word(run.status && run.status.phase, 'RUN_PHASE_');
export const ended = (run) =>
  ['completed', 'incomplete', 'cancelled', 'failed'].includes(state(run));

const raw = (base64) => Uint8Array.from(atob(base64 || ''), (c) => c.charCodeAt(0));

export function uuid(base64) {
  const hex = Array.from(raw(base64), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.length === 32 ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : hex;
}

// A file's name: any bytes but zero. What is no UTF-8 shows as \xNN.
export function path(base64) {
  const all = raw(base64);
  try {
    return new TextDecoder('utf-8', {fatal: true}).decode(all);
  } catch {
    return Array.from(all, (byte) => (byte >= 0x20 && byte < 0x7f
      ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`)).join('');
  }
}

const HOLDERS = {
  snapshot: 'a snapshot or subvolume outside of what may be touched still uses them',
  outside_files: 'files outside of what may be touched still use them',
  unmatched_blocks: 'a part of them exists only once',
  tail: 'the last, partly filled block of a file has no copy',
  metadata: 'sharing them would take more metadata than it frees',
  excluded: 'excluded files, or files outside the size limits, still use them',
  immutable: 'immutable or append-only files use them',
  readonly_subvolume: 'read-only subvolumes use them, which are skipped',
  deleted: 'deleted files that are still open, or subvolumes being deleted, use them',
  swapfile: 'an active swap file uses them',
  too_many_references: 'they are used in more places than a run looks at',
  refused: 'the kernel refused to share them',
};
export const holder = (key) => HOLDERS[key] || key.replace(/_/g, ' ');

// What a run does, or is held up by, in a few words.
export function progress(run) {
  const status = run.status || {};
  const figures = status.figures || {};
  const parts = [];
  if (state(run) === 'waiting') {
    parts.push(run.waitsFor ? `waits: ${run.waitsFor}` : 'waits');
  } else if (state(run) === 'running') {
    parts.push(phase(run) === 'unknown' ? 'starting' : `${phase(run)} ${fraction(run)} %`);
  } else {
    parts.push(state(run));
  }
  if (run.dryRun) {
    if (known(figures.bytesExpected)) parts.push(`would free ${bytes(figures.bytesExpected)}`);
  } else if (known(figures.bytesFreed)) {
    parts.push(`freed ${bytes(figures.bytesFreed)}`);
  }
  const problems = Number(status.problemCount || 0);
  if (problems > 0) parts.push(`${count(problems)} ${problems === 1 ? 'problem' : 'problems'}`);
  const held = status.throttledBy || status.message;
  return parts.join(', ') + (held && state(run) === 'running' ? ` (${held})` : '');
}

// Per cent of its phase.
export function fraction(run) {
  const value = Number((run.status || {}).phaseFraction);
  return Number.isFinite(value) ? Math.floor(Math.min(Math.max(value, 0), 1) * 100) : 0;
}
