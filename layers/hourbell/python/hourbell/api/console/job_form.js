// Creating and editing a job, with its next occurrences in sight.

const ZONES = Intl.supportedValuesOf?.("timeZone") ?? [];
const OVERLAPS = ["allow", "skip", "buffer_one", "cancel_running"];
const SCHEDULE_KINDS = [
  ["cron", "Cron"],
  ["every", "Every"],
  ["at", "Once"],
];
const TARGET_KINDS = [
  ["named", "A named target"],
  ["url", "An HTTP address"],
  ["inline", "Another, as JSON"],
];

const BLANK = {
  kind: "cron",
  target_kind: "named",
  name: "",
  target: "",
  url: "",
  method: "POST",
  inline: "",
  "schedule.cron": "",
  "schedule.every": "",
  "schedule.at": "",
  "schedule.anchor": "",
  "schedule.timezone": "",
  "schedule.gap": "run",
  "schedule.repeat": "once",
  "schedule.past": "",
  "schedule.start_at": "",
  "schedule.end_at": "",
  "schedule.max_runs": "",
  "schedule.exclude": "",
  payload: "null",
  window: "",
  overlap: "allow",
  "catch_up.policy": "run_once",
  "catch_up.within": "",
  timeout: "PT30S",
  tags: "",
  paused: false,
  "retry.max_attempts": "",
  "retry.backoff": "",
  "retry.initial": "",
  "retry.maximum": "",
  "retry.max_age": "",
};

function formOf(job) {
  const { schedule, target, retry } = job;
  const form = { ...BLANK, kind: SCHEDULE_KINDS.map(([kind]) => kind).find((kind) => schedule[kind]) };
  for (const [name, value] of Object.entries(schedule))
    form[`schedule.${name}`] = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  for (const [name, value] of Object.entries(retry)) form[`retry.${name}`] = String(value ?? "");
  const simple =
    typeof target !== "string" &&
    target.http &&
    Object.keys(target.http.headers).length === 0 &&
    target.http.secret === null;
  return {
    ...form,
    name: job.name ?? "",
    target_kind: typeof target === "string" ? "named" : simple ? "url" : "inline",
    target: typeof target === "string" ? target : "",
    url: simple ? target.http.url : "",
    method: simple ? target.http.method : "POST",
    inline: typeof target === "string" ? "" : JSON.stringify(target, null, 2),
    payload: JSON.stringify(job.payload, null, 2),
    window: job.window ?? "",
    overlap: job.overlap,
    "catch_up.policy": job.catch_up.policy,
    "catch_up.within": job.catch_up.within ?? "",
    timeout: job.timeout,
    tags: Object.entries(job.tags)
      .map(([name, value]) => `${name}:${value}`)
      .join("\n"),
    paused: job.state === "paused",
  };
}

const SCHEDULE_FIELDS = {
  cron: ["cron", "timezone", "gap", "repeat", "start_at", "end_at", "max_runs", "exclude"],
  every: ["every", "anchor", "timezone", "start_at", "end_at", "max_runs", "exclude"],
  at: ["at", "timezone", "gap", "repeat", "past"],
};

function scheduleOf(form) {
  const read = { max_runs: number, exclude: (text) => text.split(/[\s,]+/).filter(Boolean) };
  return Object.fromEntries(
    SCHEDULE_FIELDS[form.kind]
      .map((name) => [name, form[`schedule.${name}`].trim()])
      .filter(([, text]) => text !== "")
      .map(([name, text]) => [name, read[name] ? read[name](text) : text]),
  );
}

function targetOf(form) {
  if (form.target_kind === "named") return form.target.trim();
  if (form.target_kind === "url")
    return { http: { url: form.url.trim(), method: form.method, headers: {}, secret: null } };
  return JSON.parse(form.inline);
}

function tagsOf(text) {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const [name, value = ""] = line.split(/:(.*)/s);
      return [name.trim(), value.trim()];
    }),
  );
}

