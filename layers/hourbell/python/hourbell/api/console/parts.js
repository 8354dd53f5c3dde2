// What every page is made of. Text reaches the page through the library alone, which escapes it: names, tags and
// errors are whatever anybody wrote into them.

const html = htm.bind(h);

// Colour says it at a glance, the shape says it to those who see no difference, the word says it to all.
const LOOKS = {
  active: ["good", "disc"],
  paused: ["warn", "bars"],
  completed: ["mute", "check"],
  queued: ["mute", "ring"],
  running: ["busy", "play"],
  retrying: ["warn", "diamond"],
  succeeded: ["good", "disc"],
  dead: ["bad", "cross"],
  cancelled: ["mute", "slash"],
  skipped: ["mute", "dash"],
  failed: ["bad", "cross"],
  timed_out: ["bad", "cross"],
  crashed: ["bad", "cross"],
};
const look = (state) => LOOKS[state] ?? ["mute", "ring"];

const SHAPES = {
  disc: () => html`<circle cx="6" cy="6" r="4.5" fill="currentColor" />`,
  ring: () => html`<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.6" />`,
  check: () => html`<path d="M2 6.5 5 9.5 10 3" fill="none" stroke="currentColor" stroke-width="2" />`,
  bars: () => html`<path d="M3.5 2v8M8.5 2v8" stroke="currentColor" stroke-width="2.4" />`,
  play: () => html`<path d="M3 1.5 10.5 6 3 10.5z" fill="currentColor" />`,
  diamond: () => html`<path d="M6 1 11 6 6 11 1 6z" fill="currentColor" />`,
  cross: () => html`<path d="M2 2l8 8M10 2l-8 8" stroke="currentColor" stroke-width="2.6" />`,
  slash: () =>
    html`<path d="M2.5 9.5l7-7" stroke="currentColor" stroke-width="1.6" /><circle cx="6" cy="6" r="4.6" fill="none"
      stroke="currentColor" stroke-width="1.4" />`,
  dash: () => html`<path d="M1.5 6h9" stroke="currentColor" stroke-width="2.4" />`,
};

// Shapes are drawn twelve units wide with their middle at x, y.
const Mark = ({ state, x, y, size = 12 }) => html`
  <g class=${look(state)[0]} transform=${`translate(${x - size / 2} ${y - size / 2}) scale(${size / 12})`}>
    ${SHAPES[look(state)[1]]()}
  </g>`;

const Shape = ({ state }) => html`
  <svg class=${look(state)[0]} width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
    ${SHAPES[look(state)[1]]()}
  </svg>`;

const Badge = ({ state }) =>
  html`<span class=${`badge ${look(state)[0]}`}><${Shape} state=${state} />${state.replaceAll("_", " ")}</span>`;

// One clock for the whole page.
const ticks = observable(0);
setInterval(() => document.hidden || ticks.set(ticks.get() + 1), SECOND);
const useNow = () => {
  ticks.use();
  return apiNow();
};

// "in 4 min" and when that is; the title says it in UTC.
function Time({ at, exact = true, milliseconds = false, only = false }) {
  const now = useNow();
  if (!at) return html`<span class="soft">–</span>`;
  const utc = `${at.replace("T", " ").replace("Z", "")} UTC`;
  if (only)
    return html`<time datetime=${at}
      title=${utc}>${localTime(at, { milliseconds }).slice(only === "time" ? 11 : 0)}</time>`;
  return html`<time datetime=${at} title=${`${localTime(at)} here, ${utc}`}>${relative(at, now)}
    ${exact && html`<span class="exact">${localTime(at, { milliseconds })}</span>`}</time>`;
}

