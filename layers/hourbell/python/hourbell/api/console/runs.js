// The list of runs.

const RUN_FILTERS = ["state", "job", "target", "from", "to"];
const ENDED = ["dead", "cancelled", "skipped"];

function Runs({ query }) {
  const asked = Object.fromEntries([...RUN_FILTERS, "cursor"].map((name) => [name, query[name]]));
  const runs = useData(address("v1/runs", { ...asked, limit: 50 }), { every: 10 * SECOND, keep: true });
  const [asking, setAsking] = useState(false);
  const nameOf = useJobNames(isId("job", query.job) ? [query.job] : []);
  const redrivable = ENDED.includes(query.state) && runs.value?.items.length > 0;
  return html`<${Head} title="Runs" data=${runs}
    aside=${redrivable && html`<button type="button" onClick=${() => setAsking(true)}>Redrive …</button>`} />
    <${Filters} path="runs" query=${query} fields=${[
      { name: "state", label: "State", options: [["", "any"], ...RUN_STATES] },
      { name: "job", label: "Job", placeholder: "its whole name, or an id", search: true, resolve: jobIdOf },
      { name: "target", label: "Target", placeholder: "name or id" },
      { name: "from", label: "Scheduled from", type: "datetime-local" },
      { name: "to", label: "Scheduled before", type: "datetime-local" },
    ]} />
    ${query.job && html`<p class="soft">Runs of <${JobLink} id=${query.job} name=${nameOf(query.job)} /></p>`}
    <${Trouble} data=${runs} />
    ${
      runs.value
        ? html`<${RunTable} runs=${runs.value.items} jobs=${!query.job} behind=${runs.behind} />
      <${Pager} path="runs" query=${query} next=${runs.value.next_cursor} shown=${runs.value.items.length} />`
        : !runs.problem && html`<p class="soft waiting">Loading …</p>`
    }
    ${asking && html`<${Redrive} query=${query} close=${() => setAsking(false)} reload=${runs.reload} />`}`;
}

// The API knows a run's job by its id; a name that is nobody's is left for it to refuse.
async function jobIdOf(text) {
  if (!text || text.startsWith("job_")) return text;
  const found = await call("GET", address("v1/jobs", { name: text, limit: 1 })).catch(() => null);
  return found?.value.items[0]?.id ?? text;
}

const durationOf = (run) =>
  run.started_at && run.finished_at ? Date.parse(run.finished_at) - Date.parse(run.started_at) : null;

function RunTable({ runs, jobs = true, behind = false }) {
  const nameOf = useJobNames(jobs ? runs.map((run) => run.job_id) : []);
  return html`<${Table} label="Runs" rows=${runs} behind=${behind}
    empty=${html`No run fits. <a href=${link("runs")}>Show all runs</a>`} columns=${[
    [
      "Scheduled for",
      (run) =>
        html`<a href=${link(`runs/${run.id}`)}><${Time} at=${run.scheduled_for} only
          /></a>${run.origin !== "schedule" && html` <span class="chip">${run.origin}</span>`}`,
      "main",
    ],
    ...(jobs ? [["Job", (run) => html`<${JobLink} id=${run.job_id} name=${nameOf(run.job_id)} />`]] : []),
    [
      "State",
      (run) =>
        html`<${Badge} state=${run.state}
          />${run.reason && html` <span class="soft">${run.reason.replaceAll("_", " ")}</span>`}`,
    ],
    ["Lateness", (run) => elapsed(run.lateness_ms), "number"],
    ["Took", (run) => elapsed(durationOf(run)), "number"],
    ["Attempts", (run) => run.attempt, "number"],
    ["Error", (run) => run.error && html`<span class="error">${run.error}</span>`],
  ]} />`;
}

// Counts first, and starts over only what it counted by the same filter.
function Redrive({ query, close, reload }) {
  const filter = Object.fromEntries(RUN_FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    post("v1/runs/redrive", { filter, dry_run: true }).then(({ value }) => setFound(value), setProblem);
  }, []);
  const run = async () => {
    const { value } = await post("v1/runs/redrive", { filter });
    reload();
    return `${count(value.runs)} runs start over${value.more ? "; there are more, redrive again" : ""}.`;
  };
  return html`<${Ask} title="Start these runs over?" confirm="Redrive" disabled=${!found?.runs} run=${run}
    close=${close}>
    ${problem && html`<p class="notice bad" role="alert">${problem.sentence}</p>`}
    ${!found && !problem && html`<p class="soft">Counting …</p>`}
    ${found && html`<p>
      <b>${count(found.runs)}${found.more ? " or more" : ""}</b> runs that are ${filter.state}, by these filters,${" "}
      start over with a full set of attempts and the ids that they have.</p>`}
    <${Facts} facts=${Object.entries(filter)} /><//>`;
}