// The job without its payload, whose spelling is kept.
function jobOf(form) {
  const retry = Object.entries(form)
    .filter(([name, text]) => name.startsWith("retry.") && text.trim())
    .map(([name, text]) => [name.slice(6), name === "retry.max_attempts" ? number(text) : text.trim()]);
  return {
    name: form.name.trim() || null,
    schedule: scheduleOf(form),
    target: targetOf(form),
    window: form.window.trim() || null,
    catch_up: { policy: form["catch_up.policy"], within: form["catch_up.within"].trim() || null },
    overlap: form.overlap,
    retry: Object.fromEntries(retry),
    timeout: form.timeout.trim() || null,
    tags: tagsOf(form.tags),
  };
}

function checkTyped(form) {
  for (const [field, text, used] of [
    ["payload", form.payload, true],
    ["target", form.inline, form.target_kind === "inline"],
  ]) {
    const found = used ? jsonFlaw(text) : null;
    if (found) throw flaw(field, `is no JSON: ${found}`);
  }
}

function creation(form) {
  checkTyped(form);
  return `${JSON.stringify({ ...jobOf(form), paused: form.paused }).slice(0, -1)},"payload":${form.payload}}`;
}

function editing(before, form) {
  checkTyped(form);
  const patch = difference(jobOf(before), jobOf(form));
  const [old, wanted] = [before.payload, form.payload].map(parseJson);
  if (!same(old, wanted)) {
    const change = isObject(old) && isObject(wanted) ? difference(old, wanted) : wanted;
    if (!same(merged(old, change), wanted))
      throw flaw("payload", "an edit cannot set a member to null: null takes members out (RFC 7396)");
    patch.payload = change;
  }
  return JSON.stringify(patch);
}

// --- the pages ---

function NewJob({ query }) {
  const from = isId("job", query.from) ? query.from : null;
  const source = useData(from && `v1/jobs/${from}`);
  if (from && !source.value)
    return html`<${Head} title="New job" crumb=${["Jobs", link("jobs")]} /><${Panel} title="Its model" id="from"
      data=${source} />`;
  const start = source.value
    ? { ...formOf(source.value), name: source.value.name ? `${source.value.name}-copy` : "", paused: false }
    : { ...BLANK, "schedule.timezone": ZONES.includes(ZONE) ? ZONE : "" };
  return html`<${Head} title="New job" crumb=${["Jobs", link("jobs")]} /><${JobForm} key=${from} start=${start} />`;
}

function EditJob({ id }) {
  const [turn, setTurn] = useState(0);
  return html`<${LoadedEdit} key=${turn} id=${id} again=${() => setTurn(turn + 1)} />`;
}

function LoadedEdit({ id, again }) {
  const job = useData(`v1/jobs/${id}`);
  const crumb = [job.value?.name ?? id, link(`jobs/${id}`)];
  if (!job.value) return html`<${Head} title="Edit" crumb=${crumb} /><${Panel} title="Job" id="job" data=${job} />`;
  return html`<${Head} title=${`Edit ${titleOf(job.value)}`} crumb=${crumb} />
    <${JobForm} start=${formOf(job.value)} job=${job.value} etag=${job.etag} again=${again} />`;
}

function JobForm({ start, job, etag, again }) {
  const sent = useRef({});
  const write = async (form, ifMatch) => {
    const saved = job ? await edit(job, start, form, ifMatch) : await create(form, sent.current);
    say(`${titleOf(saved)} is ${job ? "saved" : "created"}.`);
    return `jobs/${saved.id}`;
  };
  return html`<${EditForm} start=${start} etag=${etag} write=${write} again=${again}
    back=${link(job ? `jobs/${job.id}` : "jobs")} save=${job ? "Save" : "Create the job"}>
    <div class="columns">
      <section class="panel" aria-labelledby="when"><h2 id="when">When</h2><${WhenFields} editing=${Boolean(job)}
        /></section>
      <${Preview} />
    </div>
    <section class="panel" aria-labelledby="what"><h2 id="what">What</h2><${WhatFields} editing=${Boolean(job)}
      /></section>
    <details class="panel"><summary><h2>Policies</h2><span
      class="soft">overlap, catch-up, retries, timeout, spread</span></summary><${PolicyFields} /></details>
  <//>`;
}