// Says how old the picture is, and why it does not get younger.
function Freshness({ data }) {
  const now = useNow();
  if (!data.at) return null;
  const age = Math.max(0, now - data.at);
  const late = data.every && age > Math.max(3 * data.every, 15 * SECOND);
  if (data.problem) return html`<span class="freshness bad"><${Shape} state="dead" />not up to date</span>`;
  return html`<span class=${late ? "freshness warn" : "freshness"}>
    <span class=${data.every && !late ? "pulse" : "pulse off"}
      aria-hidden="true"></span>${age < 2 * SECOND ? "just now" : `${roughly(age)} ago`}
    ${late && ", stale"}</span>`;
}

// What is wrong with a panel, in a sentence, in the panel's place or above its last picture.
function Trouble({ data }) {
  const { problem, at } = data;
  if (!problem) return null;
  const old = at ? ` What you see is as of ${localTime(at)}.` : "";
  const goesOn = data.every && (problem.status === 0 || problem.status >= 429) ? " Trying again." : "";
  return html`<p class=${problem.missingScope ? "notice warn" : "notice bad"} role="alert">${problem.sentence}${old}${goesOn}
    ${!goesOn && !problem.missingScope && html` <button type="button" class="link"
      onClick=${data.reload}>Try again</button>`}</p>`;
}

// A panel that waits for its data, tells what is wrong, and keeps its last picture.
function Panel({ title, data, aside, children, id }) {
  return html`<section class="panel" aria-labelledby=${id}>
    <header><h2 id=${id}>${title}</h2>${aside}</header>
    ${data && html`<${Trouble} data=${data} />`}
    ${!data || data.value ? children : !data.problem && html`<p class="soft waiting">Loading …</p>`}
  </section>`;
}

// The head of a page. Its heading takes the focus when the page opens, so that a reader hears where it is.
function Head({ title, aside, children, data, crumb }) {
  const heading = useRef();
  useEffect(() => {
    document.title = `${title} · Hourbell`;
  }, [title]);
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest("nav"))
      heading.current.focus({ preventScroll: true });
  }, []);
  return html`<div class="head">
    ${crumb && html`<p class="crumb"><a href=${crumb[1]}>${crumb[0]}</a></p>`}
    <div class="head-row"><h1 tabindex="-1" ref=${heading}>${title}</h1>${aside}<span
      class="grow"></span>${data && html`<${Freshness} data=${data} />`}</div>
    ${children}
  </div>`;
}

const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

const isNothing = (value) => value === null || value === undefined || value === "" || value === false;

const Cell = ({ name, kind = "", value }) =>
  isNothing(value)
    ? html`<td class=${`none ${kind}`} data-label=${name}><span class="soft">–</span></td>`
    : html`<td class=${kind} data-label=${name}><div>${value}</div></td>`;

// A table that becomes a list of cards where there is no room: each cell carries its column's name.
function Table({ columns, rows, empty, label, behind = false }) {
  if (!rows.length) return html`<${Empty}>${empty}<//>`;
  return html`<div class=${behind ? "table behind" : "table"} aria-busy=${behind}>
    <table aria-label=${label}>
      <thead><tr>${columns.map(([name, , kind]) => html`<th scope="col" class=${kind}>${name}</th>`)}</tr></thead>
      <tbody>${rows.map(
        (row) => html`<tr key=${row.id}>
        ${columns.map(([name, cell, kind]) => html`<${Cell} key=${name} name=${name} kind=${kind} value=${cell(row)}
          />`)}</tr>`,
      )}</tbody>
    </table></div>`;
}

// The pages of a list: the cursor stands in the address, so Back is the page before.
function Pager({ path, query, next, shown }) {
  if (!query.cursor && !next) return shown ? html`<p class="pager soft">${count(shown)} in all</p>` : null;
  return html`<nav class="pager" aria-label="Pages">
    ${query.cursor && html`<a class="button" href=${link(path, { ...query, cursor: "" })}>First page</a>`}
    <span class="soft">${count(shown)} on this page</span>
    ${next && html`<a class="button" href=${link(path, { ...query, cursor: next })}>Next page</a>`}
  </nav>`;
}

const Facts = ({ facts }) =>
  html`<dl class="facts">${facts
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

const Json = ({ value }) => html`<pre class="code" tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;

