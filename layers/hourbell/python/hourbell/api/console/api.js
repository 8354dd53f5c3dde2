// The one way to the API. Addresses are relative: the console works under any path that the API works under.

const KEY = "hourbell.key";
const TIMEOUT = 30 * SECOND;

class Problem extends Error {
  constructor({ status, type = "", title = "", detail = "", errors = [] }) {
    super(detail || title);
    Object.assign(this, { status, slug: type.split(":").pop(), title, detail, errors });
  }

  get missingScope() {
    return this.slug === "scope" ? (/the scope (\S+)/.exec(this.detail)?.[1] ?? "that it needs") : null;
  }

  get sentence() {
    if (this.missingScope) return `This key lacks the scope ${this.missingScope}.`;
    return this.detail || this.title;
  }
}

// A value that components watch.
function observable(value) {
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const watcher of watchers) watcher({});
    },
    use() {
      const [, redraw] = useState({});
      useLayoutEffect(() => {
        watchers.add(redraw);
        return () => watchers.delete(redraw);
      }, []);
      return value;
    },
  };
}

// For this tab only, and never in an address: closing the tab signs out.
const session = observable({ key: sessionStorage.getItem(KEY), note: null });

function signIn(key) {
  sessionStorage.setItem(KEY, key);
  session.set({ key, note: null });
}

function signOut(note = null) {
  sessionStorage.removeItem(KEY);
  jobNames.set(new Map());
  session.set({ key: null, note });
}

// Numbers with more digits than JavaScript keeps stay as they are spelled, where the browser can: payloads go back
// as they came.
const LONG_NUMBER = /^-?[\d.]{16,}/;

function parseJson(text) {
  return JSON.parse(text, (_name, value, context) =>
    typeof value === "number" && JSON.rawJSON && LONG_NUMBER.test(context?.source)
      ? JSON.rawJSON(context.source)
      : value,
  );
}

function problemOf(status, text) {
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    told = {};
  }
  return new Problem({ title: `HTTP ${status}`, detail: told?.message, ...told, status });
}

async function call(method, path, { body, key = session.get().key, ifMatch, idempotencyKey, signal } = {}) {
  const headers = { Authorization: `Bearer ${key}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (ifMatch) headers["If-Match"] = ifMatch;
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  const limits = [AbortSignal.timeout(TIMEOUT), ...(signal ? [signal] : [])];
  let reply, text;
  try {
    reply = await fetch(path, { method, headers, body, cache: "no-store", signal: AbortSignal.any(limits) });
    text = await reply.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem({ status: 0, type: "unreachable", detail: "The API does not answer." });
  }
  trustClockOf(reply.headers.get("date"));
  if (reply.ok) return { value: text ? parseJson(text) : null, etag: reply.headers.get("etag"), status: reply.status };
  const problem = problemOf(reply.status, text);
  if (problem.status === 401 && key === session.get().key) signOut("This key is not valid any more. Sign in again.");
  throw problem;
}

const post = (path, value, options = {}) =>
  call("POST", path, { body: JSON.stringify(value ?? {}), idempotencyKey: newKey(), ...options });

const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function address(path, query = {}) {
  const filled = Object.entries(query).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== "" && one !== null && one !== undefined)
      .map((one) => [name, one]),
  );
  const text = new URLSearchParams(filled).toString();
  return text ? `${path}?${text}` : path;
}

/** What a GET answers, again and again while the tab is visible; the last picture stays when the API does not answer.
 *  `keep`: also that of the address before, until the new one answers. */
function useData(path, { every = 0, keep = false } = {}) {
  const [shown, setShown] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    const control = new AbortController();
    let timer,
      busy = false,
      failures = 0;
    const load = async () => {
      if (busy) return;
      busy = true;
      clearTimeout(timer);
      try {
        const { value, etag } = await call("GET", path, { signal: control.signal });
        failures = 0;
        setShown({ path, value, etag, problem: null, at: apiNow() });
      } catch (problem) {
        if (control.signal.aborted) return;
        failures += 1;
        setShown((before) => ({ ...(before.path === path || keep ? before : {}), path, problem }));
        if (problem.status >= 400 && problem.status < 429) return;
      } finally {
        busy = false;
      }
      if (every) timer = setTimeout(again, Math.min(every * 2 ** failures, Math.max(every, 30 * SECOND)));
    };
    const again = () => document.hidden || load();
    load();
    if (every) document.addEventListener("visibilitychange", again);
    return () => {
      control.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [path, turn, every, keep]);
  const here = shown.path === path || keep ? shown : {};
  return {
    value: here.value ?? null,
    etag: here.etag ?? null,
    problem: here.problem ?? null,
    at: here.at ?? null,
    every,
    behind: shown.path !== path,
    reload: () => setTurn((before) => before + 1),
  };
}

// Runs name their job by id only, and people know jobs by name: each is looked up once, a few at a time.
const jobNames = observable(new Map());
const namesWanted = new Set();
const namesAsked = new Set();
const NAMES_AT_ONCE = 4;
const GONE = "a deleted job";

function lookUpNames() {
  for (const id of namesWanted) {
    if (namesAsked.size >= NAMES_AT_ONCE) return;
    namesWanted.delete(id);
    namesAsked.add(id);
    call("GET", `v1/jobs/${id}`)
      .then(
        ({ value }) => value.name ?? id,
        (problem) => (problem.status === 404 ? GONE : id),
      )
      .then((name) => {
        namesAsked.delete(id);
        jobNames.set(new Map(jobNames.get()).set(id, name));
        lookUpNames();
      });
  }
}

function useJobNames(ids) {
  const names = jobNames.use();
  const unknown = ids.filter((id) => !names.has(id));
  useEffect(() => {
    for (const id of unknown) if (!jobNames.get().has(id) && !namesAsked.has(id)) namesWanted.add(id);
    lookUpNames();
  }, [unknown.join()]);
  return (id) => names.get(id) || id;
}