const create = async (form, sent) => (await makeOnce("v1/jobs", creation(form), sent)).value;

const edit = async (job, before, form, ifMatch) =>
  (await call("PATCH", `v1/jobs/${job.id}`, { body: editing(before, form), ifMatch })).value;

function WhenFields({ editing: isEdit }) {
  const { kind } = useContext(Form).form;
  return html`<${Kinds} name="kind" legend="Kind of schedule" kinds=${SCHEDULE_KINDS} />
    <div class="fields">
      ${kind === "cron" && html`<${Control} key="cron" name="schedule.cron" label="Cron expression"
        placeholder="0 2 * * *" class="mono" hint="minute hour day month weekday; six fields begin with seconds" wide />`}
      ${
        kind === "every" &&
        html`<${Control} key="every" name="schedule.every" label="Every" placeholder="30s, 5m, 2h, 1d"
          hint="elapsed time, 1 s at least" />
        <${Control} key="anchor" name="schedule.anchor" label="Counted from" placeholder="its creation" hint="RFC 3339"
          />`
      }
      ${kind === "at" && html`<${Control} key="at" name="schedule.at" label="At" placeholder="2027-05-29T09:00:00"
        class="mono" hint="on the clock of the zone, or with an offset" wide />`}
      <${Control} name="schedule.timezone" label="Zone" placeholder="UTC" list="zones" hint="IANA name" />
      <datalist id="zones">${ZONES.map((zone) => html`<option value=${zone} />`)}</datalist>
      ${
        kind !== "every" &&
        html`<${Control} name="schedule.gap" label="Left-out time" hint="that a clock change jumps over" as=${Choice}
          options=${[
          ["run", "runs after the gap"],
          ["skip", "is skipped"],
        ]} />
        <${Control} name="schedule.repeat" label="Repeated time" hint="that a clock change brings twice" as=${Choice}
          options=${[
          ["once", "runs once"],
          ["twice", "runs twice"],
        ]} />`
      }
      ${
        kind === "at" &&
        !isEdit &&
        html`<${Control} name="schedule.past" label="Past time" as=${Choice} options=${[
          ["", "is refused"],
          ["run_now", "runs now"],
        ]} />`
      }
    </div>
    ${
      kind !== "at" &&
      html`<details><summary>Bounds and exceptions</summary><div class="fields">
      <${Control} name="schedule.start_at" label="From" placeholder="2027-01-01T00:00:00Z" />
      <${Control} name="schedule.end_at" label="Until" placeholder="2027-12-31T00:00:00Z" />
      <${Control} name="schedule.max_runs" label="At most so many runs" inputmode="numeric" />
      <${Control} name="schedule.exclude" label="Not on these dates" placeholder="2026-12-25, 2027-01-01"
        /></div></details>`
    }`;
}