function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setDone(true));
  useEffect(() => {
    const timer = done && setTimeout(() => setDone(false), 2 * SECOND);
    return () => clearTimeout(timer);
  }, [done]);
  return html`<button type="button" class="link" onClick=${copy}
    aria-label=${`Copy ${label}`}>${done ? "Copied" : "Copy"}</button>`;
}

const Id = ({ id, label }) => html`<code class="id">${id}</code> <${Copy} text=${id} label=${label} />`;

const JobLink = ({ id, name }) =>
  name === GONE
    ? html`<span class="soft" title=${id}>${GONE}</span>`
    : html`<a href=${link(`jobs/${id}`)} class=${name && name !== id ? "name" : "name id"}>${name || id}</a>`;

// --- forms ---

// A labelled control with what the API says about it.
function Field({ label, name, errors = [], hint, children, wide }) {
  const id = `field-${name}`;
  const found = errors.filter((error) => error.field === name || error.field.startsWith(`${name}.`));
  const control = cloneElement(children, {
    id,
    "aria-invalid": found.length ? "true" : undefined,
    "aria-describedby": found.length ? `${id}-error` : hint ? `${id}-hint` : undefined,
  });
  return html`<div class=${wide ? "field wide" : "field"}>
    <label for=${id}>${label}</label>${control}
    ${hint && html`<small id=${`${id}-hint`}>${hint}</small>`}
    ${
      found.length > 0 &&
      html`<p class="flaw" id=${`${id}-error`}>${found.map(
        ({ field, detail }) => html`<span>${field === name ? "" : `${field.slice(name.length + 1)}: `}${detail}</span>`,
      )}</p>`
    }
  </div>`;
}

const Choice = ({
  value,
  options,
  onChange,
  ...rest
}) => html`<select ...${rest} value=${value} onChange=${(event) => onChange(event.target.value)}>
  ${options.map((option) => {
    const [key, text] = [option].flat().length > 1 ? option : [option, option];
    return html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`;
  })}</select>`;

const Input = ({ onChange, ...rest }) =>
  html`<input autocomplete="off" spellcheck=${false} ...${rest} onInput=${(event) => onChange(event.target.value)} />`;

const Text = ({ onChange, ...rest }) =>
  html`<textarea spellcheck=${false} rows="6" ...${rest}
    onInput=${(event) => onChange(event.target.value)}></textarea>`;

// --- actions ---

const said = observable(null);

function say(text) {
  const note = { text };
  said.set(note);
  setTimeout(() => said.get() === note && said.set(null), 6 * SECOND);
}

const Said = () =>
  html`<div class="said" role="status" aria-live="polite">${said.use()?.text && html`<p>${said.use().text}</p>`}</div>`;

// Asks before something is done, and stays open with the reason when it could not be. ``run`` answers what to say then.
function Ask({ title, children, confirm, danger = false, disabled = false, run, close }) {
  const dialog = useRef();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const shown = dialog.current;
    shown.showModal();
    return () => shown.close(); // gives the focus back to where it was
  }, []);
  const act = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const told = await run();
      close();
      if (told) say(told);
    } catch (found) {
      setProblem(found);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} onClose=${close} onCancel=${close} aria-labelledby="ask-title">
    <form method="dialog" onSubmit=${act}>
      <h2 id="ask-title">${title}</h2>
      ${children}
      ${problem && html`<p class="notice bad" role="alert">${problem.sentence ?? String(problem)}</p>`}
      <div class="buttons">
        <button type="button" onClick=${close}>Back</button>
        <button type="submit" class=${danger ? "danger" : "primary"}
          disabled=${busy || disabled}>${busy ? "Working …" : confirm}</button>
      </div>
    </form></dialog>`;
}

// The JSON that somebody typed: its text, and why it is none.
function jsonFlaw(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error.message.replace(/^JSON\.parse: /, "");
  }
}
