// The coordinator's services as JSON.

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, {credentials: 'same-origin', cache: 'no-store', ...options});
  } catch {
    throw new ApiError(0, 'UNAVAILABLE', 'the coordinator does not answer');
  }
  let body = {};
  try {
    body = await response.json();
  } catch {
    // An answer of something in between.
  }
  if (!response.ok) {
    const error = new ApiError(response.status, body.code || '', body.message || response.statusText);
    if (response.status === 401) dispatchEvent(new CustomEvent('signed-out'));
    throw error;
  }
  return body;
}

export function get(method, parameters = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.append(key, value);
  }
  const text = query.toString();
  return ask(text ? `${method}?${text}` : method);
}

export const post = (method, request = {}) => ask(method, {
  method: 'POST',
  headers: {'Content-Type': 'application/json', 'X-Onefold-Request': '1'},
  body: JSON.stringify(request),
});

// Calls `take` with each message, and begins again when the stream breaks off. Returns what ends it.
export function stream(method, take, broken = () => {}) {
  const source = new EventSource(`/api/v1/${method}`);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.addEventListener('end', () => source.close());
  source.addEventListener('failed', (event) => {
    source.close();
    broken(JSON.parse(event.data).message);
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) broken('the coordinator does not answer');
  };
  return () => source.close();
}