function WhatFields({ editing: isEdit }) {
  const { form, set, errors } = useContext(Form);
  const targets = useData("v1/targets?limit=200");
  return html`<div class="fields"><${Control} name="name" label="Name" placeholder="nightly-settlement"
    hint="optional; unique" wide /></div>
    <${Kinds} name="target_kind" legend="Target" kinds=${TARGET_KINDS} />
    <div class="fields">
      ${
        form.target_kind === "named" &&
        html`<${Control} key="named" name="target" label="Target" list="targets" placeholder="billing"
          hint=${targets.problem ? targets.problem.sentence : targets.value?.items.length === 0 ? "there are none yet" : "its name"} />
        <datalist id="targets">${targets.value?.items.filter((one) => one.name).map((one) => html`<option
          value=${one.name} />`)}</datalist>`
      }
      ${
        form.target_kind === "url" &&
        html`<${Field} key="url" name="target" label="URL" errors=${errors} wide><${Input} value=${form.url}
          onChange=${(value) => set("url", value)} placeholder="https://example.com/settle" /><//>
        <${Control} key="method" name="method" label="Method" as=${Choice}
          options=${["POST", "PUT", "PATCH", "GET", "DELETE"]} />`
      }
      ${form.target_kind === "inline" && html`<${Field} key="inline" name="target" label="Destination (JSON)"
        errors=${errors} hint='for example {"lambda": {"arn": "…"}}' wide><${Text} class="mono" value=${form.inline}
        onChange=${(value) => set("inline", value)} /><//>`}
      <${Control} name="payload" label="Payload (JSON)" as=${Text} class="mono" wide />
      <${Control} name="tags" label="Tags, one a line" as=${Text} rows="3" placeholder="team:payments" wide />
      ${!isEdit && html`<label class="option"><input type="checkbox" checked=${form.paused}
        onChange=${(event) => set("paused", event.target.checked)} /><span>Create it paused</span></label>`}
    </div>`;
}

const PolicyFields = () => html`<div class="fields">
  <${Control} name="overlap" label="While a run is unfinished, the next" as=${Choice}
    options=${OVERLAPS.map((one) => [one, one.replaceAll("_", " ")])} />
  <${Control} name="catch_up.policy" label="Missed occurrences" as=${Choice} options=${[
    ["run_once", "run the latest"],
    ["run_all", "run each"],
    ["skip", "skip"],
  ]} />
  <${Control} name="catch_up.within" label="Missed within" placeholder="without limit" />
  <${Control} name="timeout" label="Timeout of an attempt" placeholder="30s" hint="at most 14 min" />
  <${Control} name="window" label="Spread over" placeholder="not spread" hint="fires anywhere in so much time" />
  <${Control} name="retry.max_attempts" label="Attempts at most" inputmode="numeric" placeholder="default" />
  <${Control} name="retry.backoff" label="Backoff" as=${Choice} options=${[["", "default"], "exponential", "fixed"]} />
  <${Control} name="retry.initial" label="First wait" placeholder="default" />
  <${Control} name="retry.maximum" label="Longest wait" placeholder="default" />
  <${Control} name="retry.max_age" label="No retry after" placeholder="default" />
</div>`;

// --- the preview ---

const PREVIEW_PAUSE = 300;

function usePreview(form) {
  const schedule = scheduleOf(form);
  const body = schedule[form.kind] ? JSON.stringify({ schedule, count: 6 }) : null;
  const [found, setFound] = useState({});
  useEffect(() => {
    if (!body) return setFound({});
    const control = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setFound({ value: (await call("POST", "v1/schedules/preview", { body, signal: control.signal })).value });
      } catch (problem) {
        if (!control.signal.aborted) setFound({ problem });
      }
    }, PREVIEW_PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [body]);
  return found;
}

function Preview() {
  const { form, setLive } = useContext(Form);
  const preview = usePreview(form);
  useEffect(() => setLive(preview.problem?.errors ?? []), [preview.problem]);
  return html`<section class="panel preview" aria-labelledby="preview" aria-live="polite">
    <h2 id="preview">Preview</h2>
    ${preview.problem && html`<p class="notice bad">${preview.problem.sentence}</p>`}
    ${preview.value?.description && html`<p class="words">${preview.value.description}</p>`}
    ${preview.value && html`<${Occurrences} found=${preview.value.occurrences} />`}
    ${!preview.value && !preview.problem && html`<${Empty}>Write a schedule, and its next occurrences stand here.<//>`}
  </section>`;
}
