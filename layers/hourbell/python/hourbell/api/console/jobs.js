// The list of jobs.

const TIER = {
  name: "tier",
  label: "Tier",
  options: [
    ["", "hot"],
    ["cold", "cold"],
  ],
};
const DUE_BEFORE = { name: "due_before", label: "Due before", type: "datetime-local" };
const HOT_FILTERS = [
  { name: "q", label: "Search", search: true, placeholder: "words, or an id" },
  { name: "state", label: "State", options: [["", "any"], ...JOB_STATES] },
  { name: "tag", label: "Tag", placeholder: "team:payments" },
  { name: "name_prefix", label: "Name prefix" },
  { name: "target", label: "Target", placeholder: "name or id" },
  TIER,
  DUE_BEFORE,
];
const COLD_FILTERS = [
  { name: "name", label: "Name", search: true, placeholder: "its whole name, or an id" },
  TIER,
  DUE_BEFORE,
];

function Jobs({ query }) {
  const cold = query.tier === "cold";
  const filters = cold ? COLD_FILTERS : HOT_FILTERS;
  const asked = Object.fromEntries([...filters.map(({ name }) => name), "cursor"].map((name) => [name, query[name]]));
  const jobs = useData(address("v1/jobs", { ...asked, tag: asked.tag?.split(/\s+/), limit: 50 }), {
    every: 10 * SECOND,
    keep: true,
  });
  const filtered = filters.some(({ name }) => name !== "tier" && asked[name]);
  return html`<${Head} title="Jobs" data=${jobs}
    aside=${html`<a class="button primary" href=${link("jobs/new")}>New job</a>`} />
    <${Filters} path="jobs" query=${query} fields=${filters} />
    ${cold && html`<p class="soft">
      Cold jobs are far-future one-offs, listed hour by hour; they are found by their name, their id,${" "}
      or by when they are due.</p>`}
    <${Trouble} data=${jobs} />
    ${
      jobs.value
        ? html`<${JobTable} jobs=${jobs.value.items} behind=${jobs.behind}
          empty=${emptyJobs({ filtered, cold, next: jobs.value.next_cursor })} />
      <${Pager} path="jobs" query=${query} next=${jobs.value.next_cursor} shown=${jobs.value.items.length} />`
        : !jobs.problem && html`<p class="soft waiting">Loading …</p>`
    }`;
}

function emptyJobs({ filtered, cold, next }) {
  if (next) return "None on this page, and the list goes on.";
  if (filtered) return html`No job fits these filters. <a href=${link("jobs")}>Show all jobs</a>`;
  if (cold) return html`No job lies in the cold tier. <a href=${link("jobs")}>Show the hot ones</a>`;
  return html`There are no jobs yet. <a href=${link("jobs/new")}>Create the first one</a>`;
}

const JobTable = ({ jobs, behind, empty }) =>
  html`<${Table} label="Jobs" rows=${jobs} behind=${behind} empty=${empty} columns=${[
    [
      "Job",
      (job) =>
        html`<${JobLink} id=${job.id} name=${job.name}
          />${Object.keys(job.tags).length > 0 && html` <${Tags} tags=${job.tags} />`}`,
      "main",
    ],
    [
      "State",
      (job) =>
        html`<${Badge} state=${job.state}
          />${job.error && html`<span class="flaw"
          title=${job.error}>cannot be planned</span>`}${job.tier === "cold" && html` <span class="chip">cold</span>`}`,
    ],
    ["Schedule", (job) => html`<${ScheduleText} schedule=${job.schedule} />`],
    ["Next occurrence", (job) => job.state === "active" && job.next_run_at && html`<${Time} at=${job.next_run_at} />`],
    ["Target", (job) => html`<${TargetText} job=${job} />`],
  ]} />`;

const Tags = ({ tags }) =>
  html`<span class="tags">${Object.entries(tags).map(([name, value]) => html`<a class="chip" key=${name}
    href=${link("jobs", { tag: `${name}:${value}` })}>${name}:${value}</a>`)}</span>`;

function ScheduleText({ schedule }) {
  if (schedule.cron) return html`<code>${schedule.cron}</code> <span class="soft">${schedule.timezone}</span>`;
  if (schedule.every) return html`every ${plainDuration(schedule.every)}`;
  return html`once, <code>${schedule.at.replace("T", " ")}</code> <span class="soft">${schedule.timezone}</span>`;
}

function inlineText(target) {
  const [kind, destination] = Object.entries(target).find(
    ([, value]) => value !== null && typeof value === "object",
  ) ?? ["", {}];
  const where =
    destination.url ??
    destination.arn ??
    destination.queue_url ??
    destination.topic_arn ??
    destination.state_machine_arn ??
    destination.bus ??
    "";
  return { kind, where };
}

function TargetText({ job }) {
  if (typeof job.target === "string")
    return html`<a href=${link("targets", { name: job.target })} class="name">${job.target}</a>`;
  const { kind, where } = inlineText(job.target);
  return html`<span class="soft">${kind}</span> <span class="where">${where}</span>`;
}

// --- filters of a list, which stand in the address ---

const TYPING_PAUSE = 350;
const DATING_PAUSE = 1500;

function Filters({ path, query, fields }) {
  const set = async (name, value) => {
    const { search, resolve } = fields.find((field) => field.name === name);
    const place = search && !resolve ? placeOfId(value) : null;
    if (place) return go(place);
    return go(path, { ...query, [name]: resolve ? await resolve(value) : value, cursor: "" });
  };
  const used = fields.some(({ name }) => query[name]);
  return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
    ${fields.map((field) => html`<${Filter} key=${field.name} ...${field} value=${query[field.name] ?? ""}
      set=${(value) => set(field.name, value)} />`)}
    ${used && html`<a class="button" href=${link(path)}>Clear</a>`}
  </form>`;
}

function Filter({ name, label, options, type = "text", placeholder, search, value, set }) {
  const id = `filter-${name}`;
  const control = options
    ? html`<${Choice} id=${id} value=${value} options=${options} onChange=${set} />`
    : html`<${Typed} id=${id} type=${type} placeholder=${placeholder} search=${search} value=${value} set=${set} />`;
  return html`<div class=${search ? "filter wide" : "filter"}><label for=${id}>${label}</label>${control}</div>`;
}

// Whether a page with a search is opened for its search.
let searchWanted = false;

// Takes effect a moment after the last letter, or at once with Enter.
function Typed({ id, type, placeholder, search, value, set }) {
  const isTime = type === "datetime-local";
  const shown = isTime ? toInput(value).slice(0, 16) : value;
  const [text, setText] = useState(shown);
  const timer = useRef();
  useEffect(() => setText(shown), [shown]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!search || !searchWanted) return;
    searchWanted = false;
    document.getElementById(id).focus();
  }, []);
  const settle = (next) => {
    clearTimeout(timer.current);
    set(isTime ? fromInput(next) : next.trim());
  };
  const type_ = (next) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => settle(next), isTime ? DATING_PAUSE : TYPING_PAUSE);
  };
  return html`<${Input} id=${id} type=${search ? "search" : type} placeholder=${placeholder} value=${text}
    data-search=${search ? "" : undefined}
    aria-keyshortcuts=${search ? "/" : undefined} onChange=${type_} onKeyDown=${(event) => event.key === "Enter" && settle(event.target.value)} />`;
}
